#include "core/stored/key_form.hpp"

#include <string>

namespace cuckoo {
namespace {

// Returns whether `bits` has a bit above those of `columns` columns of `width` bits each.
bool beyond(uint64_t bits, unsigned columns, unsigned width) noexcept {
  return columns * width < 64 && bits >> columns * width != 0;
}

}  // namespace

Status check_keys(const KeyForm& form, uint64_t types) {
  if (form.columns < 1 || form.columns > KeyForm::kMaxColumns) {
    return corrupt("keys of " + std::to_string(form.columns) + " columns, expected 1 to 8");
  }
  for (unsigned i = 0; i < form.columns; ++i) {
    if (form.affinity(i) > KeyForm::kMaxAffinity) {
      return corrupt("keys of affinity " + std::to_string(form.affinity(i)) + ", expected 0 to 4");
    }
    if (form.collation(i) > KeyForm::kMaxCollation) {
      return corrupt("keys of collation " + std::to_string(form.collation(i)) +
                     ", expected 0 to 2");
    }
  }
  if (beyond(form.affinities, form.columns, 4) || beyond(form.collations, form.columns, 2) ||
      beyond(types, form.columns, 8)) {
    return corrupt("keys of " + std::to_string(form.columns) +
                   " columns, with an affinity, a collation or types of a further one");
  }
  return {};
}

}  // namespace cuckoo
