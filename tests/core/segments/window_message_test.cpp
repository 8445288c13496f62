// Messages of sliding windows as bytes: what they consist of, and hostile ones.
#include "core/segments/window_message.hpp"

#include "tests/core/segments/window_samples.hpp"
#include "tests/support/sample_bytes.hpp"

namespace cuckoo::segments::segments_window_message_test {
namespace {

constexpr size_t kHeaderBytes = 160;
constexpr size_t kSectionsAt = 24;
constexpr uint64_t kGenerations = 3;

struct Section {
  uint64_t rotation;
  Bytes content;
};

std::vector<Section> sections_of(const Bytes& bytes) {
  std::vector<Section> sections;
  for (size_t at = kHeaderBytes; at + 4 < bytes.size();) {
    const auto length = static_cast<std::ptrdiff_t>(load_le<uint64_t>(&bytes[at + 8]));
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at) + 16;
    sections.push_back({load_le<uint64_t>(&bytes[at]), Bytes(begin, begin + length)});
    at += 16 + sections.back().content.size();
  }
  return sections;
}

// The same header with other sections; all checksums and numbers are right.
Bytes message_of(const Bytes& like, const std::vector<Section>& sections) {
  Bytes bytes(like.begin(), like.begin() + kHeaderBytes);
  Bytes checked;
  for (const Section& section : sections) {
    Bytes header(16);
    store_le(&header[0], section.rotation);
    store_le(&header[8], uint64_t{section.content.size()});
    bytes.insert(bytes.end(), header.begin(), header.end());
    bytes.insert(bytes.end(), section.content.begin(), section.content.end());
    checked.insert(checked.end(), header.begin(), header.end());
    checked.insert(checked.end(), section.content.end() - 4, section.content.end());
  }
  bytes[kSectionsAt] = static_cast<std::byte>(sections.size());
  store_le(&bytes[8], uint64_t{bytes.size() + 4});
  const uint32_t crc = crc32c(checked, crc32c(std::span(bytes).first(kHeaderBytes)));
  bytes.resize(bytes.size() + 4);
  store_le(&bytes[bytes.size() - 4], crc);
  return bytes;
}

std::string refusal(std::span<const std::byte> bytes) {
  return refusal_of(decode_window_message(bytes, kImagePageBytes, true), ErrorCode::kCorrupt);
}

void expect_refused(std::span<const std::byte> bytes, const std::string& why) {
  EXPECT_TRUE(fails(decode_window_message(bytes, kImagePageBytes, true), ErrorCode::kCorrupt, why));
}

class WindowMessages : public ::testing::TestWithParam<FilterCase> {
 protected:
  static FilterOptions options(uint64_t seed = 0) {
    FilterOptions options = test::generations_of(GetParam(), kGenerations, 100, 0.02, 448);
    options.seed += seed;
    return options;
  }
  static void fill(StoredGenerations& stored) {
    for (uint64_t turn = 0; turn < 4; ++turn) {
      stored.add_and_commit(100 * turn, 100 * turn + 60);
      stored.rotate();
    }
    stored.add_and_commit(1000, 1010);
  }
  void SetUp() override {
    fill(origin);
    image = test::image_of(origin.window, GetParam().growth);
    from = test::mark_of(origin.window);
    origin.add_and_commit(2000, 2010);
    small = *test::changes_of(origin.window, from);
    origin.rotate();
    origin.add_and_commit(3000, 3005);
    rotated = *test::changes_of(origin.window, from);
  }

  StoredGenerations origin{options()};
  Bytes image;
  WindowMark from;
  Bytes small;    // changes without a rotation
  Bytes rotated;  // … with one
};

INSTANTIATE_EACH(Kinds, WindowMessages, test::all_cases());

TEST_P(WindowMessages, are_sections_that_single_filters_have_too) {
  EXPECT_TRUE(looks_like_window_message(image));
  EXPECT_TRUE(looks_like_image(image)) << "for the hint that it is a BLOB";
  const std::vector<Section> whole = sections_of(image);
  ASSERT_EQ(whole.size(), kGenerations);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(whole[i].rotation, 2 + i);
    EXPECT_EQ(must(decode_image(whole[i].content)).header.with_hashes, GetParam().growth);
  }
  ASSERT_EQ(sections_of(small).size(), 1U);
  EXPECT_TRUE(looks_like_changes(sections_of(small)[0].content));
  const std::vector<Section> parts = sections_of(rotated);
  ASSERT_EQ(parts.size(), 3U) << "changes, an image of what it was at first, changes";
  EXPECT_TRUE(looks_like_changes(parts[0].content));
  EXPECT_EQ(must(decode_image(parts[1].content)).header.items, 0U);
  EXPECT_TRUE(looks_like_changes(parts[2].content));
  for (const Bytes& bytes : {image, small, rotated}) {
    EXPECT_EQ(message_of(bytes, sections_of(bytes)), bytes);
  }
}

TEST_P(WindowMessages, I1_what_is_read_is_written_alike) {
  for (const Bytes& bytes : {image, small, rotated}) {
    EXPECT_EQ(test::encoded(must(decode_window_message(bytes, 448, true))), bytes);
  }
}

TEST_P(WindowMessages, window_image_has_all_keys) {
  const WindowImage window = must(decode_window_image(image));
  EXPECT_EQ(window.mark, from);
  for (uint64_t i : {uint64_t{200}, uint64_t{259}, uint64_t{300}, uint64_t{1009}}) {
    bool found = false;
    for (const Image& one : window.generations) {
      found = found || one.pieces.probe(test::nth_hash(i)) == Filter::Answer::kPresent;
    }
    EXPECT_TRUE(found) << i;
  }
  EXPECT_FALSE(decode_window_image(small).ok()) << "changes are no image";
}

TEST_P(WindowMessages, of_more_bytes_than_possible_are_not_made) {
  const WindowMessage contents = must(origin.window.contents(false));
  const size_t length = test::encoded(contents).size();
  EXPECT_TRUE(encode_window_message(contents, length).ok());
  for (const uint64_t limit : {length - 1, length / 2, size_t{200}, size_t{0}}) {
    EXPECT_TRUE(fails(encode_window_message(contents, limit), ErrorCode::kInvalid)) << limit;
  }
}

TEST_P(WindowMessages, I2_cut_ones_are_refused) {
  for (const Bytes& bytes : {image, small, rotated}) {
    for (size_t length = 0; length < bytes.size(); length += 1 + length / 40) {
      EXPECT_NE(refusal(std::span(bytes).first(length)), "") << length;
    }
    Bytes longer = bytes;
    longer.push_back(std::byte{0});
    expect_refused(longer, "bytes");
  }
}

// The first bytes say what a message is, as far as its header goes.
TEST_P(WindowMessages, headers_are_read_alone) {
  constexpr size_t kHeader = kHeaderBytes;
  for (const Bytes& bytes : {image, small, rotated}) {
    const WindowMessage whole = must(decode_window_message(bytes, 448, true));
    for (const size_t length : {kHeader, kHeader + 1, bytes.size()}) {
      const WindowMessage header =
          must(decode_window_header(std::span(bytes).first(length), bytes.size()));
      EXPECT_EQ(header.from, whole.from);
      EXPECT_EQ(header.to, whole.to);
      EXPECT_EQ(header.capacity, whole.capacity);
      EXPECT_EQ(header.common.spec.kind, whole.common.spec.kind);
      EXPECT_TRUE(header.generations.empty());
    }
    for (size_t length = 0; length < kHeader; ++length) {
      EXPECT_FALSE(decode_window_header(std::span(bytes).first(length), bytes.size()).ok());
    }
    EXPECT_FALSE(decode_window_header(std::span(bytes).first(kHeader), bytes.size() + 1).ok());
  }
}

// A flip that the frame does not cover is found when its piece is read.
TEST_P(WindowMessages, I2_no_bit_may_flip) {
  for (const Bytes& bytes : {image, small, rotated}) {
    for (size_t bit = 0; bit < 8 * bytes.size(); bit += bit < 1200 ? 1 : 97) {
      Bytes flipped = bytes;
      flipped[bit / 8] ^= std::byte{1} << (bit % 8);
      const Result<WindowMessage> message = decode_window_message(flipped, 448, true);
      bool fine = message.ok();
      for (size_t i = 0; fine && i < message.value().generations.size(); ++i) {
        const Generation& one = message.value().generations[i];
        const PieceSink sink = [](Piece&&) { return Status(); };
        fine = (!one.image || one.image->pieces(sink).ok()) &&
               (!one.changes || !one.changes->pieces || one.changes->pieces(sink).ok());
      }
      ASSERT_FALSE(fine) << bit;
    }
  }
}

TEST_P(WindowMessages, I2_spliced_ones_are_refused) {
  StoredGenerations other(options(1));
  fill(other);
  const std::vector<Section> theirs = sections_of(test::image_of(other.window, GetParam().growth));
  const std::vector<Section> whole = sections_of(image);
  expect_refused(message_of(image, {whole[0], theirs[1], whole[2]}), "another sliding window");
  expect_refused(message_of(image, {whole[0], whole[1], theirs[2]}), "another sliding window");
  expect_refused(message_of(image, {whole[0], whole[1]}), "does not end at its mark");
  expect_refused(message_of(image, {whole[0], whole[2]}), "do not follow one another");
  expect_refused(message_of(image, {whole[1], whole[2]}), "do not follow one another");
  expect_refused(message_of(image, {whole[0], whole[0], whole[1], whole[2]}), "two images");
  expect_refused(message_of(image, {whole[0], whole[1], {whole[2].rotation, whole[1].content}}),
                 "does not end at its mark");
  expect_refused(message_of(image, {}), "at least");
  expect_refused(message_of(small, whole), "do not follow");
  const std::vector<Section> parts = sections_of(rotated);
  expect_refused(message_of(image, {whole[0], whole[1], {4, parts[0].content}}),
                 "changes in an image");
  expect_refused(message_of(rotated, {parts[0], parts[1]}), "does not end at its mark");
  expect_refused(message_of(rotated, {parts[0], parts[2]}), "do not begin at");
  expect_refused(message_of(rotated, {parts[1], parts[2]}), "do not follow");
  expect_refused(message_of(rotated, {parts[0], parts[0], parts[1], parts[2]}), "too many");
  expect_refused(message_of(rotated, {parts[0], parts[1], parts[2], parts[2]}), "too many");
  expect_refused(message_of(rotated, {{parts[0].rotation, parts[2].content}, parts[1], parts[2]}),
                 "do not begin at");
}

TEST_P(WindowMessages, I2_headers_that_lie_are_refused) {
  const auto with = [](Bytes bytes, const std::function<void(Bytes&)>& edit) {
    const std::vector<Section> sections = sections_of(bytes);
    edit(bytes);
    return message_of(bytes, sections);
  };
  const auto to = [](const std::function<void(WindowMark&)>& edit) {
    return [edit](Bytes& bytes) {
      WindowMark mark = decode_window_mark(std::span(bytes).subspan(32, kWindowMarkBytes)).value();
      edit(mark);
      const Bytes again = encode_window_mark(mark);
      std::copy(again.begin(), again.end(), bytes.begin() + 32);
    };
  };
  expect_refused(with(image, [](Bytes& bytes) { bytes[4] = std::byte{9}; }), "format 9");
  expect_refused(with(image, [](Bytes& bytes) { bytes[25] = std::byte{2}; }), "can't be");
  expect_refused(with(image, [](Bytes& bytes) { bytes[26] = std::byte{2}; }), "can't be");
  expect_refused(with(image, [](Bytes& bytes) { bytes[16] = bytes[17] = std::byte{0}; }),
                 "can't be");
  expect_refused(with(small, [](Bytes& bytes) { bytes[25] = std::byte{0}; }), "can't be");
  expect_refused(with(image, [](Bytes& bytes) { bytes[25] = std::byte{1}; }), "no mark");
  expect_refused(with(image, to([](WindowMark& mark) { --mark.held; })), "do not follow");
  expect_refused(with(image, to([](WindowMark& mark) { ++mark.generations, ++mark.held; })),
                 "do not follow");
  expect_refused(with(image, to([](WindowMark& mark) { ++mark.rotation; })), "do not follow");
  expect_refused(with(image, to([](WindowMark& mark) { ++mark.newest.chain; })), "its mark");
  expect_refused(with(image, to([](WindowMark& mark) { ++mark.past; })), "its mark");
  expect_refused(with(image, to([](WindowMark& mark) { ++mark.newest.seed; })), "another sliding");
  for (const auto& edit : std::vector<std::function<void(WindowMark&)>>{
           [](WindowMark& mark) { --mark.held; }, [](WindowMark& mark) { ++mark.generations; },
           [](WindowMark& mark) { mark.rotation += 3; }, [](WindowMark& mark) { --mark.rotation; },
           [](WindowMark& mark) { ++mark.newest.seed; }}) {
    expect_refused(with(small, to(edit)), "different sliding windows");
  }
}

// --- files ---------------------------------------------------------------------------------------

std::filesystem::path golden_path(const std::string& name) {
  return test::source_path("tests/golden/images") / (name + ".image");
}

TEST(WindowMessage, stored_ones_are_read_and_written_alike) {
  for (const auto& [name, bytes] : test::window_samples()) {
    SCOPED_TRACE(name);
    const Bytes stored = test::read_bytes(golden_path(name)).value();
    EXPECT_EQ(stored, bytes);
    EXPECT_EQ(test::encoded(must(decode_window_message(stored, 448, true))), bytes);
  }
}

// Writes the files that the test above reads. To be run when the format has changed, with
// --gtest_also_run_disabled_tests.
TEST(WindowMessage, DISABLED_write_files) {
  for (const auto& [name, bytes] : test::window_samples()) {
    test::write_bytes(golden_path(name), bytes);
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_window_message_test
