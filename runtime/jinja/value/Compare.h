//===- Compare.h - Truth, equality and order --------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_COMPARE_H
#define MTP_RUNTIME_JINJA_VALUE_COMPARE_H

#include "runtime/jinja/value/Value.h"

#include <algorithm>

namespace mtp::jinja {

/// Python's bool().
Result<bool> isTrue(const Value &value);

/// Python's ==, which never fails.
bool equals(const Value &left, const Value &right);

/// Python's `left < right`; fails for kinds that have no order.
Result<bool> isLess(const Value &left, const Value &right);
/// Python's `left <= right`.
Result<bool> isLessOrEqual(const Value &left, const Value &right);

/// Sorts as Python's sorted() does where the order is one, and ends whatever
/// `isBefore` says.
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

/// `item in container`.
Result<bool> contains(const Value &container, const Value &item);

/// Python's len().
Result<int64_t> lengthOf(const Value &value);

/// What a walk over the value yields: Python's list(). An iterator is walked
/// to its end by it.
Result<Items> itemsOf(const Value &value);

/// Whether Python's iter() takes it.
bool isIterable(const Value &value);

/// A number of a range, by an index below its length.
int64_t numberAt(const Range &range, int64_t index);

/// The code points of a string, each a string.
Items charactersOf(const Text &text);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_COMPARE_H
