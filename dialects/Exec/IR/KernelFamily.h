//===- KernelFamily.h - How a kernel describes its buffers ------*- C++ -*-===//
//
// Each kind lists its buffers with the bytes that it may touch (`describe` in
// Exec*Kernels.cpp). Signatures, contracts and tasks all follow from that;
// passes, verifiers and the artifact ask for them by the functions of
// KernelKinds.h and KernelContract.h. Targets bring the emitters.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_EXEC_IR_KERNELFAMILY_H
#define MTP_DIALECTS_EXEC_IR_KERNELFAMILY_H

#include "dialects/Exec/IR/ExecAttrs.h"
#include "dialects/Exec/IR/KernelContract.h"
#include <map>

namespace mlir::exec {

/// No param is larger than this: rows, slots, positions and their likes.
inline constexpr int64_t kMostParam = int64_t(1) << 30;

/// Bytes that a thread of a GPU loads at once, from a multiple of as many.
inline constexpr int64_t kPieceBytes = 16;

/// Writes one contract, buffer after buffer in their order.
class ContractWriter {
public:
  /// The params, p0 being the rows or slots.
  const Extent p0 = Extent::param(0), p1 = Extent::param(1),
               p2 = Extent::param(2);

  /// A number of rows that numbers of the kernel's input lead to, by its name
  /// in the kernel: without one nothing is known of the buffer.
  int64_t limitOf(llvm::StringRef name, int64_t rows);

  BufferContract &bytes(const Extent &extent) {
    contract.buffers.push_back({extent});
    return contract.buffers.back();
  }
  /// So many elements of 32 bits.
  BufferContract &words(const Extent &count) { return bytes(count * 4); }
  /// Rows of `width` elements of 32 bits, `stride` elements apart, or side by
  /// side where that is 0.
  BufferContract &rows(const Extent &count, int64_t stride, int64_t width,
                       int64_t offset = 0) {
    return words((count - 1) * strideOr(stride, width) + width + offset);
  }
  /// The same of what a product multiplies by a weight, perhaps in fragments:
  /// tensor cores take a row in pieces of 16 bytes.
  BufferContract &multiplied(const Extent &count, int64_t stride, int64_t width,
                             bool fragments) {
    BufferContract &buffer = rows(count, stride, width);
    if (fragments)
      buffer.alignment = kPieceBytes;
    return buffer;
  }
  /// `stack` packed matrices of k inputs and n outputs in panels of `width`.
  void weight(FormatAttr format, int64_t width, int64_t k, int64_t n,
              int64_t stack = 1, bool gated = false);
  /// A table of angles for the columns that are turned, of so many positions,
  /// and the rows' rotary positions.
  void angles(RotationAttr rotation, int64_t positions);
  /// The numbers of pages of so many slots, as many for each as the second
  /// param says.
  void pageTable(int64_t slots);
  /// A layer's pages.
  BufferContract &pages(CacheEntries entries);
  /// What finds the entries of rows: slots, positions, the page table and a
  /// layer's pages, which are returned.
  BufferContract &cache(CacheEntries entries, int64_t slots);
  /// One param must lie in [least, most].
  void limit(int param, int64_t least, int64_t most) {
    limits[param] = {least, most};
  }
  /// Of a builtin: so many buffers, the last `outputs` of them results.
  void builtin(int64_t buffers, int64_t outputs);

  /// What is listed.
  llvm::ArrayRef<BufferContract> buffers() const { return contract.buffers; }
  /// Lists the buffers of `kernel` and adds the rest of the contract.
  KernelContract write(KernelAttrInterface kernel);

private:
  KernelContract contract;
  std::map<int, ParamRange> limits;
};

/// What `kernel` reads of a cache with entries of `width` elements.
template <typename KernelT>
CacheEntries entriesOf(KernelT kernel, int64_t width) {
  return {kernel.getPage(), width, kernel.getCacheHeads(),
          kernel.getDtype().isBF16()};
}

/// Reports unless elements are those of a cache, and an entry of `width` is
/// divided evenly among its heads.
LogicalResult verifyEntries(KernelErrorFn emitError, const CacheEntries &cache,
                            Type elements);
/// The same for a kernel that has `heads` key heads, a parameter `name`: the
/// entry is divided among these or not at all.
LogicalResult verifyEntryHeads(KernelErrorFn emitError,
                               const CacheEntries &cache, int64_t heads,
                               llvm::StringRef name);
/// Reports unless columns [offset, offset + width) lie in an entry and are a
/// piece of each head's share; the names are those of the parameters.
LogicalResult verifyInEntry(KernelErrorFn emitError, const CacheEntries &cache,
                            int64_t offset, int64_t width,
                            llvm::StringRef offsetName,
                            llvm::StringRef widthName);
/// Reports unless the rotated columns lie in a head of `width`, called `name`.
LogicalResult verifyRotated(KernelErrorFn emitError, RotationAttr rotation,
                            int64_t width, llvm::StringRef name);
/// Reports unless panels of `k` inputs can be in the order of tensor cores,
/// where they are.
LogicalResult verifyFragments(KernelErrorFn emitError, FormatAttr format,
                              int64_t k, bool fragments);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_KERNELFAMILY_H
