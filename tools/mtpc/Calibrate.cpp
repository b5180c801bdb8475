//===- Calibrate.cpp - Statistics of a text for the quantiser -------------===//
//
// The runtime is no part of the compiler, so the text is run by mtp-run. The
// temporary artifact comes from a second run of mtpc, because the flags of LLVM
// are global.
//
//===----------------------------------------------------------------------===//

#include "tools/mtpc/Calibrate.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using llvm::StringRef;

/// Runs a program. Its messages go to standard error.
static mtp::Status runProgram(const std::string &program,
                              const std::vector<std::string> &arguments) {
  std::vector<StringRef> line = {program};
  line.insert(line.end(), arguments.begin(), arguments.end());
  std::string why;
  int code =
      llvm::sys::ExecuteAndWait(program, line, std::nullopt, {}, 0, 0, &why);
  if (code == 0)
    return mtp::okStatus();
  return mtp::failedPrecondition(
      "--calibrate: '" + program + "' failed" +
      (why.empty() ? " with status " + std::to_string(code) : ": " + why));
}

/// Returns the path of mtp-run, beside the program or in PATH.
static mtp::Result<std::string> findRunner(const std::string &folder) {
  for (const std::vector<StringRef> &paths :
       {std::vector<StringRef>{folder}, std::vector<StringRef>()})
    if (auto found = llvm::sys::findProgramByName("mtp-run", paths))
      return *found;
  return mtp::notFound("--calibrate: expected mtp-run beside mtpc in '" +
                       folder +
                       "' or in PATH, which runs the text; the "
                       "package of the runtime has it");
}

mtp::Result<mtp::ActivationStatistics>
collectStatistics(const Calibration &calibration) {
  if (StringRef(calibration.file).ends_with(".safetensors"))
    return mtp::ActivationStatistics::open(calibration.file);
  if (calibration.model == "-")
    return mtp::invalidArgument("expected a model in a file with --calibrate, "
                                "got standard input");
  MTP_ASSIGN_OR_RETURN(std::string runner,
                       findRunner(calibration.programFolder));
  llvm::SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("mtpc-calibrate", folder))
    return mtp::unavailable("--calibrate: cannot create a temporary folder: " +
                            error.message());
  llvm::scope_exit cleanUp(
      [&] { (void)llvm::sys::fs::remove_directories(folder); });
  std::string artifact = std::string(folder) + "/collect.bin";
  std::string moments = std::string(folder) + "/moments.safetensors";
  std::vector<std::string> arguments = {calibration.model, "-o", artifact,
                                        "--collect-inputs"};
  arguments.insert(arguments.end(), calibration.flags.begin(),
                   calibration.flags.end());
  llvm::SmallString<128> compiler(calibration.programFolder);
  llvm::sys::path::append(compiler, "mtpc");
  MTP_RETURN_IF_ERROR(runProgram(std::string(compiler), arguments));
  MTP_RETURN_IF_ERROR(
      runProgram(runner, {artifact, "--collect-activations", moments,
                          "--prompt-file", calibration.file}));
  // The file stays mapped after it is removed.
  return mtp::ActivationStatistics::open(moments);
}
