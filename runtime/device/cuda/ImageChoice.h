//===- ImageChoice.h - Choice of the code that a GPU runs -------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_IMAGECHOICE_H
#define MTP_RUNTIME_DEVICE_CUDA_IMAGECHOICE_H

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Result.h"

#include <string>

namespace mtp {

/// Machine that runs the kernels of a plan: a GPU of some compute capability.
struct CudaMachine {
  int major = 0, minor = 0;
  /// Driver whose hosted images the machine loads. If empty, the machine loads
  /// cubins and PTX.
  std::string driver;
};

/// Returns the segment of an image of a verified plan that a machine can load:
/// a cubin for this chip, else PTX for this compute capability or a lower one.
/// Returns FailedPrecondition if there is neither, or if the plan is for
/// another machine.
Result<uint32_t> chooseSegment(const Plan &plan, const schema::Image &image,
                               const CudaMachine &machine);

/// Returns the index of the plan that a machine runs best. Returns NotFound if
/// the artifact has no plan for such a machine. A plan for another chip counts,
/// and chooseSegment() then reports what is wrong with it.
Result<uint32_t> choosePlan(const Artifact &artifact,
                            const CudaMachine &machine);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_IMAGECHOICE_H
