//===- KernelContract.h - What a kernel may touch ---------------*- C++ -*-===//
//
// For every kernel: how many bytes of each buffer a dispatch may read or write,
// as a function of its params, which params it may have, into how many tasks it
// divides, and how the cache that it is given must look. Each kind says it
// beside its op (KernelFamily.h). The
// artifact carries it (`Contract` in mtp_artifact.fbs), and the loader checks
// every command against it; so does the verifier of dispatches for caches. What
// the emitters in compiler/Codegen do must not go beyond it: their tests give
// each kernel buffers of no more than these bytes, which end where a page
// faults.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_EXEC_IR_KERNELCONTRACT_H
#define MTP_DIALECTS_EXEC_IR_KERNELCONTRACT_H

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
  /// The value for these params, or nothing where it does not fit 64 bits.
  std::optional<int64_t> evaluate(llvm::ArrayRef<int64_t> params) const;
  /// Whether a factor did not fit 64 bits.
  bool hasOverflowed() const { return overflowed; }

private:
  void add(Term term);

  llvm::SmallVector<Term, 3> sum;
  bool overflowed = false;
};

/// How the entries of a cache look to a kernel.
struct CacheEntries {
  int64_t page, width, heads;
  /// f32 or bf16.
  bool isBF16;

  bool operator==(const CacheEntries &) const = default;
  /// "page 16, entry 80, heads 1, bf16".
  std::string describe() const;
};

struct BufferContract {
  /// Touched at most, from the start; of a cache nothing, see `entries`.
  Extent bytes;
  bool isWritten = false;
  /// Whether it is one of the results, which come last.
  bool isResult = false;
  int64_t alignment = 4;
  /// Whether its values are numbers of pages, which the kernel takes as they
  /// are: only the host may have written them, or the compiler.
  bool isPageTable = false;
  std::optional<CacheEntries> entries;

  void update() { isWritten = true; }
  void result() { isWritten = isResult = true; }
};

struct ParamRange {
  int64_t least, most;
};

struct KernelContract {
  /// What the kernel lacks, or has too large, for the rest to be true; empty
  /// where nothing is wrong.
  std::string error;
  llvm::SmallVector<BufferContract, 8> buffers;
  llvm::SmallVector<ParamRange, 3> params;
  TaskShape tasks;
};

/// The contract of a kernel without a body; nothing of a builtin, which is the
/// runtime's to check.
std::optional<KernelContract> kernelContract(KernelAttrInterface kernel);

class KernelOp;

/// The contract of a kernel, that of its body where it has one.
std::optional<KernelContract> kernelContract(KernelOp kernel);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_KERNELCONTRACT_H
