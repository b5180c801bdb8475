//===- Calibrate.cpp - Statistics of a text for the quantiser -------------===//
//
// The runtime is no part of the compiler, so the text is run by mtp-run. The
// temporary artifact comes from a second run of mtpc, because the flags of LLVM
// are global.
//
//===----------------------------------------------------------------------===//

#include "tools/mtpc/Calibrate.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using llvm::StringRef;
using mtp::compiler::CalibrationScore;

/// The number of texts that the model itself writes.
static constexpr const char *kSampledTexts = "32";

/// Bytes of the text that are scored: about 2,000 tokens.
static constexpr size_t kScoredBytes = 8192;

/// Runs a program. Its messages go to standard error, and its output to `out`
/// if that is not empty.
static mtp::Status runProgram(const std::string &program,
                              const std::vector<std::string> &arguments,
                              StringRef out = "") {
  std::vector<StringRef> line = {program};
  line.insert(line.end(), arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {std::nullopt, std::nullopt,
                                          std::nullopt};
  if (!out.empty())
    redirects[1] = out;
  std::string why;
  int code = llvm::sys::ExecuteAndWait(program, line, std::nullopt, redirects,
                                       0, 0, &why);
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

Calibrator::Folder::~Folder() {
  // The folder has an artifact of the size of the model.
  if (std::error_code error =
          llvm::sys::fs::remove_directories(path, /*IgnoreErrors=*/false))
    llvm::errs() << "mtpc: warning: cannot remove '" << path
                 << "': " << error.message() << '\n';
}

/// Compiles the model and runs the text.
mtp::Status Calibrator::run(const Calibration &calibration) {
  std::string artifact = folder->path + "/collect.bin";
  std::string moments = folder->path + "/moments.safetensors";
  std::vector<std::string> arguments = {calibration.model, "-o", artifact,
                                        "--collect-inputs"};
  arguments.insert(arguments.end(), calibration.flags.begin(),
                   calibration.flags.end());
  llvm::SmallString<128> compiler(calibration.programFolder);
  llvm::sys::path::append(compiler, "mtpc");
  MTP_RETURN_IF_ERROR(runProgram(std::string(compiler), arguments));
  bool isSelf = calibration.file == "self";
  MTP_RETURN_IF_ERROR(
      runProgram(runner, {artifact, "--collect-activations", moments,
                          isSelf ? "--sampled-texts" : "--prompt-file",
                          isSelf ? kSampledTexts : calibration.file}));
  MTP_ASSIGN_OR_RETURN(known, mtp::ActivationStatistics::open(moments));
  if (!isSelf)
    text = calibration.file;
  return mtp::okStatus();
}

mtp::Result<Calibrator> Calibrator::collect(const Calibration &calibration) {
  Calibrator calibrator;
  if (StringRef(calibration.file).ends_with(".safetensors")) {
    MTP_ASSIGN_OR_RETURN(calibrator.known,
                         mtp::ActivationStatistics::open(calibration.file));
    return calibrator;
  }
  if (calibration.model == "-")
    return mtp::invalidArgument("expected a model in a file with --calibrate, "
                                "got standard input");
  MTP_ASSIGN_OR_RETURN(calibrator.runner,
                       findRunner(calibration.programFolder));
  llvm::SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("mtpc-calibrate", folder))
    return mtp::unavailable("--calibrate: cannot create a temporary folder: " +
                            error.message());
  calibrator.folder.reset(new Folder{std::string(folder)});
  MTP_RETURN_IF_ERROR(calibrator.run(calibration));
  return calibrator;
}

/// Writes the begin of a text, up to a blank.
static mtp::Status writeBegin(const std::string &text,
                              const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(text);
  if (!buffer)
    return mtp::notFound("--calibrate: cannot read '" + text +
                         "': " + buffer.getError().message());
  StringRef begin = (*buffer)->getBuffer().take_front(kScoredBytes);
  if (begin.size() == kScoredBytes)
    begin = begin.take_front(begin.find_last_of(" \n"));
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  stream << begin;
  stream.close();
  error = error ? error : stream.error();
  stream.clear_error();
  return error ? mtp::unavailable("--calibrate: cannot write '" + path +
                                  "': " + error.message())
               : mtp::okStatus();
}

mtp::Result<std::optional<CalibrationScore>>
Calibrator::score(const std::string &artifact) const {
  std::optional<CalibrationScore> score;
  if (text.empty())
    return score;
  std::string begin = folder->path + "/begin.txt";
  std::string output = folder->path + "/score.json";
  MTP_RETURN_IF_ERROR(writeBegin(text, begin));
  MTP_RETURN_IF_ERROR(runProgram(runner,
                                 {artifact, "--perplexity", "--reference",
                                  folder->path + "/collect.bin",
                                  "--prompt-file", begin, "--json"},
                                 output));
  auto buffer = llvm::MemoryBuffer::getFile(output);
  llvm::Expected<llvm::json::Value> parsed =
      llvm::json::parse(buffer ? (*buffer)->getBuffer() : "");
  if (!parsed)
    return mtp::internalError("--calibrate: " +
                              llvm::toString(parsed.takeError()));
  const llvm::json::Object *object = parsed->getAsObject();
  auto number = [&](StringRef key) {
    std::optional<double> value =
        object ? object->getNumber(key) : std::nullopt;
    return value.value_or(0);
  };
  double after = number("perplexity"), ratio = number("perplexity_ratio");
  score = {int64_t(number("tokens")), ratio > 0 ? after / ratio : 0, after,
           number("divergence")};
  return score;
}
