//===- Alternatives.cpp - Measure what mtpc could choose ------------------===//

#include "tools/mtp-tune/Alternatives.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/profile/Alternatives.h"
#include "runtime/profile/ProfileKeys.h"
#include "tools/mtp-tune/Measure.h"
#include "tools/mtp-tune/PairTimer.h"
#include "tools/start/Words.h"
#include "tools/support/DrafterCheck.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace mtp;
using namespace mtp::tune;

/// The shares of the time that comparisons may take, compilations included, and
/// the last comparison.
static constexpr double kCompareShare = 0.6, kCheckShare = 0.1;
/// Tokens of the prompt that is timed.
static constexpr uint32_t kPromptTokens = 256;

using Clock = std::chrono::steady_clock;

bool tune::isModule(const std::string &path) {
  return path.ends_with(".mlir") || path.ends_with(".mlirbc");
}

namespace {
/// A value of a tunable.
struct Value {
  const Tunable *tunable;
  int64_t value;

  std::string text() const { return strCat(tunable->name, "=", value); }
};

/// Compares all values of one module.
class Comparison {
public:
  Comparison(const Options &options, ComparedAlternatives &result)
      : options(options), result(result), begin(Clock::now()) {}

  Status run();

private:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  double limit() const { return options.minutes * 60 * kCompareShare; }
  TunedFor machine() const {
    return base->device() == DeviceKind::Cpu ? TunedFor::Cpu : TunedFor::Gpu;
  }
  std::vector<Value> values() const;
  std::vector<PairShape> shapes() const;
  Result<bool> differs(const std::string &artifact) const;
  Result<std::vector<profile::Alternative>>
  compare(const std::string &artifact, const Value &value, double end);
  Status measure(const Value &value, double share);
  Status compileChosen();

  const Options &options;
  ComparedAlternatives &result;
  Clock::time_point begin;
  std::string baseArtifact;
  std::shared_ptr<const Model> base;
  std::vector<int32_t> text;
};
} // namespace

std::vector<Value> Comparison::values() const {
  std::vector<Value> all;
  for (const Tunable &tunable : kTunables)
    if (tunable.machine == machine())
      for (int64_t value : tunable.alternatives)
        all.push_back({&tunable, value});
  return all;
}

/// Returns rounds without and with all drafts, of one slot and of all, and a
/// prompt.
std::vector<PairShape> Comparison::shapes() const {
  const EnvelopeInfo &e = *base->envelope();
  std::vector<uint32_t> batches = options.batches, contexts = options.contexts;
  if (batches.empty())
    batches = {1, e.maxBatch};
  if (contexts.empty())
    contexts = {contextsUpTo(e.maxContext).front()};
  std::vector<PairShape> shapes;
  for (uint32_t batch : batches)
    for (uint32_t context : contexts)
      for (uint32_t k : {0u, e.maxK}) {
        // Many slots with long prompts would take most of the time to fill.
        uint32_t own = std::max(context / batch, std::min(context, 8u));
        PairShape shape{profile::Work::Round, batch, k, own};
        if (std::ranges::find(shapes, shape) == shapes.end())
          shapes.push_back(shape);
      }
  PairShape prompt{profile::Work::Prefill, 1, 0,
                   std::max(std::min(kPromptTokens, e.maxContext / 2), 1u)};
  shapes.push_back(prompt);
  return shapes;
}

/// Returns whether an artifact has other programs or other code than the
/// default artifact.
Result<bool> Comparison::differs(const std::string &artifact) const {
  std::array<std::vector<uint64_t>, 2> contents;
  for (size_t i : {0, 1}) {
    MTP_ASSIGN_OR_RETURN(
        std::shared_ptr<const ArtifactFile> file,
        ArtifactFile::open(i ? artifact : baseArtifact, HashCheck::None));
    const Artifact &tables = file->artifact();
    for (const Plan &plan : tables.plans) {
      for (profile::ProgramKeys keys(plan); uint64_t key : keys.all())
        contents[i].push_back(key);
      for (const Program &program : plan.programs) {
        contents[i].push_back(program.begin);
        contents[i].push_back(program.positions);
        for (const CpuSchedule &schedule : program.schedules)
          contents[i].push_back(
              hashBytes(schedule.steps.data(), schedule.steps.size()));
      }
    }
    for (uint32_t s = 0; s < vectorSize(tables.segments); ++s)
      if (tables.segments->Get(s)->kind() == schema::SegmentKind::Image)
        contents[i].push_back(tables.segments->Get(s)->hash());
  }
  return contents[0] != contents[1];
}

/// Compares an artifact with the default artifact in all shapes until `end`.
Result<std::vector<profile::Alternative>>
Comparison::compare(const std::string &artifact, const Value &value,
                    double end) {
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const Model> other,
                       Model::load(artifact, options.load));
  PairTimer timer({base, other}, options.session, text);
  std::vector<PairShape> all = shapes();
  std::vector<profile::Alternative> found;
  for (size_t i = 0; i < all.size(); ++i) {
    double rest = std::max(end - seconds(), 0.2) / double(all.size() - i);
    MTP_ASSIGN_OR_RETURN(std::optional<profile::Alternative> one,
                         timer.compare(all[i], rest));
    if (!one)
      continue;
    one->tunable = value.tunable->name;
    one->value = value.value;
    found.push_back(*one);
  }
  return found;
}

/// Compiles with a value and compares it within a share of the time.
Status Comparison::measure(const Value &value, double share) {
  double end = seconds() + share;
  MTP_ASSIGN_OR_RETURN(std::string artifact,
                       result.compiler->compile("other", {value.text()}));
  MTP_ASSIGN_OR_RETURN(bool isOther, differs(artifact));
  if (!isOther)
    return okStatus();
  MTP_ASSIGN_OR_RETURN(std::vector<profile::Alternative> found,
                       compare(artifact, value, end));
  result.alternatives.insert(result.alternatives.end(), found.begin(),
                             found.end());
  if (options.progress)
    std::fprintf(stderr, "%5.1f s: %s\n", seconds(), value.text().c_str());
  return okStatus();
}

/// Returns the values that pay.
static std::vector<Value>
valuesThatPay(const std::vector<profile::Alternative> &alternatives) {
  profile::MachineCosts machine;
  machine.alternatives = alternatives;
  std::vector<Value> chosen;
  for (const profile::TunedChoice &choice : profile::chooseTuning(machine, {}))
    if (!choice.isDefault())
      chosen.push_back({choice.tunable, choice.value});
  return chosen;
}

/// Compiles with all values that pay, and compares the artifact once more: the
/// best of many noisy values may have been lucky. If the values do not pay
/// together, forgets them.
Status Comparison::compileChosen() {
  result.artifact = baseArtifact;
  std::vector<Value> chosen = valuesThatPay(result.alternatives);
  if (chosen.empty())
    return okStatus();
  std::vector<std::string> tuned;
  for (const Value &value : chosen)
    tuned.push_back(value.text());
  MTP_ASSIGN_OR_RETURN(std::string artifact,
                       result.compiler->compile("tuned", tuned));
  double end = seconds() + kCheckShare * options.minutes * 60;
  MTP_ASSIGN_OR_RETURN(result.together, compare(artifact, chosen.front(), end));
  if (!valuesThatPay(result.together).empty()) {
    result.artifact = artifact;
    return okStatus();
  }
  // Without these values the next best ones, which nothing has confirmed, would
  // pay.
  for (; !chosen.empty(); chosen = valuesThatPay(result.alternatives))
    for (const Value &value : chosen)
      std::erase_if(result.alternatives, [&](const profile::Alternative &one) {
        return one.tunable == value.tunable->name && one.value == value.value;
      });
  return okStatus();
}

Status Comparison::run() {
  MTP_RETURN_IF_ERROR(checkMinutes(options.minutes));
  auto words = start::splitWords(options.compile);
  if (!words)
    return words.status().withContext("--compile");
  if (options.session.threads)
    words->push_back(strCat("--run-threads=", options.session.threads));
  MTP_ASSIGN_OR_RETURN(result.compiler,
                       Compiler::create(options.artifact, std::move(*words)));
  MTP_ASSIGN_OR_RETURN(baseArtifact, result.compiler->compile("default", {}));
  MTP_ASSIGN_OR_RETURN(base, Model::load(baseArtifact, options.load));
  if (!base->envelope())
    return failedPrecondition(
        "expected a module that generates, got functions only");
  MTP_RETURN_IF_ERROR(checkShapes(*base->envelope(), options));
  MTP_ASSIGN_OR_RETURN(std::vector<std::vector<int32_t>> prompts,
                       ownPrompts(*base));
  for (const std::vector<int32_t> &prompt : prompts)
    text.insert(text.end(), prompt.begin(), prompt.end());
  std::vector<Value> all = values();
  for (size_t i = 0; i < all.size(); ++i) {
    if (seconds() > limit()) {
      result.skipped = uint32_t(all.size() - i);
      break;
    }
    MTP_RETURN_IF_ERROR(
        measure(all[i], (limit() - seconds()) / double(all.size() - i)));
  }
  return compileChosen();
}

Result<ComparedAlternatives> tune::compareAlternatives(const Options &options) {
  ComparedAlternatives result;
  Clock::time_point begin = Clock::now();
  MTP_RETURN_IF_ERROR(Comparison(options, result).run());
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return result;
}
