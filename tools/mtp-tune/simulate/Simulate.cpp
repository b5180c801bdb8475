//===- Simulate.cpp - Predict rounds on another machine -------------------===//

#include "tools/mtp-tune/simulate/Simulate.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/program/ProgramTable.h"
#include "runtime/json/JsonWriter.h"

#include <algorithm>
#include <cstdio>

using namespace mtp;
using namespace mtp::tune;

/// Returns the plan that a machine of this kind runs.
static Result<const Plan *> planFor(const Artifact &artifact,
                                    const Machine &machine) {
  std::string got;
  for (const Plan &plan : artifact.plans) {
    if (plan.isGpu() == machine.isGpu)
      return &plan;
    got += strCat(got.empty() ? "" : ", ", plan.target->arch()->string_view());
  }
  return failedPrecondition(strCat("kind: expected an artifact with a plan for "
                                   "a ",
                                   machine.isGpu ? "GPU" : "CPU",
                                   ", got plans for ", got));
}

static Status check(const schema::Envelope *envelope,
                    const SimulateOptions &o) {
  if (!envelope)
    return failedPrecondition(
        "expected an artifact that generates, got functions only");
  uint32_t batch = envelope->max_batch(), context = envelope->max_context();
  for (uint32_t given : o.batches)
    if (given == 0 || given > batch)
      return invalidArgument(strCat("--batch: expected 1 to ", batch,
                                    " (the envelope's batch), got ", given));
  for (uint32_t given : o.contexts)
    if (given == 0 || given >= context)
      return invalidArgument(strCat("--context: expected 1 to ", context - 1,
                                    " (below the envelope's context), got ",
                                    given));
  return bench::checkRates(o.acceptance);
}

/// Predicts all k of one number of slots and one context.
static void predictShape(Prediction &into, const RoundModel &model,
                         const ProgramTable &table, uint32_t maxK,
                         const PredictedRound &shape,
                         const std::vector<double> &acceptance) {
  double plain = 0;
  for (uint32_t k = 0; k <= maxK; ++k) {
    const Program &program = table.program(
        table.decode(shape.batch, k, shape.context + table.nodes(k)));
    PredictedRound round = shape;
    round.k = k;
    round.rows = table.nodes(k);
    round.time = model.predict(program, shape.batch, shape.context);
    if (k == 0)
      plain = round.time.seconds;
    round.r = round.time.seconds / plain;
    if (k == 0 || !acceptance.empty())
      round.length = bench::acceptanceLength(acceptance, k);
    into.rounds.push_back(round);
  }
}

Result<Prediction> tune::simulate(const Artifact &artifact,
                                  const Machine &machine,
                                  const SimulateOptions &options) {
  MTP_RETURN_IF_ERROR(check(artifact.envelope, options));
  MTP_ASSIGN_OR_RETURN(const Plan *plan, planFor(artifact, machine));
  Prediction prediction;
  prediction.machine = machine.name;
  if (artifact.model)
    prediction.model = artifact.model->string_view();
  prediction.target =
      strCat(plan->target->arch()->string_view(), " ", plan->processor());
  RoundModel model(artifact, *plan, machine);
  ProgramTable table(*plan);
  for (uint32_t batch : options.batches)
    for (uint32_t context : options.contexts) {
      PredictedRound shape;
      shape.batch = batch;
      shape.context = context;
      predictShape(prediction, model, table, artifact.envelope->max_k(), shape,
                   options.acceptance);
    }
  return prediction;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Returns the round with the most tokens per second among rounds of one shape.
static const PredictedRound *bestOf(std::span<const PredictedRound> rounds) {
  const PredictedRound *best = nullptr;
  for (const PredictedRound &round : rounds)
    if (round.length && (!best || *round.gain() > *best->gain()))
      best = &round;
  return best;
}

/// Returns the rounds by shape: a list of all k for each.
static std::vector<std::span<const PredictedRound>>
shapesOf(const Prediction &prediction) {
  std::vector<std::span<const PredictedRound>> shapes;
  std::span<const PredictedRound> rest = prediction.rounds;
  while (!rest.empty()) {
    size_t count = 1;
    while (count < rest.size() && rest[count].k != 0)
      ++count;
    shapes.push_back(rest.first(count));
    rest = rest.subspan(count);
  }
  return shapes;
}

static std::string roundText(const PredictedRound &of) {
  const RoundTime &time = of.time;
  char text[256];
  double percent = 100 / time.seconds;
  std::snprintf(text, sizeof(text),
                "  k = %-2u %9.1f us, R %.2f, %5.1f %% memory, %.1f %% cache, "
                "%.1f %% arithmetic, %.1f %% starts of %u commands",
                of.k, time.seconds * 1e6, of.r, time.memory * percent,
                time.cache * percent, time.arithmetic * percent,
                time.starts * percent, time.commands);
  std::string line = text;
  if (of.length) {
    std::snprintf(text, sizeof(text),
                  ", AL %.2f, %.1f tokens/s, %.2f of plain steps", *of.length,
                  of.batch * *of.length / time.seconds, *of.gain());
    line += text;
  }
  return line + "\n";
}

std::string tune::predictionText(const Prediction &prediction) {
  std::string text =
      strCat("machine '", prediction.machine, "', plan '", prediction.target,
             "', model '", prediction.model, "': predicted, not measured\n");
  for (std::span<const PredictedRound> rounds : shapesOf(prediction)) {
    const PredictedRound &first = rounds.front();
    text += strCat("slots ", first.batch, ", context ", first.context);
    const PredictedRound *best = bestOf(rounds);
    if (best && rounds.back().length)
      text += strCat(": k = ", best->k, " is best");
    else if (rounds.size() > 1)
      text += ": drafts pay if AL exceeds R";
    text += "\n";
    for (const PredictedRound &round : rounds)
      text += roundText(round);
  }
  return text;
}

static void writeRound(JsonWriter &json, const PredictedRound &of) {
  json.beginObject();
  json.field("batch", of.batch);
  json.field("k", of.k);
  json.field("context", of.context);
  json.field("rows", of.rows);
  json.field("seconds", of.time.seconds);
  json.field("r", of.r);
  json.field("bytes", of.time.bytes);
  json.field("ops", of.time.ops);
  json.field("commands", of.time.commands);
  json.field("memory", of.time.memory);
  json.field("cache", of.time.cache);
  json.field("arithmetic", of.time.arithmetic);
  json.field("starts", of.time.starts);
  if (of.length) {
    json.field("acceptance_length", *of.length);
    json.field("tokens_per_second", of.batch * *of.length / of.time.seconds);
    json.field("gain", *of.gain());
  }
  json.endObject();
}

std::string tune::predictionJson(const Prediction &prediction) {
  JsonWriter json;
  json.beginObject();
  json.field("machine", prediction.machine);
  json.field("target", prediction.target);
  json.field("model", prediction.model);
  json.key("rounds");
  json.beginArray();
  for (const PredictedRound &round : prediction.rounds)
    writeRound(json, round);
  json.endArray();
  json.key("best");
  json.beginArray();
  for (std::span<const PredictedRound> rounds : shapesOf(prediction))
    if (const PredictedRound *best = bestOf(rounds);
        best && rounds.back().length) {
      json.beginObject();
      json.field("batch", best->batch);
      json.field("context", best->context);
      json.field("k", best->k);
      json.field("gain", *best->gain());
      json.endObject();
    }
  json.endArray();
  json.endObject();
  return json.text() + "\n";
}
