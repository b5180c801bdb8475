//===- Modes.cpp - Predictions and comparisons ----------------------------===//

#include "tools/mtp-tune/Modes.h"
#include "runtime/core/Processors.h"
#include "runtime/core/StrCat.h"
#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/ProfileKeys.h"
#include "tools/mtp-tune/Drafts.h"
#include "tools/mtp-tune/Measure.h"
#include "tools/mtp-tune/compare/Compare.h"
#include "tools/mtp-tune/simulate/ShapeFile.h"
#include "tools/mtp-tune/simulate/Simulate.h"
#include "tools/support/DrafterCheck.h"
#include "tools/support/Output.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::tune;

/// Slots of a comparison besides one.
static constexpr uint32_t kComparedSlots = 4;
/// Tokens after each prompt of a comparison.
static constexpr uint32_t kComparedTokens = 96;

/// Fails if a profile is of no plan of the artifact. Plans have keys of their
/// own, because they pack weights in other ways.
static Status checkProfile(const Artifact &artifact,
                           const profile::ModelKey &given) {
  Status status = okStatus();
  for (const Plan &plan : artifact.plans) {
    status = profile::checkModel(profile::modelKeyOf(artifact, plan), given);
    if (status.isOk())
      break;
  }
  return status;
}

Status tune::printPrediction(const Options &options) {
  MTP_ASSIGN_OR_RETURN(Machine machine, loadMachine(options.machine));
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<ShapeFile> file,
                       ShapeFile::open(options.artifact));
  const Artifact &artifact = file->artifact();
  SimulateOptions o{options.batches, options.contexts, options.acceptance};
  if (const schema::Envelope *envelope = artifact.envelope) {
    if (o.batches.empty())
      o.batches = batchesUpTo(envelope->max_batch());
    if (o.contexts.empty())
      o.contexts = contextsUpTo(envelope->max_context());
  }
  if (!options.profile.empty()) {
    MTP_ASSIGN_OR_RETURN(profile::Profile profile,
                         profile::loadProfile(options.profile));
    Status status = checkProfile(artifact, profile.model);
    if (!status.isOk())
      return status.withContext(options.profile);
    o.acceptance = acceptanceOf(profile);
  }
  Result<Prediction> prediction = simulate(artifact, machine, o);
  if (!prediction)
    return prediction.status().withContext(options.artifact);
  return writeStandardOutput(options.json ? predictionJson(*prediction)
                                          : predictionText(*prediction),
                             "the prediction");
}

/// Returns the prompts by their names: the files of --prompts, or the tools'
/// own.
static Result<std::vector<Workload>> readPrompts(const Model &model,
                                                 const Options &options) {
  std::vector<Workload> named;
  for (const std::string &path : options.prompts) {
    Workload &workload = named.emplace_back();
    workload.name = path;
    MTP_ASSIGN_OR_RETURN(std::vector<Prompt> read, readLines(model, path));
    for (Prompt &prompt : read)
      workload.prompts.push_back(std::move(prompt.ids));
  }
  if (named.empty()) {
    Workload &workload = named.emplace_back();
    workload.name = "own prompts";
    MTP_ASSIGN_OR_RETURN(workload.prompts, ownPrompts(model));
  }
  return named;
}

/// Returns the workloads: all prompts for each number of slots, greedy and with
/// the model's own temperature.
static Result<std::vector<Workload>> workloadsOf(const Model &model,
                                                 const Options &options) {
  uint32_t most = model.envelope()->maxBatch;
  for (uint32_t batch : options.batches)
    if (batch == 0 || batch > most)
      return invalidArgument(strCat("--batch: expected 1 to ", most,
                                    " (the envelope's batch), got ", batch));
  std::vector<uint32_t> batches = options.batches;
  if (batches.empty()) {
    batches = {1};
    if (most > 1)
      batches.push_back(std::min(most, kComparedSlots));
  }
  MTP_ASSIGN_OR_RETURN(std::vector<Workload> named,
                       readPrompts(model, options));
  float warm = model.generation().temperature;
  std::vector<Workload> workloads;
  for (const Workload &prompts : named)
    for (uint32_t batch : batches)
      for (float temperature : {0.0f, warm > 0 ? warm : 0.7f}) {
        Workload workload = prompts;
        workload.slots = batch;
        workload.temperature = temperature;
        workload.name += temperature > 0 ? ", sampled" : ", greedy";
        workloads.push_back(std::move(workload));
      }
  return workloads;
}

Status tune::printComparison(const Options &options) {
  std::vector<NamedModel> models;
  std::vector<std::string> paths = {options.artifact};
  paths.insert(paths.end(), options.others.begin(), options.others.end());
  for (const std::string &path : paths) {
    MTP_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model,
                         Model::load(path, options.load));
    models.push_back({path, std::move(model)});
  }
  MTP_RETURN_IF_ERROR(checkOneModel(models));
  // The numbers of slots must fit into all envelopes.
  const NamedModel &least =
      *std::ranges::min_element(models, {}, [](const NamedModel &m) {
        return m.model->envelope()->maxBatch;
      });
  MTP_ASSIGN_OR_RETURN(std::vector<Workload> workloads,
                       workloadsOf(*least.model, options));
  CompareOptions o;
  o.session = options.session;
  o.turns = options.turns;
  o.tokens = options.tokens ? options.tokens : kComparedTokens;
  o.minutes = options.minutes;
  o.progress = options.progress;
  MTP_ASSIGN_OR_RETURN(std::vector<ComparedRun> runs,
                       compareModels(models, workloads, o));
  return writeStandardOutput(options.json ? comparisonJson(runs)
                                          : comparisonText(runs),
                             "the comparison");
}
