//===- Compiler.h - Compile a module with tunables --------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_TUNE_COMPILER_H
#define MTP_TOOLS_MTP_TUNE_COMPILER_H

#include "runtime/core/Result.h"

#include <memory>
#include <string>
#include <vector>

namespace mtp::tune {

/// Runs mtpc on one module. mtpc finds unchanged kernels in its cache.
class Compiler {
public:
  /// Finds mtpc and makes a folder for artifacts. `flags` are further flags of
  /// mtpc.
  static Result<std::unique_ptr<Compiler>>
  create(const std::string &module, std::vector<std::string> flags);
  /// Removes the folder with its artifacts.
  ~Compiler();

  /// Compiles with values of tunables, "NAME=VALUE". Returns the path of the
  /// artifact, which is `name` in the folder.
  Result<std::string> compile(const std::string &name,
                              const std::vector<std::string> &tuned);

private:
  Compiler() = default;

  std::string program, module, folder;
  std::vector<std::string> flags;
};

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_COMPILER_H
