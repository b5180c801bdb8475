//===- KernelFamily.h - Descriptions of a kernel's buffers ------*- C++ -*-===//
//
// Each kind lists its buffers with the bytes that it may access (`describe` in
// Exec*Kernels.cpp). Signatures, contracts and tasks follow from that list.
// Passes, verifiers and the artifact read them through KernelKinds.h and
// KernelContract.h. Targets provide the emitters.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_EXEC_IR_KERNELFAMILY_H
#define MTP_DIALECTS_EXEC_IR_KERNELFAMILY_H

#include "dialects/Exec/IR/ExecAttrs.h"
#include "dialects/Exec/IR/KernelContract.h"
#include <map>

namespace mlir::exec {

/// The largest value of a param: rows, slots, positions and similar numbers.
inline constexpr int64_t kMostParam = int64_t(1) << 30;

/// Bytes that a GPU thread loads at once, aligned to the same number.
inline constexpr int64_t kPieceBytes = 16;

/// Writes one contract, buffer after buffer in order.
class ContractWriter {
public:
  /// The params; p0 is the number of rows or slots.
  const Extent p0 = Extent::param(0), p1 = Extent::param(1),
               p2 = Extent::param(2);

  /// Returns `rows`, the number of rows that the kernel may index by numbers
  /// that it reads. Reports an error if it is missing; `name` is its parameter.
  int64_t limitOf(llvm::StringRef name, int64_t rows);

  BufferContract &bytes(const Extent &extent) {
    contract.buffers.push_back({extent});
    return contract.buffers.back();
  }
  /// Adds `count` elements of 32 bits.
  BufferContract &words(const Extent &count) { return bytes(count * 4); }
  /// Adds rows of `width` elements of 32 bits, `stride` elements apart, or side
  /// by side if `stride` is 0.
  BufferContract &rows(const Extent &count, int64_t stride, int64_t width,
                       int64_t offset = 0) {
    return words((count - 1) * strideOr(stride, width) + width + offset);
  }
  /// Adds rows that a product multiplies by a weight. Tensor cores read the
  /// rows of a weight in fragments in pieces of 16 bytes.
  BufferContract &multiplied(const Extent &count, int64_t stride, int64_t width,
                             bool fragments) {
    BufferContract &buffer = rows(count, stride, width);
    if (fragments)
      buffer.alignment = kPieceBytes;
    return buffer;
  }
  /// Adds `stack` packed matrices of k inputs and n outputs, in panels of
  /// `width`.
  void weight(FormatAttr format, int64_t width, int64_t k, int64_t n,
              int64_t stack = 1, bool gated = false);
  /// Adds a table of angles for `positions` positions, for the columns that
  /// rotate, and the rows' rotary positions.
  void angles(RotationAttr rotation, int64_t positions);
  /// Adds the page numbers of `slots` slots; the second param is the number of
  /// pages per slot.
  void pageTable(int64_t slots);
  /// Adds a layer's pages.
  BufferContract &pages(CacheEntries entries);
  /// Adds the buffers that locate the entries of rows: slots, positions, the
  /// page table and a layer's pages. Returns the pages.
  BufferContract &cache(CacheEntries entries, int64_t slots);
  /// Limits a param to [least, most].
  void limit(int param, int64_t least, int64_t most) {
    limits[param] = {least, most};
  }
  /// Adds the buffers of a builtin, the last `outputs` of which are results.
  void builtin(int64_t buffers, int64_t outputs);

  /// Returns the buffers listed so far.
  llvm::ArrayRef<BufferContract> buffers() const { return contract.buffers; }
  /// Lists the buffers of `kernel` and adds the rest of the contract.
  KernelContract write(KernelAttrInterface kernel);

private:
  KernelContract contract;
  std::map<int, ParamRange> limits;
};

/// Returns the form of the cache entries of `width` elements that `kernel`
/// takes.
template <typename KernelT>
CacheEntries entriesOf(KernelT kernel, int64_t width) {
  return {kernel.getPage(), width, kernel.getCacheHeads(), kernel.getDtype()};
}

/// Checks that elements are cache elements, and that an entry is divided evenly
/// among its heads.
LogicalResult verifyEntries(KernelErrorFn emitError, const CacheEntries &cache);
/// Also checks a kernel with `heads` key heads, the value of its parameter
/// `name`: the entry is divided among these heads or, without scales, not at
/// all.
LogicalResult verifyEntryHeads(KernelErrorFn emitError,
                               const CacheEntries &cache, int64_t heads,
                               llvm::StringRef name);
/// Checks that columns [offset, offset + width) lie in an entry and are a piece
/// of each head's share. The names are the names of the parameters.
LogicalResult verifyInEntry(KernelErrorFn emitError, const CacheEntries &cache,
                            int64_t offset, int64_t width,
                            llvm::StringRef offsetName,
                            llvm::StringRef widthName);
/// Checks that the rotated columns lie in a head of `width`, called `name`.
LogicalResult verifyRotated(KernelErrorFn emitError, RotationAttr rotation,
                            int64_t width, llvm::StringRef name);
/// Checks that panels of `k` inputs can be in the order of tensor cores, if
/// `fragments` is true.
LogicalResult verifyFragments(KernelErrorFn emitError, FormatAttr format,
                              int64_t k, bool fragments);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_KERNELFAMILY_H
