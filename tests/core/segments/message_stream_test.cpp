#include "core/segments/message_stream.hpp"

#include "core/segments/filter_file.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/segments/memory_blocks.hpp"
#include "tests/core/segments/window_copies.hpp"

namespace cuckoo::segments::segments_message_stream_test {
namespace {

// A filter of several segments.
Bytes joined(MessageStream stream, uint64_t length) {
  Bytes all;
  for (;;) {
    const Bytes some = must(stream.next(length));
    if (some.empty()) {
      EXPECT_EQ(all.size(), stream.bytes());
      return all;
    }
    EXPECT_EQ(some.size(), std::min<uint64_t>(length, stream.bytes() - all.size()));
    all.insert(all.end(), some.begin(), some.end());
  }
}

class Stream : public testing::TestWithParam<FilterKind> {
 protected:
  Stream() : file_(options(), blocks_) {
    EXPECT_TRUE(file_.create().ok());
    add(0, 40000);
  }
  static FilterOptions options() {
    FilterOptions options;
    options.spec.kind = GetParam();
    options.seed = 3;
    options.capacity = 40000;
    options.page_bytes = 448;
    return options;
  }
  void add(uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      ASSERT_TRUE(file_.insert(test::nth_hash(1, i, file_.options().width)).ok());
    }
    ASSERT_TRUE(file_.finish_load().ok());
    ASSERT_TRUE(file_.flush().ok());
    file_.committed();
  }
  MessageHeader header(const Contents& contents) {
    MessageHeader header;
    header.spec = file_.options().spec;
    header.width = file_.options().width;
    header.seed = file_.options().seed;
    header.capacity = contents.capacity;
    header.items = contents.items;
    header.with_hashes = contents.with_hashes;
    header.hash_count = contents.hash_count;
    header.mark = contents.mark;
    return header;
  }

  test::MemoryBlocks blocks_;
  FilterFile file_;
};

INSTANTIATE_EACH(Each, Stream, test::kLoggedKinds);

TEST_P(Stream, I1_gives_the_image) {
  ASSERT_GT(file_.segments(), 1U);
  for (const bool with_hashes : {false, true}) {
    const Contents contents = must(file_.contents(with_hashes));
    const MessageHeader head = header(contents);
    const Bytes whole = encode_image(head, contents.pieces, uint64_t{1} << 30).value();
    for (const uint64_t length : {uint64_t{1000}, uint64_t{65536}, uint64_t{1} << 30}) {
      MessageStream stream = must(MessageStream::of_image(head, contents));
      EXPECT_EQ(joined(std::move(stream), length), whole) << length;
    }
  }
}

// The changes come without segments, and with some where the filter grew.
TEST_P(Stream, I1_gives_the_changes) {
  bool alone = false;
  bool grown = false;
  for (uint64_t first = 40000; first < 80000 && !(alone && grown); first += 500) {
    const FilterMark mark = *file_.mark().value();
    add(first, first + 500);
    const auto changes = [&] { return *file_.changes_since(mark).value(); };
    ASSERT_TRUE(file_.changes_since(mark).value());
    const bool has_pieces = changes().pieces != nullptr;
    if (has_pieces ? std::exchange(grown, true) : std::exchange(alone, true)) {
      continue;
    }
    const Bytes whole = encode_changes(changes(), uint64_t{1} << 30).value();
    for (const uint64_t length : {1000, 50000}) {
      MessageStream stream = must(MessageStream::of_changes(changes()));
      EXPECT_EQ(joined(std::move(stream), length), whole) << length;
    }
  }
  EXPECT_TRUE(alone && grown);
}

TEST_P(Stream, I2_notices_that_the_filter_changed) {
  const Result<Contents> contents = file_.contents(false);
  Result<MessageStream> stream =
      MessageStream::of_image(header(contents.value()), contents.value());
  ASSERT_TRUE(stream.value().next(20000).ok());
  add(50000, 50200);
  Status status;
  while (status.ok()) {
    const Result<Bytes> some = stream.value().next(20000);
    ASSERT_FALSE(some.ok() && some.value().empty()) << "it ended well";
    if (!some.ok()) {
      status = some.error();
    }
  }
  EXPECT_NE(status.error().message.find("changed while"), std::string::npos);
}

class WindowStream : public testing::TestWithParam<test::FilterCase> {
 protected:
  WindowStream() {
    for (uint64_t turn = 0; turn < 3; ++turn) {
      stored_.add_and_commit(1000 * turn, 1000 * turn + 500);
      stored_.rotate();
    }
    stored_.add_and_commit(5000, 5100);
  }

  test::StoredGenerations stored_{test::generations_of(GetParam(), 3, 600, 0.02, 128)};
};

INSTANTIATE_EACH(Each, WindowStream, test::all_cases());

// An image; changes; changes with an image of a generation, and with one that begins empty.
TEST_P(WindowStream, I1_gives_images_and_changes_of_windows) {
  FilterWindow& window = stored_.window;
  const WindowMark mark = test::mark_of(window);
  const auto expect_equal = [&](const std::function<WindowMessage()>& message) {
    const Bytes whole = test::encoded(message());
    for (const uint64_t length : {uint64_t{1}, uint64_t{1000}, uint64_t{1} << 30}) {
      EXPECT_EQ(joined(must(MessageStream::of_window(message())), length), whole) << length;
    }
  };
  for (const bool with_hashes : {false, true}) {
    if (!with_hashes || GetParam().growth) {
      expect_equal([&] { return must(window.contents(with_hashes)); });
    }
  }
  const auto changes = [&] { return *must(window.changes_since(mark)); };
  expect_equal(changes);
  stored_.add_and_commit(6000, 6010);
  expect_equal(changes);
  stored_.add_and_commit(7000, 7400);
  stored_.rotate();
  stored_.add_and_commit(8000, 8020);
  expect_equal(changes);
}

TEST_P(WindowStream, I2_notices_that_the_newest_generation_changed) {
  MessageStream stream = must(MessageStream::of_window(must(stored_.window.contents(false))));
  ASSERT_TRUE(stream.next(100).ok());
  stored_.add_and_commit(9000, 9100);
  Result<Bytes> rest = stream.next(uint64_t{1} << 30);
  EXPECT_TRUE(fails(rest, ErrorCode::kInvalid, "changed while"));
}

}  // namespace
}  // namespace cuckoo::segments::segments_message_stream_test
