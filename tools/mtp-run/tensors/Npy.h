//===- Npy.h - NumPy files of one tensor ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_TENSORS_NPY_H
#define MTP_TOOLS_MTP_RUN_TENSORS_NPY_H

#include "mtp/tensor.h"
#include "runtime/core/Result.h"

#include <string>

namespace mtp {

/// Reads a little-endian .npy file in C order. Messages start with the path.
/// NumPy has no bf16; write such inputs as literals.
Result<Tensor> readNpy(const std::string &path);

/// Returns the bytes of a .npy file; bf16 becomes f32.
std::string npyText(const Tensor &tensor);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_TENSORS_NPY_H
