//===- LibraryChoice.h - Who multiplies the rows of prompts -----*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_PROGRAM_LIBRARYCHOICE_H
#define MTP_RUNTIME_EXEC_PROGRAM_LIBRARYCHOICE_H

#include "runtime/device/Device.h"
#include "runtime/exec/program/ProgramTable.h"

namespace mtp {

struct LibraryChoice {
  /// Rows of the chunks whose products a library computes; 0: of none.
  uint32_t rows = 0;
  /// For people: "own kernels", "cuBLASLt 13.1.0 for whole chunks of 128 rows".
  std::string kernels;
};

/// Products of whole chunks are the library's where the artifact has programs
/// for that, chunks are that large, nobody asks for the same bits in any case,
/// and the machine has the library, which it is asked for.
LibraryChoice chooseLibrary(const ProgramTable &programs,
                            Executable &executable, uint32_t chunk,
                            bool deterministic);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROGRAM_LIBRARYCHOICE_H
