#include "core/flash/undo_log.hpp"

namespace cuckoo::core {

size_t FlashUndoLog::mark(int savepoint, uint32_t block_count, const FlashRegisters& registers) {
  marks_.push_back(
      {savepoint, block_count, registers, index_changes_.size(), block_changes_.size()});
  return marks_.size() - 1;
}

void FlashUndoLog::release(size_t number) noexcept {
  while (marks_.size() > number) {
    marks_.pop_back();
  }
  if (marks_.empty()) {
    index_changes_.clear();
    block_changes_.clear();
  }
}

size_t FlashUndoLog::memory_bytes() const noexcept {
  return marks_.capacity() * sizeof(Mark) + index_changes_.capacity() * sizeof(FlashIndexUndo) +
         block_changes_.capacity() * sizeof(FlashBlockUndo);
}

}  // namespace cuckoo::core
