//===- GemmLibrary.h - cuBLASLt, found at run time --------------*- C++ -*-===//
//
// Products that a plan leaves to the library of the GPU's vendor. Knows nothing
// of the library's headers: without them every product is one that the library
// does not have.
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

/// The library, and the algorithm for one product.
class GemmProduct {
public:
  virtual ~GemmProduct() = default;
  /// Puts the product into a stream, or into the graph that the stream is
  /// captured to.
  virtual Status enqueue(const GemmBuffers &buffers, CUstream stream) = 0;
};

class GemmLibrary {
public:
  virtual ~GemmLibrary() = default;

  /// Opens what the variable MTP_CUBLASLT of the environment names, else what
  /// the driver brings itself, else libcublasLt.so.13. The
  /// context must be the calling thread's.
  static Result<std::shared_ptr<GemmLibrary>>
  open(std::shared_ptr<CudaContext> context);

  /// "cuBLASLt 13.1.0".
  virtual std::string name() const = 0;
  /// What cublasLtGetVersion says.
  virtual uint64_t version() const = 0;

  /// Algorithms for a product, at most so many, that which the library takes
  /// for the fastest first. Each is the words of a cublasLtMatmulAlgo_t.
  virtual Result<std::vector<std::vector<uint64_t>>>
  algorithms(const GemmShape &shape, uint32_t most) = 0;
  /// A product by an algorithm. Fails where the library refuses it, or it needs
  /// more than the workspace.
  virtual Result<std::unique_ptr<GemmProduct>>
  make(const GemmShape &shape, std::span<const uint64_t> algorithm) = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_GEMMLIBRARY_H
