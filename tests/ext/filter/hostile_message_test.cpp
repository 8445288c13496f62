// 'apply' of messages and parts that are damaged, cut off, spliced from two, or made up with right
// checksums. It fails with an error that names the table and the command, and changes nothing. If
// the changed field means nothing to the copy, 'apply' does what the message says.
#include <cstdint>
#include <string>
#include <vector>

#include "core/segments/changes.hpp"
#include "core/segments/message_part.hpp"
#include "tests/support/blobs.hpp"
#include "tests/support/changes.hpp"
#include "tests/support/core_samples.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_hostile_message_test {
namespace {

using segments::MessageCut;
using segments::MessagePart;

class HostileMessage : public testing::Test {
 protected:
  void SetUp() override {
    db.run("CREATE VIRTUAL TABLE o USING cuckoo_filter(seed = 7, capacity = 2000)");
    db.run("INSERT INTO o " + numbers(1, 1500));
    db.run("CREATE VIRTUAL TABLE c USING cuckoo_filter(seed = 8)");
    db.run("INSERT INTO c(c, key) SELECT 'apply', filter_changes('o', NULL)");
    before = mark_of(db, "c");
    db.run("INSERT INTO o {}; DELETE FROM o WHERE key IN ({})", numbers(1501, 1540),
           numbers(1, 19));
    after = mark_of(db, "o");
    changes = blob_of(db, "filter_changes('o', filter_mark('c'))");
    image = blob_of(db, "filter_changes('o', NULL)");
    ASSERT_EQ(changes.size() > 120 && image.size() > 1000, true);
  }

  // Returns the error's text, which is empty if the message was applied.
  std::string apply(const Bytes& bytes) {
    const auto [code, text] = attempt_with(db, "INSERT INTO c(c, key) VALUES ('apply', ?)", bytes);
    EXPECT_TRUE(code == SQLITE_OK || code == SQLITE_ERROR) << code << " " << text;
    return text;
  }
  // Applies a whole message or its parts in a transaction, and then takes the transaction back.
  void expect_refused_or_meant(const std::vector<Bytes>& messages, const std::string& what) {
    db.run("BEGIN");
    std::string text;
    for (const Bytes& message : messages) {
      text = text.empty() ? apply(message) : text;
    }
    EXPECT_TRUE(text.empty() || text.starts_with("c: apply: ") || text.starts_with("full: c"))
        << what << ": " << text;
    if (!text.empty()) {
      EXPECT_EQ(mark_of(db, "c"), before) << what;
      EXPECT_EQ(db.number("SELECT count(*) FROM c"), 1500) << what;
    }
    db.run("ROLLBACK");
    ASSERT_EQ(db.text("SELECT cuckoo_check('c')"), "ok") << what;
  }
  static std::vector<Bytes> parts_of(const Bytes& message, uint64_t slice_bytes, uint64_t id = 5) {
    const MessageCut cut = {id, message.size(), slice_bytes};
    std::vector<Bytes> parts;
    for (uint64_t i = 0; i < cut.parts(); ++i) {
      parts.push_back(encode_part(MessagePart{
          cut, i,
          std::span(message).subspan(i * slice_bytes, static_cast<size_t>(cut.bytes_of(i)))}));
    }
    return parts;
  }

  Database db;
  std::string before, after;
  Bytes changes, image;
};

// The checksums are right, too, as in a message that somebody forged on purpose.
TEST_F(HostileMessage, with_any_field_changed_and_a_right_checksum_is_refused_or_meant) {
  for (size_t at = 4; at < changes.size() - 4; ++at) {
    for (const int bit : {0, 5, 7}) {
      Bytes forged = changes;
      forged[at] ^= static_cast<std::byte>(1 << bit);
      expect_refused_or_meant({with_crc(forged)}, "byte " + std::to_string(at));
    }
  }
}

TEST_F(HostileMessage, in_parts_that_are_damaged_spliced_or_forged_is_refused_or_meant) {
  for (const Bytes* const message : {&changes, &image}) {
    const std::vector<Bytes> parts = parts_of(*message, 1024);
    for (size_t at = 0; at < message->size(); at += at < 200 ? 7 : 211) {
      Bytes damaged = *message;
      damaged[at] ^= std::byte{4};
      expect_refused_or_meant(parts_of(damaged, 1024), "message byte " + std::to_string(at));
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      std::vector<Bytes> forged = parts;
      for (size_t at = 0; at < segments::kPartHeaderBytes; ++at) {
        forged[i] = parts[i];
        forged[i][at] ^= std::byte{1};
        expect_refused_or_meant(forged, "part " + std::to_string(i) + " " + std::to_string(at));
        forged[i] = with_crc(forged[i]);
        expect_refused_or_meant(forged, "forged " + std::to_string(i) + " " + std::to_string(at));
      }
    }
  }
}

// All parts have one length and one id and are cut alike. Only their contents tell that they don't
// belong together.
TEST_F(HostileMessage, spliced_from_two_images_is_refused) {
  db.run("CREATE VIRTUAL TABLE p USING cuckoo_filter(seed = 7, capacity = 2000)");
  db.run("INSERT INTO p " + numbers(5000, 6520));
  const Bytes other = blob_of(db, "filter_export('p')");
  ASSERT_EQ(other.size(), image.size());
  const std::vector<Bytes> first = parts_of(image, 1024);
  const std::vector<Bytes> second = parts_of(other, 1024);
  for (size_t i = 0; i < first.size(); ++i) {
    std::vector<Bytes> spliced = first;
    spliced[i] = second[i];
    db.run("BEGIN");
    std::string text;
    for (const Bytes& part : spliced) {
      text += apply(part);
    }
    EXPECT_TRUE(text.starts_with("c: apply: ")) << i;
    db.gives("SELECT count(*) FROM c", 1500);
    db.run("ROLLBACK");
  }
  db.run("BEGIN");
  for (const Bytes& part : first) {
    EXPECT_EQ(apply(part), "");
  }
  db.run("COMMIT");
  EXPECT_EQ(mark_of(db, "c"), after);
}

TEST_F(HostileMessage, that_counts_more_than_a_filter_holds_is_refused_or_does_nothing) {
  for (const uint64_t bit : {uint64_t{0}, kRemoveBit}) {
    segments::FilterChanges forged =
        segments::decode_changes(changes, segments::kImagePageBytes).value();
    for (int i = 0; i < 1000; ++i) {
      forged.entries.append((uint64_t{12345} << 17) | bit, kMostCopies);
    }
    lead_to_mark(forged);
    forged.pieces = nullptr;
    const Bytes bytes = segments::encode_changes(forged, 1 << 20).value();
    db.gives(sql("SELECT count(*) FROM filter_info({})", literal_of(bytes)), 1);
    db.run("BEGIN");
    const int64_t items = db.number("SELECT items FROM filter_info('c')");
    const std::string text = apply(bytes);
    EXPECT_EQ(text.find("can tell apart") != std::string::npos ||
                  text.find("more items than a filter holds") != std::string::npos,
              bit == 0)
        << text;
    EXPECT_LE(db.number("SELECT items FROM filter_info('c')"), items + 5000);
    db.run("ROLLBACK");
  }
  EXPECT_EQ(mark_of(db, "c"), before);
}

}  // namespace
}  // namespace cuckoo::test::filter_hostile_message_test
