//===- PlanGemms.h - The library's products of a plan -----------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_PLANGEMMS_H
#define MTP_RUNTIME_DEVICE_CUDA_PLANGEMMS_H

#include "runtime/artifact/Artifact.h"
#include "runtime/device/cuda/GemmLibrary.h"

#include <map>

namespace mtp {

/// Products of a plan. Each uses the algorithm that the plan has for library
/// and chip, else the library's first choice.
class PlanGemms {
public:
  static Result<std::unique_ptr<PlanGemms>>
  create(const std::shared_ptr<CudaContext> &context, const Plan &plan);

  /// Returns the product of a kernel for `rows` rows.
  GemmProduct *find(const schema::Gemm &gemm, int64_t rows) const;
  const GemmLibrary &library() const { return *source; }

private:
  PlanGemms() = default;
  Status add(const CudaContext &context, const Plan &plan, GemmShape shape);

  std::shared_ptr<GemmLibrary> source;
  std::map<GemmShape, std::unique_ptr<GemmProduct>> products;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_PLANGEMMS_H
