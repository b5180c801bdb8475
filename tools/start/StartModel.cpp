//===- StartModel.cpp - From a model's files to an artifact ---------------===//
//
// The key of an artifact covers:
//   - the content of mtp-import and mtpc
//   - this processor's features and the number of usable processors, which the
//     defaults of mtpc go by
//   - all flags of both programs; of --profile only the content of its file
//   - names and contents of the files of the model and the drafter, and of each
//     file that a flag names
// Contents are digests of whole files (runtime/cache/ContentIndex).
//
// mtp-import wants weights in the folder of its output or below. It therefore
// reads through links in the work folder, and its messages get the user's paths
// back.
//
//===----------------------------------------------------------------------===//

#include "tools/start/StartModel.h"

#include "runtime/artifact/CpuFeatures.h"
#include "runtime/cache/CacheFolder.h"
#include "runtime/cache/ContentIndex.h"
#include "runtime/core/Processors.h"
#include "runtime/core/StrCat.h"
#include "tools/start/Child.h"
#include "tools/start/Format.h"
#include "tools/start/ModelFiles.h"
#include "tools/start/Words.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <unistd.h>

using namespace mtp;
using namespace mtp::start;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

/// Changes when the key or the commands change.
constexpr std::string_view kKeyVersion = "mtpc model 1";
/// The artifact in the work folder.
constexpr const char *kMade = "/model.bin";
/// Files of a model from this size on take a while to read.
constexpr uint64_t kLargeBytes = uint64_t(1) << 30;

/// Texts of a message and the texts that replace them.
using Replacements = std::vector<std::pair<std::string, std::string>>;

/// One start of a model.
class Start {
public:
  Start(const std::string &tool, const std::string &path,
        const StartOptions &options, const StartHost *host)
      : tool(tool), path(path), options(options), host(host) {}

  Result<StartedModel> run();

private:
  Status findPrograms();
  Status readWords();
  Status openModels();
  void listFiles();
  Result<cache::Digest> computeKey();
  bool load(const cache::Digest &key);
  Status compile(const cache::Digest &key,
                 const std::vector<cache::FileStamp> &stamps);
  Status make(cache::FileMaker &maker);
  Result<std::string> link(const std::string &work, const std::string &name,
                           const std::string &target);
  Status runProgram(const Words &command, bool filters);
  std::string describe() const;
  void print(const std::string &line) const {
    if (host)
      host->onLine(line);
    else
      std::fputs(line.c_str(), stderr);
  }
  void say(const std::string &text) const {
    print(strCat(tool, ": ", text, "\n"));
  }

  const std::string &tool;
  const std::string &path;
  const StartOptions &options;
  /// Null: this process has one thread.
  const StartHost *host;
  std::string importer, compiler;
  Words importWords, compileWords;
  std::vector<ModelFile> files;
  Replacements replacements;
  std::string folder;
  std::unique_ptr<cache::FileCache> models;
  std::optional<cache::UsedFile> used;
  /// The signal that ended a program; 0: none.
  int interrupt = 0;
};

/// Returns the name of a model for people. A hub's cache has it above the
/// folder of a revision: models--ORGANISATION--NAME/snapshots/REVISION.
std::string nameOf(const std::string &path) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error).lexically_normal();
  if (!whole.has_filename())
    whole = whole.parent_path();
  fs::path snapshots = whole.parent_path();
  std::string model = snapshots.parent_path().filename().string();
  if (snapshots.filename() == "snapshots" && model.starts_with("models--"))
    return model.substr(model.rfind("--") + 2);
  return fs::is_directory(whole, error) ? whole.filename().string()
                                        : whole.stem().string();
}

bool isMethod(std::string_view drafter) {
  std::string_view name = drafter.substr(0, drafter.find(':'));
  return name == "lookup" || name == "suffix" || name == "lookahead";
}

/// Fails if a word is one of the flags that this program sets itself.
Status refuseWords(const Words &words, std::string_view flag,
                   std::initializer_list<std::string_view> refused) {
  for (const std::string &word : words) {
    std::string_view name = std::string_view(word).substr(0, word.find('='));
    if (!name.starts_with('-'))
      continue;
    name.remove_prefix(name.starts_with("--") ? 2 : 1);
    for (std::string_view each : refused)
      if (name == each)
        return invalidArgument(
            strCat("expected no -", each.size() > 1 ? "-" : "", each, " in ",
                   flag, each == "o" ? "" : ": it is a flag here"));
  }
  return okStatus();
}

Status splitFlags(const StartOptions &options, Words &import, Words &compile) {
  auto words = splitWords(options.import);
  if (!words)
    return words.status().withContext("--import");
  import = std::move(*words);
  auto others = splitWords(options.compile);
  if (!others)
    return others.status().withContext("--compile");
  compile = std::move(*others);
  MTP_RETURN_IF_ERROR(refuseWords(
      import, "--import", {"o", "drafter", "max-context", "max-batch"}));
  return refuseWords(compile, "--compile", {"o", "quantize"});
}

std::string replaceAll(std::string text, const Replacements &replacements) {
  for (const auto &[from, to] : replacements)
    for (size_t at = 0; (at = text.find(from, at)) != text.npos;
         at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

} // namespace

Status Start::findPrograms() {
  for (auto [name, found] :
       {std::pair("mtp-import", &importer), std::pair("mtpc", &compiler)}) {
    *found = findProgram(name, host ? host->programs : "");
    if (found->empty())
      return failedPrecondition(strCat(
          "expected ", name, " beside ", tool, " or in PATH, to compile \"",
          path, "\", got none; the Debian package mtpc contains it"));
  }
  return okStatus();
}

Status Start::readWords() {
  Words import, compile;
  MTP_RETURN_IF_ERROR(splitFlags(options, import, compile));
  if (options.maxContext)
    importWords.push_back(strCat("--max-context=", *options.maxContext));
  if (options.maxBatch)
    importWords.push_back(strCat("--max-batch=", options.maxBatch));
  if (!options.quantize.empty())
    compileWords.push_back(strCat("--quantize=", options.quantize));
  importWords.insert(importWords.end(), import.begin(), import.end());
  compileWords.insert(compileWords.end(), compile.begin(), compile.end());
  return okStatus();
}

/// Returns the part of a word that the key covers. The file of a profile counts
/// by its content alone.
static std::string_view keyPart(std::string_view word) {
  constexpr std::string_view kProfile = "--profile=";
  return word.starts_with(kProfile) ? kProfile : word;
}

Result<cache::Digest> Start::computeKey() {
  cache::ContentIndex index(models->descriptor());
  uint64_t unread = 0;
  for (const ModelFile &file : files) {
    std::error_code error;
    if (index.needsReading(file.path))
      unread += fs::file_size(file.path, error);
  }
  if (unread >= kLargeBytes)
    say(strCat("reads ", sizeText(unread), " to know the model again"));
  cache::Hasher key;
  key.add(kKeyVersion);
  for (const std::string &program : {importer, compiler}) {
    MTP_ASSIGN_OR_RETURN(cache::Digest digest, index.digest(program));
    key.update(digest.data(), digest.size());
  }
  key.add(hostProcessor());
  key.add(strCat(usableProcessors()));
  key.add(isMethod(options.drafter) ? options.drafter : "");
  for (const Words &words : {importWords, compileWords}) {
    key.add(strCat(words.size()));
    for (const std::string &word : words)
      key.add(keyPart(word));
  }
  for (const ModelFile &file : files) {
    MTP_ASSIGN_OR_RETURN(cache::Digest digest, index.digest(file.path));
    key.add(file.name);
    key.update(digest.data(), digest.size());
  }
  index.save();
  return key.digest();
}

/// Makes the link `name` in the work folder, to a folder or to the folder of a
/// file. Returns the path of `target` through the link.
Result<std::string> Start::link(const std::string &work,
                                const std::string &name,
                                const std::string &target) {
  std::error_code error;
  bool isFolder = fs::is_directory(target, error);
  fs::path folder =
      isFolder ? fs::path(target) : fs::path(target).parent_path();
  fs::path real = fs::canonical(folder.empty() ? "." : folder, error);
  std::string linked = strCat(work, "/", name);
  if (!error)
    fs::create_directory_symlink(real, linked, error);
  if (error)
    return failedPrecondition(
        strCat("cannot link \"", target, "\": ", error.message()));
  if (isFolder) {
    replacements.emplace_back(linked, target);
    return linked;
  }
  replacements.emplace_back(linked + "/",
                            folder.empty() ? "" : folder.string() + "/");
  return strCat(linked, "/", fs::path(target).filename().string());
}

/// Runs a program to its end. `filters`: its messages get the user's paths.
Status Start::runProgram(const Words &command, bool filters) {
  std::function<void(std::string)> onLine;
  if (filters || host)
    onLine = [this](std::string line) {
      print(replaceAll(std::move(line), replacements));
    };
  MTP_ASSIGN_OR_RETURN(ChildEnd end,
                       host ? runCancellable(command, onLine, host->isCancelled)
                            : runChild(command, onLine));
  std::string name = fs::path(command[0]).filename().string();
  interrupt = end.interrupt;
  if (interrupt)
    return unavailable(name + " was interrupted");
  if (end.signal)
    return failedPrecondition(strCat(name, " was ended by signal ", end.signal,
                                     " (", ::strsignal(end.signal), ")"));
  if (end.status)
    return failedPrecondition(strCat(name, " failed on \"", path,
                                     "\" (exit status ", end.status, ")"));
  return okStatus();
}

Status Start::make(cache::FileMaker &maker) {
  const std::string &work = maker.folder();
  std::string module = work + "/model.mlir", made = work + kMade;
  MTP_ASSIGN_OR_RETURN(std::string model, link(work, "model", path));
  Words import = {importer, model, "-o", module};
  if (isMethod(options.drafter)) {
    import.push_back("--drafter=" + options.drafter);
  } else if (!options.drafter.empty()) {
    MTP_ASSIGN_OR_RETURN(std::string drafter,
                         link(work, "drafter", options.drafter));
    import.push_back("--drafter=" + drafter);
  }
  import.insert(import.end(), importWords.begin(), importWords.end());
  say(strCat("imports and compiles \"", path,
             "\" once; later starts load the result"));
  MTP_RETURN_IF_ERROR(runProgram(import, /*filters=*/true));
  Words compile = {compiler, module, "-o", made};
  compile.insert(compile.end(), compileWords.begin(), compileWords.end());
  // mtpc shows a bar on a terminal only.
  MTP_RETURN_IF_ERROR(runProgram(compile, !::isatty(STDERR_FILENO)));
  if (kindOf(made) != PathKind::Artifact)
    return invalidArgument(
        "--compile: expected flags with which mtpc writes an "
        "artifact, got none");
  return okStatus();
}

/// Returns a line for the list of the cache.
std::string Start::describe() const {
  std::error_code error;
  std::string text = fs::absolute(path, error).lexically_normal().string();
  if (!options.drafter.empty())
    text += " --drafter=" + options.drafter;
  for (const Words &words : {importWords, compileWords})
    for (const std::string &word : words)
      text += " " + word;
  return text;
}

Status Start::openModels() {
  folder = cache::defaultFolder("models");
  if (folder.empty())
    return failedPrecondition("expected a folder for compiled models, in "
                              "XDG_CACHE_HOME or HOME, got none");
  auto opened = cache::FileCache::open(
      folder, uint64_t(options.cacheGiB.value_or(kDefaultCacheGiB)) << 30);
  if (!opened)
    return opened.status().withContext(
        "compiled models need a folder (XDG_CACHE_HOME names another one)");
  models = std::move(*opened);
  return okStatus();
}

void Start::listFiles() {
  files = listModelFiles(path);
  if (!options.drafter.empty() && !isMethod(options.drafter))
    appendNamedFiles({options.drafter}, files);
  appendNamedFiles(importWords, files);
  appendNamedFiles(compileWords, files);
}

/// Takes the artifact from the cache, if it is there.
bool Start::load(const cache::Digest &key) {
  used = models->find(key);
  if (used)
    say(strCat("loads the artifact of \"", path, "\" from the cache (",
               sizeText(used->description.bytes), ", compiled ",
               dateText(used->description.made), ")"));
  return used.has_value();
}

/// Compiles the model into the cache, unless another process does.
Status Start::compile(const cache::Digest &key,
                      const std::vector<cache::FileStamp> &stamps) {
  auto begin = std::chrono::steady_clock::now();
  MTP_ASSIGN_OR_RETURN(cache::FileMaker maker, models->make(key, [this] {
    say("waits for another process that compiles this model");
  }));
  if (load(key))
    return okStatus();
  MTP_RETURN_IF_ERROR(make(maker));
  if (stampsOf(files) != stamps)
    return failedPrecondition(strCat(
        "\"", path, "\" was changed while it was compiled; start again"));
  MTP_ASSIGN_OR_RETURN(
      used, models->commit(maker, maker.folder() + kMade, describe()));
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::array<char, 32> seconds;
  std::snprintf(seconds.data(), seconds.size(), "%.1f s", time.count());
  say(strCat("compiled in ", seconds.data(), ": ",
             sizeText(used->description.bytes), " in ", folder));
  models->trim();
  return okStatus();
}

Result<StartedModel> Start::run() {
  MTP_RETURN_IF_ERROR(findPrograms());
  MTP_RETURN_IF_ERROR(readWords());
  MTP_RETURN_IF_ERROR(openModels());
  listFiles();
  std::vector<cache::FileStamp> stamps = stampsOf(files);
  MTP_ASSIGN_OR_RETURN(cache::Digest key, computeKey());
  if (!load(key)) {
    Status status = compile(key, stamps);
    // The work folder and the lock are gone by now.
    if (interrupt && !host)
      endBySignal(interrupt);
    MTP_RETURN_IF_ERROR(status);
  }
  StartedModel artifact{used->path, nameOf(path), {}};
  artifact.cached = std::move(used);
  return artifact;
}

bool start::isModelKind(PathKind kind) {
  switch (kind) {
  case PathKind::Missing:
  case PathKind::Artifact:
  case PathKind::File:
  case PathKind::Other:
    return false;
  default:
    return true;
  }
}

Status start::checkStart(const std::string &path, const StartOptions &options) {
  if (isModelKind(kindOf(path))) {
    Words import, compile;
    return splitFlags(options, import, compile);
  }
  std::pair<std::string_view, bool> flags[] = {
      {"--drafter", !options.drafter.empty()},
      {"--max-context", options.maxContext.has_value()},
      {"--quantize", !options.quantize.empty()},
      {"--import", !options.import.empty()},
      {"--compile", !options.compile.empty()},
      {"--cache-size", options.cacheGiB.has_value()}};
  for (auto [flag, isGiven] : flags)
    if (isGiven)
      return invalidArgument(
          strCat("expected a model's folder or a GGUF file for ", flag,
                 ", got \"", path, "\""));
  return okStatus();
}

Result<StartedModel> start::findArtifact(const std::string &tool,
                                         const std::string &path,
                                         const StartOptions &options,
                                         const StartHost *host) {
  if (!isModelKind(kindOf(path)))
    return StartedModel{path, nameOf(path), {}};
  MTP_RETURN_IF_ERROR(checkPath(path, PathUse::Start));
  return Start(tool, path, options, host).run();
}
