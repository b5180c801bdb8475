//===- KernelContract.h - Bytes that a kernel accesses ----------*- C++ -*-===//
//
// The contract of a kernel: the bytes of each buffer that a dispatch may read
// or write, as a function of its params. It also gives the allowed params, the
// number of tasks, and the required form of a cache. Each kind states its
// contract beside its op (KernelFamily.h). The artifact carries the contract
// (`Contract` in mtp_artifact.fbs), and the loader checks every command against
// it. The verifier of dispatches checks it, too. The emitters in
// compiler/Codegen must not access more: their tests give each kernel buffers
// of exactly these bytes, which end before a page that faults.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_EXEC_IR_KERNELCONTRACT_H
#define MTP_DIALECTS_EXEC_IR_KERNELCONTRACT_H

#include "dialects/Exec/IR/CacheElements.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::exec {

/// A sum of products of a factor and at most two params of a dispatch.
class Extent {
public:
  struct Term {
    int64_t factor;
    /// Indices of params, ascending, -1 for none; -1 comes last.
    int first = -1, second = -1;
  };

  Extent(int64_t constant = 0);
  static Extent param(int index);

  friend Extent operator+(const Extent &a, const Extent &b);
  friend Extent operator-(const Extent &a, const Extent &b);
  friend Extent operator*(const Extent &a, const Extent &b);

  llvm::ArrayRef<Term> terms() const { return sum; }
  /// Returns the value for these params, or nothing if it does not fit 64 bits.
  std::optional<int64_t> evaluate(llvm::ArrayRef<int64_t> params) const;
  /// Returns whether a factor did not fit 64 bits.
  bool hasOverflowed() const { return overflowed; }

private:
  void add(Term term);

  llvm::SmallVector<Term, 3> sum;
  bool overflowed = false;
};

/// The form of a cache's entries.
struct CacheEntries {
  int64_t page, width, heads;
  /// f32, bf16 or i8.
  Type element;

  bool operator==(const CacheEntries &) const = default;
  /// Returns the number of elements that are not scales.
  int64_t columns() const {
    return width -
           (hasScales(element) ? heads * int64_t(::mtp::kEntryScaleBytes) : 0);
  }
  /// Returns "page 16, entry 80, heads 1, bf16".
  std::string describe() const;
};

struct BufferContract {
  /// Largest number of bytes accessed, from the start; nothing for a cache, see
  /// `entries`.
  Extent bytes;
  bool isWritten = false;
  /// Whether the buffer is one of the results, which come last.
  bool isResult = false;
  int64_t alignment = 4;
  /// Whether its values are page numbers, which the kernel uses unchecked: only
  /// the host or the compiler may have written them.
  bool isPageTable = false;
  std::optional<CacheEntries> entries;

  void update() { isWritten = true; }
  void result() { isWritten = isResult = true; }
};

struct ParamRange {
  int64_t least, most;
};

struct KernelContract {
  /// Missing or too large parameters, without which the rest is not valid;
  /// empty if there is no error.
  std::string error;
  llvm::SmallVector<BufferContract, 8> buffers;
  llvm::SmallVector<ParamRange, 3> params;
  TaskShape tasks;
};

/// Returns the contract of a kernel without a body; nothing for a builtin,
/// which the runtime checks.
std::optional<KernelContract> kernelContract(KernelAttrInterface kernel);

class KernelOp;

/// Returns the contract of a kernel, or of its body if it has one.
std::optional<KernelContract> kernelContract(KernelOp kernel);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_KERNELCONTRACT_H
