//===- KernelFamily.h - How a family's kernels are described ----*- C++ -*-===//
//
// A kernel family has its op in Exec*Ops.td and, in Exec*Kernels.cpp beside it,
// the kinds of kernels that the op becomes: an entry for each with its params,
// how its work divides, and a function that lists its buffers with the bytes
// that it may touch. Signatures, contracts and tasks all follow from these
// entries; passes, verifiers and the artifact ask for them by the functions of
// KernelKinds.h and KernelContract.h. Targets bring the emitters.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_EXEC_IR_KERNELFAMILY_H
#define MTP_DIALECTS_EXEC_IR_KERNELFAMILY_H

#include "dialects/Exec/IR/KernelContract.h"
#include <map>

namespace mlir::exec {

/// No param is larger than this: rows, slots, positions and their likes.
inline constexpr int64_t kMostParam = int64_t(1) << 30;

/// Bytes that a thread of a GPU loads at once, from a multiple of as many.
inline constexpr int64_t kPieceBytes = 16;

class ContractWriter;

/// How a kind's work divides into tasks.
enum class Division {
  /// One task per row: the first param. A task reads and writes its own row of
  /// every activation.
  Rows,
  /// One task per row, which reads other rows, too.
  GatheredRows,
  /// One task per slot of the batch: the first param.
  Slots,
  /// A task for each row and stretch of the vocabulary, which is the second
  /// param.
  RowStretches,
  /// As `shape` says.
  Other,
};

/// One kind of kernel.
struct KernelKind {
  llvm::StringLiteral name;
  /// 64-bit scalars.
  int64_t params;
  Division division;
  /// Lists the buffers in binding order: inputs, among them those updated in
  /// place, and then the results. Which ones are updated does not depend on the
  /// configuration. Null for a builtin of the runtime, which knows its
  /// contract.
  void (*describe)(ContractWriter &) = nullptr;
  /// The tasks of Division::Other.
  TaskShape (*shape)(DictionaryAttr config) = nullptr;
  /// Of a builtin.
  KernelSignature builtin = {};

  constexpr bool isBuiltin() const { return !describe; }
};

/// The entry of that name; null where there is none.
const KernelKind *findKernelKind(llvm::StringRef name);

// One array per family, defined beside its ops.
llvm::ArrayRef<KernelKind> attentionKernels();
llvm::ArrayRef<KernelKind> cacheKernels();
llvm::ArrayRef<KernelKind> expertKernels();
llvm::ArrayRef<KernelKind> productKernels();
llvm::ArrayRef<KernelKind> rowKernels();
llvm::ArrayRef<KernelKind> sampleKernels();
llvm::ArrayRef<KernelKind> stateKernels();

/// A buffer whose rows are found by numbers that the kernel reads, and the key
/// that says how many rows it has.
struct IndexedBuffer {
  llvm::StringRef key;
  size_t buffer;
};

/// Writes one contract, buffer after buffer in their order.
class ContractWriter {
public:
  ContractWriter(const KernelKind &kind, DictionaryAttr config)
      : kind(kind), config(config) {}

  /// The params, p0 being the rows or slots.
  const Extent p0 = Extent::param(0), p1 = Extent::param(1),
               p2 = Extent::param(2);

  /// An integer of the configuration that must be there, or one that may.
  int64_t need(llvm::StringRef key);
  int64_t get(llvm::StringRef key, int64_t absent) const;
  /// How many rows the next buffer has, whose rows the kernel finds by numbers
  /// that it reads: where the configuration does not say it, the buffer's type
  /// does (`addIndexLimits`).
  int64_t needIndexed(llvm::StringRef key);
  /// Panels of n outputs of the weight that the kernel streams.
  int64_t panels(int64_t n) const { return configPanels(config, n); }
  bool flag(llvm::StringRef key) const { return configInt(config, key) != 0; }
  llvm::StringRef text(llvm::StringRef key) const;

  BufferContract &bytes(const Extent &extent) {
    contract.buffers.push_back({extent});
    return contract.buffers.back();
  }
  /// So many elements of 32 bits.
  BufferContract &words(const Extent &count) { return bytes(count * 4); }
  /// Rows of `width` elements of 32 bits, `stride` elements apart.
  BufferContract &rows(const Extent &count, int64_t stride, int64_t width,
                       int64_t offset = 0) {
    return words((count - 1) * stride + width + offset);
  }
  /// The same of what a product multiplies: tensor cores take a row in pieces
  /// of 16 bytes.
  BufferContract &multiplied(const Extent &count, int64_t stride,
                             int64_t width) {
    BufferContract &buffer = rows(count, stride, width);
    if (flag("fragments"))
      buffer.alignment = kPieceBytes;
    return buffer;
  }
  /// `stack` packed matrices of k inputs and n outputs.
  void weight(int64_t k, int64_t n, int64_t stack = 1, bool gated = false);
  /// `count` rows of `width` elements, as they are.
  void table(int64_t width, int64_t count);
  /// A table of angles for `dim` columns, and the rows' rotary positions.
  void angles(int64_t dim);
  /// Slots' numbers of pages, as many for each as the second param says.
  void pageTable();
  /// A layer's pages.
  BufferContract &pages(int64_t entryWidth);
  /// What finds the entries of rows: slots, positions, the page table and a
  /// layer's pages, which are returned.
  BufferContract &cache(int64_t entryWidth);
  /// One param must lie in [least, most].
  void limit(int param, int64_t least, int64_t most) {
    limits[param] = {least, most};
  }

  /// Lists the buffers, once.
  void describe() { kind.describe(*this); }
  /// What is listed.
  llvm::ArrayRef<BufferContract> buffers() const { return contract.buffers; }
  llvm::ArrayRef<IndexedBuffer> indexedBuffers() const { return indexed; }
  /// Lists the buffers and adds the rest of the contract.
  KernelContract finish();

private:
  int64_t panelBytes(int64_t k) const;

  const KernelKind &kind;
  DictionaryAttr config;
  KernelContract contract;
  std::map<int, ParamRange> limits;
  llvm::SmallVector<IndexedBuffer, 2> indexed;
};

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_KERNELFAMILY_H
