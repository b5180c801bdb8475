//===- LibraryChoice.h - Who multiplies the rows of prompts -----*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_PROGRAM_LIBRARYCHOICE_H
#define MTP_RUNTIME_EXEC_PROGRAM_LIBRARYCHOICE_H

#include "runtime/device/Device.h"
#include "runtime/exec/program/ProgramTable.h"

namespace mtp {

struct LibraryChoice {
  /// Rows of the chunks whose products a library computes; 0: of none.
  uint32_t rows = 0;
  /// Text for people: "own kernels", "cuBLASLt 13.1.0 for whole chunks of 128
  /// rows".
  std::string kernels;
};

/// Decides whether a library computes the products of whole chunks. It does if
/// the artifact has programs for that, chunks are that large, `deterministic`
/// is not set, and the machine has the library.
LibraryChoice chooseLibrary(const ProgramTable &programs,
                            Executable &executable, uint32_t chunk,
                            bool deterministic);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROGRAM_LIBRARYCHOICE_H
