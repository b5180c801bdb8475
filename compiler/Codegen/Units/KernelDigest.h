//===- KernelDigest.h - The digest of a kernel's operations -----*- C++ -*-===//
//
// Two kernels with one digest have equal operations, attributes, types and
// uses. Locations and names of values do not count. The digest does not depend
// on the process: it is part of the key of the kernel cache.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_UNITS_KERNELDIGEST_H
#define MTP_COMPILER_CODEGEN_UNITS_KERNELDIGEST_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include <array>
#include <cstdint>

namespace mtp::codegen {

using Digest = std::array<uint8_t, 32>;

/// Computes digests of operations. An object serves one thread and one context;
/// it remembers the digests of attributes and types.
class KernelDigester {
public:
  /// Returns the digest of `root` and everything in it.
  Digest digest(mlir::Operation *root);

  /// Returns the number of operations that the last call of `digest` visited.
  uint64_t operations() const { return count; }

private:
  using Short = std::array<uint8_t, 16>;

  void add(uint64_t number);
  void add(llvm::StringRef text);
  void add(mlir::Attribute attribute);
  void add(mlir::Type type);
  void addOperation(mlir::Operation &op);
  void addRegion(mlir::Region &region);
  void number(mlir::Value value);

  llvm::SmallVector<uint8_t, 0> text;
  llvm::DenseMap<mlir::Value, uint64_t> values;
  llvm::DenseMap<mlir::Block *, uint64_t> blocks;
  llvm::DenseMap<mlir::Attribute, Short> attributes;
  llvm::DenseMap<mlir::Type, Short> types;
  uint64_t count = 0;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_UNITS_KERNELDIGEST_H
