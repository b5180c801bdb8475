//===- gguf_mutants.cpp - GGUF files with one wrong structure -------------===//
//
//   mtp_gguf_mutants [--plant=memory|signal] COUNT WORK FILE...
//
// Makes COUNT mutants of GGUF files, copies under the folder WORK. A mutant has
// one wrong field or one wrong piece: counts, lengths, types, nested arrays,
// shapes, offsets, alignment, split keys. A file of a set is one file, and the
// set's other files stay as they are.
//
// Each mutant is read in a process of its own as mtp-import reads it: config,
// tokenizer, templates, tensors. The process must end by itself. The memory
// that it allocates and the mapped files may have twice the size of the files.
// --plant adds a bug to all readings, which the program must report.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/config/ConfigReader.h"
#include "compiler/Import/config/GgufConfig.h"
#include "compiler/Tokenizer/GgufReader.h"
#include "compiler/Tokenizer/TokenizerFiles.h"
#include "compiler/Weights/GgufFiles.h"
#include "compiler/Weights/pack/WeightRows.h"
#include "test/Fuzz/GgufMutants.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <malloc.h>
#include <new>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace mtp;

namespace {

/// Exit statuses of a reading.
constexpr int kRead = 0, kRefused = 1, kTooLarge = 3;

/// Bytes from operator new: in use now, and the most at a time.
size_t inUse = 0, mostInUse = 0;
/// A reading that exceeds this number of bytes ends.
size_t limit = ~size_t(0);

void *allocate(size_t size) {
  void *memory = std::malloc(size);
  if (memory) {
    inUse += malloc_usable_size(memory);
    mostInUse = std::max(mostInUse, inUse);
  }
  if (!memory || inUse > limit)
    _exit(kTooLarge);
  return memory;
}

void release(void *memory) {
  if (memory)
    inUse -= malloc_usable_size(memory);
  std::free(memory);
}

} // namespace

void *operator new(size_t size) { return allocate(size); }
void *operator new[](size_t size) { return allocate(size); }
void operator delete(void *memory) noexcept { release(memory); }
void operator delete[](void *memory) noexcept { release(memory); }
void operator delete(void *memory, size_t) noexcept { release(memory); }
void operator delete[](void *memory, size_t) noexcept { release(memory); }

namespace {

/// Reads the first and the last rows of a tensor.
void readTensor(const WeightSet &weights, const std::string &key) {
  constexpr int64_t kMost = 300;
  Result<WeightRows> rows = WeightRows::resolve(weights, {key}, 0);
  if (!rows || rows->rows() == 0 || rows->cols() == 0)
    return;
  int64_t count = std::min(rows->cols(), kMost), last = rows->rows() - 1;
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t row : {int64_t(0), last})
    for (int64_t column : {int64_t(0), rows->cols() - count})
      rows->read(row, 1, column, count, values.data(), count);
  if (!rows->keptFormat())
    return;
  int64_t group = std::max(int64_t(rows->formatOfRow(last).group), int64_t(1));
  std::vector<int16_t> q(static_cast<size_t>(group));
  std::vector<GroupCodes> groups(1);
  rows->readCodes(last, rows->cols() - group, group, groups.data(), q.data());
}

/// Reads config, tokenizer and tensors of a model, each in any case. Returns
/// the first error.
Status readModel(const std::string &path) {
  MTP_ASSIGN_OR_RETURN(importer::GgufModel model,
                       importer::GgufModel::open(path));
  Status status = okStatus();
  auto keep = [&](const Status &other) {
    if (status.isOk())
      status = other;
  };
  Result<std::string> config = importer::translateGgufConfig(model.parts);
  keep(config.status());
  if (config) {
    keep(importer::parseModelConfig(*config, "").status());
    keep(importer::describeGguf(model.parts).status());
  }
  keep(chatFromGguf(model.parts.front().header).status());
  keep(buildTokenizerTables(model.paths.front()).status());
  MTP_ASSIGN_OR_RETURN(WeightSet weights, WeightSet::openFiles(model.paths));
  for (const auto &[key, file] : weights.keys())
    readTensor(weights, key);
  return status;
}

/// The sizes and the path of a model whose first file is read.
struct Model {
  fs::path path;
  uint64_t bytes = 0;
};

/// Memory beyond twice the size, for files that are truncated to few bytes.
constexpr uint64_t kTables = 64 << 10;

/// Limits the address space, so that memory of any kind has a limit. The files
/// are mapped up to three times.
void limitSpace(uint64_t bytes) {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlim_t most = pages * uint64_t(sysconf(_SC_PAGESIZE)) + 5 * bytes + (1 << 20);
  rlimit space = {most, most};
  setrlimit(RLIMIT_AS, &space);
}

/// Reads a model in a process of its own. Never returns.
[[noreturn]] void runReading(const Model &model, const std::string &plant,
                             int report) {
  alarm(10);
#if !defined(__SANITIZE_ADDRESS__)
  limitSpace(model.bytes);
#endif
  mostInUse = inUse;
  size_t before = inUse;
  // The files are in memory, too.
  limit = before + model.bytes + kTables;
  if (plant == "signal")
    std::raise(SIGSEGV);
  if (plant == "memory")
    (void)operator new(model.bytes + kTables);
  Status status = readModel(model.path.string());
  uint64_t most = mostInUse - before;
  if (write(report, &most, sizeof(most)) != sizeof(most))
    _exit(kTooLarge);
  if (plant == "print" && !status.isOk())
    std::cerr << status.toString() << "\n";
  _exit(status.isOk() ? kRead : kRefused);
}

/// The end of a reading.
struct Outcome {
  int status = 0;         ///< As waitpid() gives it.
  uint64_t allocated = 0; ///< The most bytes at a time.

  bool isGood() const {
    return WIFEXITED(status) &&
           (WEXITSTATUS(status) == kRead || WEXITSTATUS(status) == kRefused);
  }
  std::string text() const {
    if (WIFSIGNALED(status))
      return std::string("ended with ") + strsignal(WTERMSIG(status));
    if (WEXITSTATUS(status) == kTooLarge)
      return "took more than twice the file's size in memory";
    return WEXITSTATUS(status) == kRead ? "read" : "refused";
  }
};

Outcome read(const Model &model, const std::string &plant) {
  int pipes[2];
  if (pipe(pipes) != 0)
    std::abort();
  pid_t child = fork();
  if (child == 0)
    runReading(model, plant, pipes[1]);
  close(pipes[1]);
  Outcome outcome;
  if (::read(pipes[0], &outcome.allocated, sizeof(uint64_t)) < 0)
    std::abort();
  close(pipes[0]);
  waitpid(child, &outcome.status, 0);
  return outcome;
}

std::string readBytes(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Writes a file in place, which keeps its pages.
void writeBytes(const fs::path &path, const std::string &bytes) {
  int file = open(path.c_str(), O_WRONLY);
  if (file < 0 ||
      pwrite(file, bytes.data(), bytes.size(), 0) != ssize_t(bytes.size()) ||
      ftruncate(file, off_t(bytes.size())) != 0)
    std::abort();
  close(file);
}

/// Counts of outcomes.
struct Counts {
  size_t read = 0, refused = 0, failed = 0;
  double share = 0; ///< The most memory, of the size of the files.
};

/// Reads one model's mutants.
class Trial {
public:
  /// Copies the set that a file belongs to into a folder.
  Trial(const fs::path &work, const std::string &file, std::string plant)
      : plant(std::move(plant)) {
    Result<std::vector<std::string>> files = findGgufFiles(file);
    fs::create_directories(work);
    for (const std::string &each : *files) {
      fs::copy_file(each, work / fs::path(each).filename(),
                    fs::copy_options::overwrite_existing);
      others += fs::file_size(each);
    }
    others -= fs::file_size(file);
    target = work / fs::path(file).filename();
    original = readBytes(target);
    // Readers begin with the first file of a set.
    first = work / fs::path(files->front()).filename();
  }

  /// Reads the valid file, which must be read in full.
  bool checkOriginal() {
    Outcome outcome = read({first, others + original.size()}, "print");
    bool isRead = outcome.isGood() && WEXITSTATUS(outcome.status) == kRead;
    if (!isRead)
      std::cout << target.string() << ": the valid file was " << outcome.text()
                << "\n";
    return isRead;
  }

  void run(size_t count, uint64_t seed, Counts &counts) {
    test::forEachGgufMutant(
        original, count, seed,
        [&](const test::GgufMutant &mutant) { run(mutant, counts); });
    writeBytes(target, original);
  }

private:
  void run(const test::GgufMutant &mutant, Counts &counts) {
    writeBytes(target, mutant.bytes);
    uint64_t size = others + mutant.bytes.size();
    Outcome outcome = read({first, size}, plant);
    if (size > kTables)
      counts.share =
          std::max(counts.share, double(outcome.allocated) / double(size));
    if (!outcome.isGood()) {
      ++counts.failed;
      std::cout << target.string() << ": " << mutant.name << ": "
                << outcome.text() << "\n";
      return;
    }
    ++(WEXITSTATUS(outcome.status) == kRead ? counts.read : counts.refused);
  }

  std::string plant, original;
  uint64_t others = 0; ///< Bytes of the set's other files.
  fs::path target, first;
};

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string plant;
  constexpr std::string_view kPlant = "--plant=";
  if (!arguments.empty() && arguments.front().starts_with(kPlant)) {
    plant = arguments.front().substr(kPlant.size());
    arguments.erase(arguments.begin());
  }
  if (arguments.size() < 3) {
    std::cerr << "expected a count, a folder and files\n";
    return 2;
  }
  size_t total = std::stoul(arguments[0]), files = arguments.size() - 2;
  Counts counts;
  for (size_t i = 0; i < files; ++i) {
    Trial trial(fs::path(arguments[1]) / std::to_string(i), arguments[i + 2],
                plant);
    if (!trial.checkOriginal())
      return 1;
    trial.run((i + 1) * total / files - i * total / files, i, counts);
  }
  std::cout << counts.read << " read, " << counts.refused << " refused, "
            << counts.failed << " failed; at most " << 1 + counts.share
            << " times a file's size in memory\n";
  return counts.failed == 0 ? 0 : 1;
}
