//===- LoopImage.h - The compiler's kernels around rounds -------*- C++ -*-===//

#ifndef MTP_TEST_CUDA_LOOPIMAGE_H
#define MTP_TEST_CUDA_LOOPIMAGE_H

#include <string>

namespace mtp::test {

/// Returns a module with the kernels of runtime/schema/DeviceLoop.h, as text.
std::string loopKernels();

} // namespace mtp::test

#endif // MTP_TEST_CUDA_LOOPIMAGE_H
