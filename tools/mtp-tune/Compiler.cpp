//===- Compiler.cpp - Compile a module with tunables ----------------------===//

#include "tools/mtp-tune/Compiler.h"
#include "runtime/core/StrCat.h"
#include "tools/start/Child.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

using namespace mtp;
using namespace mtp::tune;
namespace fs = std::filesystem;

Result<std::unique_ptr<Compiler>>
Compiler::create(const std::string &module, std::vector<std::string> flags) {
  std::unique_ptr<Compiler> compiler(new Compiler());
  compiler->program = start::findProgram("mtpc");
  if (compiler->program.empty())
    return failedPrecondition(strCat("expected mtpc beside mtp-tune or in "
                                     "PATH, to compile \"",
                                     module, "\", got none"));
  std::error_code error;
  std::string folder = (fs::temp_directory_path(error) / "mtp-tune-XXXXXX");
  if (!::mkdtemp(folder.data()))
    return resourceExhausted(strCat("cannot make the folder ", folder));
  compiler->folder = folder;
  compiler->module = module;
  compiler->flags = std::move(flags);
  return compiler;
}

Compiler::~Compiler() {
  std::error_code error;
  if (!folder.empty())
    fs::remove_all(folder, error);
}

Result<std::string> Compiler::compile(const std::string &name,
                                      const std::vector<std::string> &tuned) {
  std::string path = strCat(folder, "/", name, ".bin");
  std::vector<std::string> command = {program, module, "-o", path};
  command.insert(command.end(), flags.begin(), flags.end());
  for (const std::string &value : tuned)
    command.push_back(strCat("--tune=", value));
  std::string messages;
  MTP_ASSIGN_OR_RETURN(start::ChildEnd end,
                       start::runCancellable(
                           command, [&](std::string line) { messages += line; },
                           [] { return false; }));
  if (end.status == 0 && end.signal == 0)
    return path;
  if (end.signal)
    return internalError(strCat("mtpc was ended by signal ", end.signal));
  std::fputs(messages.c_str(), stderr);
  return failedPrecondition(strCat("mtpc could not compile \"", module, "\""));
}
