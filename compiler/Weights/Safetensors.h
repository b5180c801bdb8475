//===- Safetensors.h - Reading safetensors files ----------------*- C++ -*-===//
//
// The format: eight bytes of header length (little endian), a JSON header of
// this length, then the tensors' bytes. A file is used only after all rules of
// the format have been checked; README.md lists them.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_SAFETENSORS_H
#define MTP_COMPILER_WEIGHTS_SAFETENSORS_H

#include "compiler/Weights/TensorEntry.h"
#include "runtime/core/Result.h"

#include <cstdint>
#include <span>
#include <string>

namespace mtp {

/// Checks the bytes of a whole file and returns its tensors. Never reads beyond
/// `bytes`, whatever they contain.
Result<TensorMap> parseSafetensors(std::span<const uint8_t> bytes);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_SAFETENSORS_H
