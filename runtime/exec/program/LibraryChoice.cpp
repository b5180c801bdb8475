//===- LibraryChoice.cpp - Who multiplies the rows of prompts -------------===//

#include "runtime/exec/program/LibraryChoice.h"
#include "runtime/core/StrCat.h"

using namespace mtp;

LibraryChoice mtp::chooseLibrary(const ProgramTable &programs,
                                 Executable &executable, uint32_t chunk,
                                 bool deterministic) {
  uint32_t rows = programs.libraryRows();
  auto own = [](const auto &...why) {
    return LibraryChoice{0, strCat("own kernels", why...)};
  };
  if (rows == 0)
    return own();
  if (deterministic)
    return own(" (deterministic)");
  if (chunk < rows)
    return own(" (chunks of less than ", rows, " rows)");
  Result<std::string> name = executable.useLibrary();
  if (!name)
    return own(" (", name.status().message(), ")");
  return {rows, strCat(*name, " for whole chunks of ", rows, " rows")};
}
