//===- GemmLibrary.h - cuBLASLt, found at run time --------------*- C++ -*-===//
//
// Products that a plan leaves to the library of the GPU's vendor. This header
// does not use the library's headers. Without them, the library has no
// products.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_GEMMLIBRARY_H
#define MTP_RUNTIME_DEVICE_CUDA_GEMMLIBRARY_H

#include "runtime/device/cuda/CudaContext.h"

#include <compare>

namespace mtp {

/// y = x w^T, see schema::Gemm.
struct GemmShape {
  uint32_t rows = 0, outputs = 0, inputs = 0;
  uint64_t workspace = 0;

  auto operator<=>(const GemmShape &) const = default;
};

struct GemmBuffers {
  CUdeviceptr x = 0, weight = 0, y = 0, workspace = 0;
};

/// The library with the algorithm for one product.
class GemmProduct {
public:
  virtual ~GemmProduct() = default;
  /// Adds the product to a stream, or to the graph that captures the stream.
  virtual Status enqueue(const GemmBuffers &buffers, CUstream stream) = 0;
};

class GemmLibrary {
public:
  virtual ~GemmLibrary() = default;

  /// Opens the library that the environment variable MTP_CUBLASLT names, else
  /// the one that the driver contains, else libcublasLt.so.13. The context must
  /// be current in the calling thread.
  static Result<std::shared_ptr<GemmLibrary>>
  open(const std::shared_ptr<CudaContext> &context);

  /// Returns the name and version, such as "cuBLASLt 13.1.0".
  virtual std::string name() const = 0;
  /// Result of cublasLtGetVersion.
  virtual uint64_t version() const = 0;

  /// Returns at most `most` algorithms for a product, in the library's order of
  /// expected speed. Each one consists of the words of a cublasLtMatmulAlgo_t.
  virtual Result<std::vector<std::vector<uint64_t>>>
  algorithms(const GemmShape &shape, uint32_t most) = 0;
  /// Makes a product with an algorithm. Fails if the library refuses the
  /// algorithm, or if it needs more than the workspace.
  virtual Result<std::unique_ptr<GemmProduct>>
  make(const GemmShape &shape, std::span<const uint64_t> algorithm) = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_GEMMLIBRARY_H
