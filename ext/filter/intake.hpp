// What comes into a filter table from outside, as a whole: an image, a legacy file, another table,
// the keys of a source. What goes out is in filter_messages.hpp.
//
// Invariants
//   I1  nothing of an image is believed: its header is checked and all its pieces are read and
//       verified before the table changes. A bad image is the caller's error, not a broken table's.
//   I2  contents come in only where each of their keys is found afterwards: hashed alike, with the
//       same seed where they are added to others, and keys that go together (key_domain.hpp). Else
//       the error names the difference and the way out, and nothing has changed.
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
  // `command`: as error texts name it.
  Intake(LiveFilter& into, std::string command) : live_(into), command_(std::move(command)) {}

  // All of these throw SqlError. These add to what is there:
  void merge(LiveFilter& other);
  void merge(std::span<const std::byte> image);
  // These take its place: the image of a single filter, with its options; and keys, none of which
  // is NULL. Capacity 0: as it is.
  void import(const segments::MessageBytes& image);
  // Finds early what would be an error of import(): all that the header says.
  void expect_importable(const segments::MessageBytes& image) const;
  using KeySource = std::function<void(const std::function<void(const KeyView& key)>& visit)>;
  void replace(const KeySource& for_each_key, uint64_t capacity);

 private:
  struct Incoming {
    std::string name = "the image";  // for messages
    FilterOptions options;
    KeyDomain keys;
    uint64_t most_items = 0;  // that it adds
    segments::Contents contents;
    HashSource hashes;  // null where they are not known
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
                   const std::string& prefix = "");  // of an error's text

  LiveFilter& live_;
  std::string command_;
};

}  // namespace cuckoo
