//===- ImageChoice.h - Which code a GPU can run -----------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_IMAGECHOICE_H
#define MTP_RUNTIME_DEVICE_CUDA_IMAGECHOICE_H

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Result.h"

#include <string>

namespace mtp {

/// What runs the kernels of a plan: a GPU of some compute capability.
struct CudaMachine {
  int major = 0, minor = 0;
  /// The driver whose hosted images it loads; empty: cubins and PTX.
  std::string driver;
};

/// The segment of an image of a verified plan that a machine can load: a cubin
/// for the very chip, else PTX for this compute capability or a lower one.
/// FailedPrecondition where there is neither, or the plan is for another
/// machine.
Result<uint32_t> chooseSegment(const Plan &plan, const schema::Image &image,
                               const CudaMachine &machine);

/// The index of the plan that a machine runs best. NotFound where the artifact
/// has none for such a machine; a plan for another chip is one, and
/// chooseSegment() says what is wrong with it.
Result<uint32_t> choosePlan(const Artifact &artifact,
                            const CudaMachine &machine);

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_IMAGECHOICE_H
