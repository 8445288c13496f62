// Takes contents from outside into a filter table, as a whole: an image, a legacy file, another
// table, the keys of a source. filter_messages.hpp gives contents out.
//
// Invariants
//   I1  no image is trusted: its header is checked, and all its pieces are read and verified,
//       before the table changes. A bad image is the caller's error, not a broken table's.
//   I2  contents come in only if each of their keys is found afterwards. So they must be hashed
//       alike, with the same seed if they are added to others, and their keys must go together
//       (key_domain.hpp). Otherwise the error names the difference and the way out, and nothing has
//       changed.
//   I3  into a multiset with unique = on each hash comes once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "core/segments/contents.hpp"
#include "core/segments/hash_collection.hpp"
#include "core/segments/message_bytes.hpp"
#include "core/stored/log_entry.hpp"
#include "ext/filter/key_domain.hpp"
#include "ext/filter/options.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

class LiveFilter;

class Intake {
 public:
  // Error texts name `command`.
  Intake(LiveFilter& into, std::string command) : live_(into), command_(std::move(command)) {}

  // All of these throw SqlError. merge() adds to the contents.
  void merge(LiveFilter& other);
  void merge(std::span<const std::byte> image);
  // import() and replace() replace the contents: by the image of a single filter, with its options;
  // and by keys, none of which is NULL. Capacity 0 keeps the old one.
  void import(const segments::MessageBytes& image);
  void verify(const segments::MessageBytes& image) const { (void)decode(image); }
  // Finds errors of import() early, as far as the header shows them.
  void expect_importable(const segments::MessageBytes& image) const;
  using KeySource = std::function<void(const std::function<void(const KeyView& key)>& visit)>;
  void replace(const KeySource& for_each_key, uint64_t capacity);

 private:
  struct Incoming {
    std::string name = "the image";  // for messages
    FilterOptions options;
    KeyDomain keys;
    uint64_t most_items = 0;  // the most that it may add
    segments::Contents contents;
    HashSource hashes;  // null if they are not known
  };

  [[noreturn]] void refuse(const std::string& why) const;
  Incoming decode(const segments::MessageBytes& image) const;
  Incoming described(const segments::MessageBytes& image) const;
  bool is_legacy_file(const segments::MessageBytes& image) const;
  void expect_importable(const Incoming& incoming) const;
  Incoming decode_legacy(const segments::MessageBytes& message) const;
  bool holds_each_once() const;
  void verify(const Incoming& incoming) const;
  void expect_keys(const Incoming& incoming) const;
  void expect_mergeable(const Incoming& incoming) const;
  void expect_cells(const Incoming& incoming) const;
  void take_in(const Incoming& incoming);
  void take_in_new(const Incoming& incoming);
  void take_each_once(segments::HashCollection& once, Incoming& incoming);
  void replace_pairs(const KeySource& for_each_key, uint64_t capacity);
  void replace_all(const FilterOptions& options, const segments::Contents& contents,
                   const std::string& prefix = "");  // begins an error's text

  LiveFilter& live_;
  std::string command_;
};

}  // namespace cuckoo
