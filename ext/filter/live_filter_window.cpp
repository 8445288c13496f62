// LiveFilter's sliding windows: marks, images and changes of all generations together.
#include <algorithm>
#include <string>
#include <utility>

#include "core/filter/legacy_bloom.hpp"
#include "core/segments/changes.hpp"
#include "core/segments/image.hpp"
#include "core/segments/window_message.hpp"
#include "ext/filter/image_filter.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {
namespace {

using segments::WindowMark;
using segments::WindowMessage;

// Nothing where it is a single filter's: that is a mark which a window never had.
std::optional<WindowMark> mark_argument(const char* function, std::span<const std::byte> mark) {
  if (segments::decode_mark(mark).ok()) {
    return std::nullopt;
  }
  const Result<WindowMark> decoded = segments::decode_window_mark(mark);
  if (!decoded.ok()) {
    throw SqlError(SQLITE_ERROR, std::string(function) + ": " + decoded.error().message +
                                     "; a mark is what filter_mark() gives, bound as a BLOB");
  }
  return decoded.value();
}

std::string window_of(uint64_t generations) {
  return "a sliding window of " + std::to_string(generations) + " generations";
}

}  // namespace

// --- going out -----------------------------------------------------------------------------------

std::vector<std::byte> LiveFilter::encode_window(WindowMessage message, uint64_t limit) {
  const segments::ImageHeader common =
      image_header(message.common.spec, message.common.width, message.common.seed, key_domain());
  message.common = common;
  Result<std::vector<std::byte>> bytes = segments::encode_window_message(message, limit);
  throw_if(table(), bytes.take_status());
  return std::move(bytes.value());
}

std::vector<std::byte> LiveFilter::export_window(bool with_hashes, uint64_t limit) {
  Result<WindowMessage> message = filter_->contents(with_hashes);
  throw_if(table(), message.take_status());
  return encode_window(std::move(message.value()), limit);
}

std::vector<std::byte> LiveFilter::window_changes_since(
    const char* function, std::optional<std::span<const std::byte>> mark, bool with_hashes,
    uint64_t limit) {
  const std::optional<WindowMark> from = mark ? mark_argument(function, *mark) : std::nullopt;
  if (from) {
    Result<std::optional<WindowMessage>> changes = filter_->changes_since(*from, with_hashes);
    throw_if(table(), changes.take_status());
    if (changes.value()) {
      return encode_window(*std::move(changes.value()), limit);
    }
  }
  return export_window(with_hashes && filter_->keeps_hashes(), limit);
}

std::optional<uint64_t> LiveFilter::window_behind(std::span<const std::byte> mark) {
  const std::optional<WindowMark> from = mark_argument("filter_behind", mark);
  if (!from) {
    return std::nullopt;
  }
  Result<std::optional<uint64_t>> behind = filter_->changes_behind(*from);
  throw_if(table(), behind.take_status());
  return behind.value();
}

// --- coming in -----------------------------------------------------------------------------------

bool LiveFilter::is_of_window(const segments::MessageBytes& bytes) const {
  constexpr uint64_t kMagicBytes = 4;
  std::vector<std::byte> buffer;
  const Result<std::span<const std::byte>> front = bytes.front(kMagicBytes, buffer);
  throw_if(table(), front.ok() ? Status() : Status(front.error()));
  return !filter_->single() || segments::looks_like_window_message(front.value());
}

std::span<const std::byte> LiveFilter::all_of(const segments::MessageBytes& bytes,
                                              std::vector<std::byte>& buffer) const {
  const Result<std::span<const std::byte>> all = bytes.read(0, bytes.size(), buffer);
  throw_if(table(), all.ok() ? Status() : Status(all.error()));
  return all.value();
}

// What a command that replaces a window, or goes on top of it, can take.
WindowMessage LiveFilter::window_message(std::span<const std::byte> bytes,
                                         const std::string& command) {
  const auto refuse = [&](const std::string& why) {
    return SqlError(SQLITE_ERROR, table() + ": " + command + ": " + why);
  };
  const FilterOptions& mine = filter_->options();
  if (!segments::looks_like_window_message(bytes)) {
    const bool of_one = segments::looks_like_image(bytes) || segments::looks_like_changes(bytes) ||
                        looks_like_legacy_file(bytes);
    throw refuse(of_one ? "the BLOB is of a single filter, this is " + window_of(mine.generations) +
                              "; merge adds an image to the newest one"
                        : "bytes that are neither changes nor an image of a sliding window,"
                          " expected CKIW at the start");
  }
  Result<WindowMessage> decoded = segments::decode_window_message(bytes, mine.page_bytes, true,
                                                                  [this] { return store_.poll(); });
  if (!decoded.ok()) {
    throw_if(table(),
             decoded.error().code == ErrorCode::kCorrupt ? Status() : decoded.take_status());
    throw refuse(decoded.error().message);
  }
  const WindowMessage& message = decoded.value();
  if (mine.generations == 1) {
    throw refuse("the BLOB is of " + window_of(message.to.generations) +
                 ", this is a single filter with generations = 1; make the table with generations"
                 " = " +
                 std::to_string(message.to.generations));
  }
  if (message.common.spec.kind != mine.spec.kind) {
    throw refuse("the BLOB is of " + describe(message.common.spec.kind) + ", this is " +
                 describe(mine.spec.kind) + "; make a table like that");
  }
  const KeyDomain keys = {static_cast<Affinity>(message.common.key_affinity),
                          static_cast<Collation>(message.common.collation),
                          message.common.key_types};
  if (const std::string why = obstacle(keys, key_domain()); !why.empty()) {
    throw refuse("the BLOB" + why);
  }
  return std::move(decoded.value());
}

void LiveFilter::import_window(std::span<const std::byte> bytes, const std::string& command) {
  const WindowMessage message = window_message(bytes, command);
  if (message.from) {
    throw SqlError(SQLITE_ERROR, table() + ": " + command +
                                     ": the BLOB has changes of a sliding window, expected its"
                                     " image; 'apply' takes both");
  }
  FilterOptions next = filter_->options();
  next.spec = table_spec(message.common.spec);
  next.seed = message.common.seed;
  next.width = message.common.width;
  next.capacity = message.capacity;
  next.generations = message.to.generations;
  if (const Status status = next.check(); !status.ok()) {
    throw SqlError(SQLITE_ERROR,
                   table() + ": " + command + ": the image is for " + status.error().message);
  }
  replace_by(next, [&](const FilterOptions& options) -> Status {
    Status imported = filter_->import(options, message);
    return !imported.ok() && imported.error().code == ErrorCode::kCorrupt && usable()
               ? invalid(command + ": " + imported.error().message)
               : std::move(imported);
  });
}

// The image of what it is already changes nothing.
void LiveFilter::apply_window(std::span<const std::byte> bytes) {
  const WindowMessage message = window_message(bytes, "apply");
  if (!message.from) {
    if (segments::encode_window_mark(message.to) != mark()) {
      import_window(bytes, "apply");
    }
    return;
  }
  change_by([&]() -> Status {
    Status applied = filter_->apply(message).take_status();
    // It is the message that is bad, not the table.
    return !applied.ok() && applied.error().code == ErrorCode::kCorrupt && usable()
               ? invalid("apply: " + applied.error().message)
               : std::move(applied);
  });
}

// The filter and its stored options are replaced together.
void LiveFilter::replace_by(FilterOptions options,
                            const std::function<Status(const FilterOptions& options)>& import) {
  options.digest = digest_of(options);
  change_by([&]() -> Status {
    CUCKOO_TRY(import(options));
    try {
      store_options(store_, options);
    } catch (const SqlError& error) {  // too late for anything but undoing the transaction
      return Error{ErrorCode::kStorage, error.message(), undoing_code(error.code())};
    }
    return {};
  });
  adopt_options();
}

}  // namespace cuckoo
