//===- CacheLayout.h - Layout of entries in a KV page -----------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_CACHELAYOUT_H
#define MTP_COMPILER_CODEGEN_CACHELAYOUT_H

#include "runtime/schema/KvPage.h"

#include <cstdint>

namespace mtp::codegen {

/// Layout of entries in a page. An entry is divided evenly among heads. A page
/// holds the first head's shares of all its entries, then the second head's, so
/// that attention reads one head's data in one piece. Let columns from c on of
/// an entry belong to `heads` heads of w columns each. They are then columns
/// [c / heads, c / heads + w) of the heads' shares. With one head, entries are
/// stored whole, one after another.
///
/// A share of integers ends with two f32 scales: of the columns that are
/// written at column 0, and of the columns that are written at another column.
struct CacheLayout {
  CacheLayout(int64_t page, int64_t entry, int64_t heads)
      : page(page), entry(entry), heads(heads) {}
  /// Reads the layout from a kernel's parameters.
  template <typename KernelT>
  CacheLayout(KernelT kernel, int64_t entry)
      : CacheLayout(kernel.getPage(), entry, kernel.getCacheHeads()) {}

  /// Returns the elements of one head's share of an entry.
  int64_t share() const { return entry / heads; }
  /// Returns the elements from a head's share to the next head's share.
  int64_t headStride() const { return page * share(); }
  /// Returns the bytes from one page to the next. An element has `bytes` bytes.
  int64_t pageBytes(int64_t bytes) const {
    return int64_t(mtp::pageStride(page, entry, bytes));
  }

  /// Returns the bytes from the start of a share of integers to the scale of
  /// columns that are written at `column`.
  int64_t scaleOffset(int64_t column) const {
    return share() - int64_t(mtp::kEntryScaleBytes) + (column ? 4 : 0);
  }

  int64_t page;
  /// Elements of an entry.
  int64_t entry;
  int64_t heads;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CACHELAYOUT_H
