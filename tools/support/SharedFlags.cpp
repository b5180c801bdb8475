//===- SharedFlags.cpp - Flags that several tools have --------------------===//

#include "tools/support/SharedFlags.h"
#include "tools/support/Flags.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string_view>
#include <variant>

using namespace mtp;

namespace {
/// The flags whose values are words, too.
enum class Words { K, Device };

/// The member that a flag sets. Its type decides the range of numbers.
using Effect =
    std::variant<uint32_t SessionOptions::*, uint64_t SessionOptions::*,
                 bool SessionOptions::*, std::optional<float> SessionOptions::*,
                 std::vector<uint32_t> SessionOptions::*, bool LoadOptions::*,
                 std::string LoadOptions::*, Words>;

struct Row {
  SharedFlag flag;
  const char *names;
  Effect effect;
  const char *text;
  /// The value that a flag without an argument sets.
  bool value = true;
};
} // namespace

using Flag = SharedFlag;
using Options = SessionOptions;

static constexpr Row kRows[] = {
    {Flag::K, "--k,-k", Words::K,
     "Most drafts per round; auto chooses the number by its speed (default: "
     "the maximum)"},
    {Flag::DraftPMin, "--draft-p-min", &Options::draftPMin,
     "Confidence of 0 to 1 below which drafts end, for a model of mtp-import "
     "--confidence (default: the model's; with -k auto and --profile the one "
     "that pays)"},
    {Flag::MaxBatch, "--max-batch", &Options::maxSlots,
     "Sequences at a time (0: the maximum)"},
    {Flag::KvPages, "--kv-pages", &Options::kvPages,
     "KV pages (0: enough for all slots at full context)"},
    {Flag::PrefillChunk, "--prefill-chunk", &Options::prefillChunk,
     "Prompt rows in one pass (0: the artifact's default)"},
    {Flag::PromptMilliseconds, "--prefill-budget-ms",
     &Options::promptMilliseconds,
     "Time for which prompt rows of a step may delay running sequences (0: a "
     "chunk of any length; default: 20)"},
    {Flag::StepMilliseconds, "--step-budget-ms", &Options::stepMilliseconds,
     "Time that a mixed batch should take, a round with prompt rows (0: a "
     "round without them plus --prefill-budget-ms)"},
    {Flag::SeparatePrompts, "--no-mixed-batches", &Options::separatePrompts,
     "Run prompts only in their own passes"},
    {Flag::RoundsPerLaunch, "--rounds-per-launch", &Options::roundsPerLaunch,
     "Rounds in one launch, without the host between them (0: 1 on a CPU; on a "
     "GPU as --profile says, else 16)"},
    {Flag::CaptureSizes, "--capture-sizes", &Options::captureSizes,
     "Numbers of slots whose rounds have graphs of their own; other rounds use "
     "the next larger graph with padding rows (default: on a GPU as --profile "
     "says, else all)"},
    {Flag::LazyMemory, "--lazy-memory", &Options::populateMemory,
     "Take memory for KV pages at their first use; without this flag the "
     "server takes all of it at its start, if it is at most half of the "
     "available memory, so no token waits for it",
     /*value=*/false},
    {Flag::NoPrefixCache, "--no-prefix-cache", &Options::prefixCache,
     "Do not share pages of equal prompts", /*value=*/false},
    {Flag::SnapshotBytes, "--snapshot-bytes", &Options::snapshotBytes,
     "Memory for copies of the states of recurrent layers; without it a model "
     "with such layers shares no prompts (default: 1 GiB)"},
    {Flag::SnapshotTokens, "--snapshot-tokens", &Options::snapshotTokens,
     "Tokens of a prompt from one copy to the next (default: 512)"},
    {Flag::Deterministic, "--no-cublaslt", &Options::deterministic,
     "Compute prompts on a GPU without its vendor's library"},
    {Flag::Device, "--device", Words::Device,
     "Device that runs the model; cuda is the driver's first GPU, cuda:0 "
     "(default: auto, the CPU, or the GPU if the artifact is only for GPUs)"},
    {Flag::Threads, "--threads,-t", &Options::threads,
     "Threads (0: one for each usable processor)"},
    {Flag::Pin, "--pin", &Options::pinThreads,
     "Bind each thread to a processor"},
    {Flag::NoMmap, "--no-mmap", &LoadOptions::copy,
     "Read the file into large pages instead of mapping it"},
    {Flag::Profile, "--profile", &LoadOptions::profile,
     "Start automatic k and the sizes of prompt passes from the measurements "
     "of mtp-tune"},
    {Flag::Verify, "--verify", &LoadOptions::checkAllHashes,
     "Check all hashes of the file first, those of weights too"},
};

static CLI::Option *addK(CLI::App &app, const Row &row, Options &session) {
  auto take = [&session](const std::string &name, const std::string &given) {
    session.automaticK = given == "auto";
    if (!session.automaticK)
      session.k = parseNumber<uint32_t>(name, given);
  };
  return addOption(app, row.names, "N|auto", row.text, /*repeats=*/false, take);
}

/// Returns the number after "cuda:"; nothing if there is none.
static std::optional<uint32_t> gpuOf(std::string_view text) {
  constexpr std::string_view kPrefix = "cuda:";
  uint32_t number = 0;
  if (!text.starts_with(kPrefix))
    return std::nullopt;
  text.remove_prefix(kPrefix.size());
  auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size())
    return std::nullopt;
  return number;
}

static CLI::Option *addDevice(CLI::App &app, const Row &row,
                              LoadOptions &load) {
  const std::string kinds = "cpu|cuda|cuda:N|auto";
  auto take = [&load, kinds](const std::string &name,
                             const std::string &given) {
    std::optional<uint32_t> number = gpuOf(given);
    load.gpu = number.value_or(0);
    if (given == "cpu")
      load.device = DeviceKind::Cpu;
    else if (given == "cuda" || number)
      load.device = DeviceKind::Cuda;
    else if (given == "auto")
      load.device = DeviceKind::Auto;
    else
      throwExpected(name, kinds, given);
  };
  return addOption(app, row.names, kinds, row.text, /*repeats=*/false, take);
}

namespace {
/// Adds the flag of a row by the type of its effect.
struct Adder {
  CLI::App &app;
  const Row &row;
  LoadOptions &load;
  SessionOptions &session;

  template <typename T>
  CLI::Option *operator()(T SessionOptions::*member) const {
    return addNumber(app, row.names, session.*member, row.text);
  }
  CLI::Option *operator()(std::vector<uint32_t> SessionOptions::*member) const {
    return addNumbers(app, row.names, session.*member, row.text);
  }
  CLI::Option *operator()(bool SessionOptions::*member) const {
    return addFlag(app, row.names, session.*member, row.text, row.value);
  }
  CLI::Option *operator()(bool LoadOptions::*member) const {
    return addFlag(app, row.names, load.*member, row.text, row.value);
  }
  CLI::Option *operator()(std::string LoadOptions::*member) const {
    return addText(app, row.names, load.*member, "FILE", row.text);
  }
  CLI::Option *operator()(Words words) const {
    return words == Words::K ? addK(app, row, session)
                             : addDevice(app, row, load);
  }
};
} // namespace

CLI::Option *mtp::addSharedFlag(CLI::App &app, SharedFlag flag,
                                LoadOptions &load, SessionOptions &session) {
  const Row &row = *std::ranges::find(kRows, flag, &Row::flag);
  return std::visit(Adder{app, row, load, session}, row.effect);
}

void mtp::addSharedFlags(CLI::App &app, std::initializer_list<SharedFlag> flags,
                         LoadOptions &load, SessionOptions &session,
                         const std::string &group) {
  for (SharedFlag flag : flags) {
    CLI::Option *option = addSharedFlag(app, flag, load, session);
    if (!group.empty())
      option->group(group);
  }
}

void mtp::warnAboutThreads(const std::string &tool, uint32_t threads,
                           uint32_t usable) {
  if (threads > usable)
    std::fprintf(stderr,
                 "%s: warning: expected --threads of at most %u, the usable "
                 "processors, got %u\n",
                 tool.c_str(), usable, threads);
}
