// FilterWindow: its marks, the changes since one of them, and how a copy applies changes.
#include <algorithm>
#include <string>
#include <utility>

#include "core/segments/filter_window.hpp"

namespace cuckoo::segments {
namespace {

// Makes the file hold what a generation of another window holds. The file must be new and not
// stored.
Status make_like(const Generation& theirs, uint64_t past, FilterFile& file) {
  if (!theirs.image) {
    return corrupt("a generation without its image");
  }
  CUCKOO_TRY(file.create(past));
  CUCKOO_TRY(file.import(file.options(), *theirs.image));
  CUCKOO_TRY(theirs.changes ? file.apply(*theirs.changes).take_status() : Status());
  return file.finish_load();
}

bool longer_than_image(const FilterChanges& changes, const FilterFile& file) {
  return changes.bytes > file.least_image_bytes();
}

std::string text_of(const WindowMark& mark) { return mark_text(encode_window_mark(mark)); }

}  // namespace

Status FilterWindow::expect_several(const char* what) const {
  CUCKOO_TRY(poison_.error());
  return single() ? invalid(std::string(what) + ": it is no sliding window") : Status();
}

// --- marks ---------------------------------------------------------------------------------------

Result<WindowMark> FilterWindow::mark() {
  CUCKOO_TRY(expect_several("mark"));
  WindowMark mark;
  mark.generations = files_.size();
  mark.held = state_.held;
  mark.rotation = state_.rotation;
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> newest, newest_->mark());
  if (!newest) {
    return invalid("keeps no marks");
  }
  mark.newest = *newest;
  CUCKOO_ASSIGN_OR_RETURN(mark.past, past_of(state_.rotation));
  return mark;
}

// Returns a hash of the mark of the generation before that one. 0 if it is not held.
Result<uint64_t> FilterWindow::past_of(uint64_t rotation) {
  if (rotation == 0 || state_.rotation - (rotation - 1) >= state_.held) {
    return uint64_t{0};
  }
  CUCKOO_ASSIGN_OR_RETURN(const std::optional<FilterMark> before,
                          in_slot(slot_of(rotation - 1)).mark());
  return before ? past_behind(*before) : 0;
}

// Returns whether the window still holds the generation that was the newest at that mark, and older
// ones that are the same.
Result<bool> FilterWindow::may_lead_on(const WindowMark& from) {
  CUCKOO_ASSIGN_OR_RETURN(const WindowMark now, mark());
  if (!of_one_filter(from.newest, now.newest) || from.generations != files_.size() ||
      from.rotation > state_.rotation || state_.rotation - from.rotation >= state_.held ||
      state_.held != std::min(from.generations, from.held + (state_.rotation - from.rotation))) {
    return false;
  }
  CUCKOO_ASSIGN_OR_RETURN(const uint64_t past, past_of(from.rotation));
  return past == 0 || past == from.past;
}

Result<std::optional<uint64_t>> FilterWindow::changes_behind(const WindowMark& from) {
  CUCKOO_TRY(expect_several("mark"));
  CUCKOO_ASSIGN_OR_RETURN(const bool leads_on, may_lead_on(from));
  if (!leads_on) {
    return std::optional<uint64_t>();
  }
  CUCKOO_ASSIGN_OR_RETURN(std::optional<uint64_t> behind,
                          in_slot(slot_of(from.rotation)).changes_behind(from.newest));
  for (uint64_t rotation = from.rotation; behind && rotation < state_.rotation; ++rotation) {
    *behind += 1 + in_slot(slot_of(rotation + 1)).items();
  }
  return behind;
}

// --- contents, and changes since a mark ----------------------------------------------------------

WindowMessage FilterWindow::message_of(const WindowMark& now) const {
  WindowMessage message;
  message.to = now;
  message.capacity = created_.capacity;
  message.common.spec = created_.spec;
  message.common.width = created_.width;
  message.common.seed = created_.seed;
  message.common.key_types = key_types();
  return message;
}

Status FilterWindow::add_image(FilterFile& file, bool with_hashes, Generation& to) {
  CUCKOO_ASSIGN_OR_RETURN(to.image, file.contents(with_hashes));
  return {};
}

Result<WindowMessage> FilterWindow::contents(bool with_hashes) {
  CUCKOO_ASSIGN_OR_RETURN(const WindowMark now, mark());
  WindowMessage message = message_of(now);
  for (uint64_t age = state_.held; age-- > 0;) {
    Generation& one = message.generations.emplace_back();
    one.rotation = state_.rotation - age;
    CUCKOO_TRY(add_image(in_slot(slot_of(one.rotation)), with_hashes, one));
  }
  return message;
}

// A new generation has many cells and few keys. So the message has an image of it without keys,
// which needs no cells, and changes with the keys that came since. If these changes are longer than
// an image of the generation as it is now, the message has that image instead.
Result<Generation> FilterWindow::newest_from_its_beginning(bool with_hashes) {
  Generation newest;
  newest.rotation = state_.rotation;
  const auto begun = std::make_shared<FilterFile>(created_, storage_, slot_of(state_.rotation));
  CUCKOO_TRY(begun->create(state_.past));
  CUCKOO_TRY(add_image(*begun, with_hashes, newest));
  CUCKOO_ASSIGN_OR_RETURN(newest.changes, newest_->changes_since_beginning(*newest.image->mark));
  if (!newest.changes || longer_than_image(*newest.changes, *newest_)) {
    newest.changes.reset();
    CUCKOO_TRY(add_image(*newest_, with_hashes, newest));
    return newest;
  }
  newest.image->pieces = [begun, pieces = newest.image->pieces](const PieceSink& sink) {
    return pieces(sink);
  };
  newest.image->range = [begun, range = newest.image->range](uint64_t prefix, const PieceSink& sink,
                                                             const std::function<bool()>& enough) {
    return range(prefix, sink, enough);
  };
  return newest;
}

Result<std::optional<WindowMessage>> FilterWindow::changes_since(const WindowMark& from,
                                                                 bool with_hashes) {
  CUCKOO_ASSIGN_OR_RETURN(const WindowMark now, mark());
  CUCKOO_ASSIGN_OR_RETURN(const bool leads_on, may_lead_on(from));
  if (!leads_on) {
    return std::optional<WindowMessage>();
  }
  with_hashes = with_hashes && keeps_hashes();  // all images of a message have them, or none
  WindowMessage message = message_of(now);
  message.from = from;
  Generation then;
  then.rotation = from.rotation;
  FilterFile& file = in_slot(slot_of(from.rotation));
  CUCKOO_ASSIGN_OR_RETURN(then.changes, file.changes_since(from.newest));
  if (!then.changes || longer_than_image(*then.changes, file)) {
    then.changes.reset();
    CUCKOO_TRY(add_image(file, with_hashes, then));
  }
  message.generations.push_back(std::move(then));
  for (uint64_t rotation = from.rotation + 1; rotation < state_.rotation; ++rotation) {
    Generation& one = message.generations.emplace_back();
    one.rotation = rotation;
    CUCKOO_TRY(add_image(in_slot(slot_of(rotation)), with_hashes, one));
  }
  if (from.rotation < state_.rotation) {
    CUCKOO_ASSIGN_OR_RETURN(Generation newest, newest_from_its_beginning(with_hashes));
    message.generations.push_back(std::move(newest));
  }
  return std::optional<WindowMessage>(std::move(message));
}

// --- importing, and applying changes -------------------------------------------------------------

// Makes all new generations beside the old ones. These stay as they are until all new ones are
// made.
Status FilterWindow::import(const FilterOptions& options, const WindowMessage& image) {
  CUCKOO_TRY(expect_several("import"));
  CUCKOO_TRY(options.check());
  if (image.from || image.generations.empty() || options.generations != image.to.generations ||
      options.generations < 2 || image.generations.size() != image.to.held) {
    return invalid("import: no image of a sliding window of " +
                   std::to_string(options.generations) + " generations");
  }
  Files files(options.generations);
  State next{image.to.rotation, image.to.held, chain_with(state_.past, state_.held)};
  const FilterFile* before = nullptr;
  for (const Generation& theirs : image.generations) {
    next.past = before != nullptr ? chain_with(next.past, before->history()) : next.past;
    const uint64_t slot = theirs.rotation % files.size();
    files[slot] = std::make_unique<FilterFile>(options, storage_, slot);
    CUCKOO_TRY(of_message(make_like(theirs, next.past, *files[slot])));
    before = files[slot].get();
  }
  return poison_.changing([&]() -> Status {
    for (uint64_t slot = 0; slot < files_.size(); ++slot) {
      to_erase_.push_back(slot);
    }
    arrange(next, std::move(files));
    created_ = options;
    note_changed_state();
    return {};
  });
}

Status FilterWindow::expect_from(const std::optional<WindowMark>& from, const WindowMark& to) {
  CUCKOO_ASSIGN_OR_RETURN(const WindowMark now, mark());
  return now == to || now == from
             ? Status()
             : invalid("the changes lead from mark " +
                       (from ? text_of(*from) : std::string("none")) + " to mark " + text_of(to) +
                       ", and it has mark " + text_of(now) +
                       "; ask for the changes since its own mark");
}

// After a failure in the middle, apply() reads storage again. So it first writes what came before.
Result<bool> FilterWindow::apply(const WindowMessage& changes) {
  CUCKOO_ASSIGN_OR_RETURN(const WindowMark now, mark());
  if (now == changes.to) {
    CUCKOO_TRY(verify(changes));
    return false;
  }
  CUCKOO_TRY(expect_from(changes.from, changes.to));
  CUCKOO_TRY(flush());
  Status applied = poison_.changing([&] { return apply_all(changes); });
  if (!applied.ok() && applied.error().code != ErrorCode::kStorage) {
    forget();
    CUCKOO_TRY(refresh());
    return of_message(std::move(applied));
  }
  CUCKOO_TRY(std::move(applied));
  return true;
}

Status FilterWindow::apply_all(const WindowMessage& changes) {
  State next = state_;
  std::vector<std::unique_ptr<FilterFile>> made;
  const FilterFile* before = nullptr;
  for (const Generation& theirs : changes.generations) {
    if (theirs.rotation == state_.rotation) {
      CUCKOO_TRY(theirs.image ? newest_->import(newest_->options(), *theirs.image) : Status());
      CUCKOO_TRY(theirs.changes ? newest_->apply(*theirs.changes).take_status() : Status());
      CUCKOO_TRY(changes.to.rotation > state_.rotation ? newest_->finish_load() : Status());
      before = newest_;
      continue;
    }
    if (before == nullptr || theirs.rotation != next.rotation + 1) {
      return corrupt("generations that do not follow one another");
    }
    next.past = chain_with(next.past, before->history());
    next.rotation = theirs.rotation;
    made.push_back(std::make_unique<FilterFile>(created_, storage_, slot_of(next.rotation)));
    CUCKOO_TRY(make_like(theirs, next.past, *made.back()));
    before = made.back().get();
  }
  if (made.empty()) {
    return {};
  }
  next.held = std::min<uint64_t>(state_.held + made.size(), files_.size());
  for (uint64_t age = 0; age < state_.held; ++age) {
    if (const uint64_t rotation = state_.rotation - age; rotation + next.held <= next.rotation) {
      to_erase_.push_back(slot_of(rotation));
    }
  }
  Files files(files_.size());
  for (size_t i = 0; i < made.size(); ++i) {
    files[slot_of(state_.rotation + 1 + i)] = std::move(made[i]);
  }
  arrange(next, std::move(files));
  note_changed_state();
  return {};
}

}  // namespace cuckoo::segments
