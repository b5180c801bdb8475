//===- Measure.cpp - Run and time programs --------------------------------===//

#include "tools/mtp-bench/measure/Measure.h"
#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/ModelImpl.h"
#include "runtime/schema/BlobFormat.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <thread>

using namespace mtp;
using namespace mtp::bench;

/// Returns the seconds for each rate of the machine that is measured before and
/// after all other measurements: less for fewer turns than the default.
static double machineSeconds(const Options &options) {
  return std::min(0.25, 0.05 * options.turns);
}

/// Row counts at which a plain step is measured if the envelope has them.
static constexpr uint32_t kRowCounts[] = {1,  2,  3,  4,  6,  8,  12,
                                          16, 24, 32, 48, 64, 96, 128};

std::vector<Point> bench::choosePoints(const Options &o,
                                       const EnvelopeInfo &e) {
  std::vector<Point> points;
  std::set<std::array<uint32_t, 3>> seen;
  auto add = [&](uint32_t batch, uint32_t k, uint32_t context) {
    if (!seen.insert({batch, k, context}).second)
      return;
    Point &point = points.emplace_back();
    point.batch = batch;
    point.k = k;
    point.context = context;
  };
  bool speculates = o.wants("speculative") && o.ids.empty();
  for (uint32_t context : o.contexts)
    for (uint32_t batch : o.batches) {
      if (speculates || o.wants("decode"))
        add(batch, 0, context);
      if (speculates)
        for (uint32_t k : o.ks)
          add(batch, k, context);
    }
  if (o.wants("rows")) {
    for (uint32_t rows : kRowCounts)
      if (rows <= e.maxBatch)
        add(rows, 0, o.contexts[0]);
    for (uint32_t k = 1; k <= e.maxK; ++k)
      add(1, k, o.contexts[0]);
    add(e.maxBatch, e.maxK, o.contexts[0]);
  }
  return points;
}

std::vector<SpeculativeResult> bench::compareRounds(const Results &results,
                                                    const Options &o) {
  std::vector<SpeculativeResult> compared;
  for (uint32_t context : o.contexts)
    for (uint32_t batch : o.batches)
      for (uint32_t k : o.ks) {
        const Point *round = results.find(batch, k, context);
        const Point *step = results.find(batch, 0, context);
        if (!round || !step)
          continue;
        SpeculativeResult r;
        r.batch = batch;
        r.context = context;
        r.k = k;
        r.seconds = estimateSeconds(round->seconds, o.estimate);
        r.spread = summarize(round->seconds);
        r.ratio = ratioOf(round->seconds, step->seconds, o.estimate);
        r.limitRatio = round->limit(results.rates, /*targetOnly=*/false) /
                       step->limit(results.rates, /*targetOnly=*/false);
        r.acceptanceLength = o.acceptance.empty() && k > 0
                                 ? std::numeric_limits<double>::quiet_NaN()
                                 : acceptanceLength(o.acceptance, k);
        r.tokensPerSecond = batch * r.acceptanceLength / r.seconds;
        r.speedup = r.acceptanceLength / r.ratio;
        compared.push_back(r);
      }
  return compared;
}

void bench::reportTurn(const Options &options, uint32_t turn,
                       std::string_view what, double seconds) {
  if (options.progress)
    std::fprintf(stderr, "turn %u of %u: %.*s: %.3f ms\n", turn + 1,
                 options.turns, int(what.size()), what.data(), seconds * 1e3);
}

/// Returns the name of a weight's format.
static std::string formatOf(const schema::Blob &weight) {
  std::optional<WeightFormat> format = weightFormatOf(weight);
  return format ? std::string(format->name()) : dtypeName(weight.dtype());
}

/// Lists the formats by size, the largest first, without those that would print
/// as 0.00 GB.
static std::string formatsOf(const Plan &plan) {
  std::map<std::string, uint64_t> bytes;
  for (uint32_t i = 0; i < vectorSize(plan.weights); ++i) {
    const schema::Blob &weight = *plan.weights->Get(i);
    bytes[formatOf(weight)] += weight.size();
  }
  std::vector<std::pair<uint64_t, std::string>> sorted;
  for (const auto &[name, size] : bytes)
    sorted.emplace_back(size, name);
  std::sort(sorted.rbegin(), sorted.rend());
  std::string text;
  for (const auto &[size, name] : sorted) {
    if (!text.empty() && size < 5'000'000)
      continue;
    char amount[32];
    std::snprintf(amount, sizeof(amount), " %.2f GB", double(size) * 1e-9);
    text += (text.empty() ? "" : ", ") + name + amount;
  }
  return text;
}

static std::string today() {
  std::time_t now = std::time(nullptr);
  std::tm utc = {};
  char text[32];
  ::gmtime_r(&now, &utc);
  std::strftime(text, sizeof(text), "%Y-%m-%d", &utc);
  return text;
}

/// Writes the properties of the file with which every report starts.
static void describe(const Model &model, const Machine &machine,
                     const Options &options, Results &results) {
  // A model without a name is named after its file.
  results.model = model.name().empty()
                      ? std::filesystem::path(options.artifact).stem().string()
                      : std::string(model.name());
  results.producer = model.producer();
  results.processor = machine.name();
  results.features = machine.features();
  results.processors = std::thread::hardware_concurrency();
  results.date = today();
  results.formats = formatsOf(
      ModelAccess::file(model)->artifact().plans[ModelAccess::plan(model)]);
  results.threads = machine.threads();
  results.pinned = options.session.pinThreads;
  results.cacheBytes = machine.cacheBytes();
  results.bufferBytes = machine.bufferBytes();
  const Plan &plan =
      ModelAccess::file(model)->artifact().plans[ModelAccess::plan(model)];
  for (uint32_t i = 0; i < vectorSize(plan.weights); ++i)
    results.fileWeightBytes += plan.weights->Get(i)->size();
}

static Result<std::unique_ptr<Machine>> openMachine(const Model &model,
                                                    const Options &options) {
  if (model.device() == DeviceKind::Cpu)
    return Machine::create(options.session.threads, options.session.pinThreads);
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Device> gpu,
                       ModelAccess::open(model, {}));
  return Machine::create(std::move(gpu));
}

Result<Results> bench::measure(Options &options) {
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model,
                       Model::load(options.artifact, options.load));
  MTP_RETURN_IF_ERROR(settle(options, model->envelope()));
  uint32_t most = ModelAccess::file(*model)->artifact().maxRounds;
  uint32_t rounds = options.session.roundsPerLaunch;
  if (rounds < 1 || rounds > most)
    return invalidArgument(strCat("--rounds-per-launch: expected 1 to ", most,
                                  " (the artifact's ring), got ", rounds));
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Machine> machine,
                       openMachine(*model, options));
  Results results;
  describe(*model, *machine, options, results);
  results.points = choosePoints(options, *model->envelope());
  uint32_t slots =
      *std::max_element(options.batches.begin(), options.batches.end());
  for (const Point &point : results.points)
    slots = std::max(slots, point.batch);
  MTP_ASSIGN_OR_RETURN(
      std::unique_ptr<ProgramRunner> runner,
      ProgramRunner::create(model, slots, options.session.threads,
                            options.session.pinThreads, options.seed,
                            options.temperature));
  runner->repeatTokens(options.period);
  results.machine.push_back(machine->measure(machineSeconds(options)));
  MTP_RETURN_IF_ERROR(measurePoints(*runner, options, *machine, results));
  results.prefillKernels =
      runner->useLibrary(options.session.deterministic).kernels;
  if (options.wants("prefill"))
    MTP_RETURN_IF_ERROR(measurePrefills(*runner, options, results));
  std::vector<SpeculativeResult> ofPrompt;
  if (options.wants("speculative") && !options.ids.empty())
    MTP_RETURN_IF_ERROR(measurePrompt(*runner, options, ofPrompt));
  if (options.wantsSessions())
    MTP_RETURN_IF_ERROR(measureSessions(model, options, results.sessions));
  results.machine.push_back(machine->measure(machineSeconds(options)));
  results.rates = ratesOf(results.machine, options.estimate);
  results.isNoisy = isNoisy(results.machine, options.estimate);
  if (options.wants("speculative"))
    results.speculative =
        options.ids.empty() ? compareRounds(results, options) : ofPrompt;
  return results;
}
