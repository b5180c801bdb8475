//===- Compare.h - Truth, equality and order --------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_COMPARE_H
#define MTP_RUNTIME_JINJA_VALUE_COMPARE_H

#include "runtime/jinja/value/Value.h"

#include <algorithm>

namespace mtp::jinja {

/// Returns Python's bool().
Result<bool> isTrue(const Value &value);

/// Returns Python's `left == right`, which never fails.
bool equals(const Value &left, const Value &right);

/// Returns Python's `left < right`. Fails for kinds without an order.
Result<bool> isLess(const Value &left, const Value &right);
/// Returns Python's `left <= right`.
Result<bool> isLessOrEqual(const Value &left, const Value &right);

/// Sorts like Python's sorted() if `isBefore` is an order. Terminates for every
/// `isBefore`.
template <typename T, typename Before>
void sortStably(std::vector<T> &items, Before isBefore) {
  for (size_t width = 1; width < items.size(); width *= 2)
    for (size_t at = 0; at + width < items.size(); at += 2 * width) {
      auto first = items.begin() + std::ptrdiff_t(at);
      auto middle = first + std::ptrdiff_t(width);
      auto last = items.begin() +
                  std::ptrdiff_t(std::min(at + 2 * width, items.size()));
      std::inplace_merge(first, middle, last, isBefore);
    }
}

/// Returns Python's `item in container`.
Result<bool> contains(const Value &container, const Value &item);

/// Returns Python's len().
Result<int64_t> lengthOf(const Value &value);

/// Returns Python's list(). An iterator has no items left afterwards.
Result<Items> itemsOf(const Value &value);

/// Returns whether Python's iter() accepts the value.
bool isIterable(const Value &value);

/// Returns a number of a range by its index, which is below the length.
int64_t numberAt(const Range &range, int64_t index);

/// Returns the characters of a string as strings.
Items charactersOf(const Text &text);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_COMPARE_H
