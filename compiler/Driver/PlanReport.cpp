//===- PlanReport.cpp - Report on a compiled model ------------------------===//

#include "compiler/Driver/PlanReport.h"
#include "compiler/Artifact/PlanLayout.h"
#include "dialects/MTP/IR/RuleAttrs.h"
#include "passes/support/Envelope.h"
#include "passes/support/RoundStates.h"
#include "runtime/json/JsonWriter.h"
#include "runtime/schema/DeviceLoop.h"
#include "runtime/schema/LogitRules.h"
#include "runtime/schema/LoopLayout.h"
#include "llvm/Support/Format.h"

using namespace mtp;
using namespace mtp::compiler;
using namespace mlir;

namespace {

/// Number of barriers between the stages of a program, for n from `from` on.
struct Barriers {
  int64_t from;
  int64_t count;
};

struct ProgramPlan {
  std::string name;
  exec::ProgramKind kind;
  int64_t k;
  exec::Points points;
  int64_t dispatches;
  exec::Count arenaBytes;
  std::vector<Barriers> barriers;
  /// True if rounds may follow each other on the device.
  bool repeats;

  /// Returns the limit on the nodes of a graph for one n. A command without
  /// work at that n has no node.
  int64_t nodes() const { return dispatches + kNodesOfGraph; }
  int64_t loopNodes() const { return repeats ? dispatches + kNodesOfLoop : 0; }
  /// Returns the limit on the nodes of the graphs for all n.
  int64_t allNodes() const {
    return (points.most - points.least + 1) * (nodes() + loopNodes());
  }
};

/// Content of a report.
struct Plan {
  std::vector<ProgramPlan> programs;
  std::map<std::string, int64_t> kernelsOfKind;
  int64_t arenaBytes = 0;
  int64_t stateBytes = 0;
  /// Bytes that recurrent layers carry for a slot.
  int64_t recurrentBytes = 0;
  /// Bytes of the hidden states that a slot keeps for drafters that missed
  /// rounds.
  int64_t catchUpBytes = 0;
  /// Bytes of a slot's rules and masks, and how many of them grow with the
  /// number of tokens of the vocabulary.
  int64_t ruleBytes = 0, ruleTokenBytes = 0, ruleTokens = 0;
  int64_t weightBytes = 0;
  int64_t weights = 0;
  int64_t kvBytesPerToken = 0;
  int64_t kvTokens = 0;
  /// True if every k is known to give the output of k = 0.
  bool exact = true;
  /// True if the rule declares that the output does not have the model's
  /// distribution. `rule` is its name; empty if it has none.
  bool lossy = false;
  std::string rule;
  llvm::ArrayRef<QuantizedWeight> quantized;
  llvm::ArrayRef<PackedWeight> packed;
  std::optional<CalibrationScore> calibration;
  llvm::ArrayRef<KernelResources> resources;
  bool hasGraphs = false;

  int64_t graphNodes() const {
    int64_t sum = 0;
    for (const ProgramPlan &program : programs)
      sum += program.allNodes();
    return sum;
  }
};

} // namespace

static ProgramPlan planOf(exec::ProgramOp program) {
  ProgramPlan plan;
  plan.name = program.getSymName().str();
  plan.kind = program.getKind();
  plan.k = program.getK();
  plan.points = program.getPoints();
  auto dispatches = program.getBody().getOps<exec::DispatchOp>();
  plan.dispatches = std::distance(dispatches.begin(), dispatches.end());
  plan.arenaBytes = arenaBytes(program);
  plan.repeats = llvm::any_of(
      program.getBody().getOps<exec::OutputOp>(), [](exec::OutputOp output) {
        return output.getName() == llvm::StringRef(kAgain);
      });
  for (auto schedule : program.getBody().getOps<exec::ScheduleOp>()) {
    int64_t joined = 0;
    for (size_t call = 0; call < schedule.getSteps().size(); ++call)
      joined += schedule.isJoined(call);
    // No barrier precedes the first command.
    plan.barriers.push_back(
        {int64_t(schedule.getBegin()),
         std::max<int64_t>(plan.dispatches - joined, 1) - 1});
  }
  return plan;
}

/// Returns the tokens of all slots at full length, in whole pages, and the
/// dummy page.
static int64_t poolTokens(ModuleOp module) {
  auto envelope =
      module->getAttrOfType<mlir::mtp::EnvelopeAttr>(mlir::mtp::kEnvelopeAttr);
  if (!envelope)
    return 0;
  int64_t pages = envelope.getMaxBatch() * mlir::mtp::pagesPerSlot(envelope);
  return (pages + 1) * envelope.getPage();
}

static int64_t bytesOfSlot(MemRefType state) {
  int64_t numbers = ShapedType::getNumElements(state.getShape().drop_front());
  return numbers * state.getElementTypeBitWidth() / 8;
}

static FailureOr<Plan> makePlan(ModuleOp module) {
  FailureOr<PlanLayout> layout = PlanLayout::get(module);
  if (failed(layout))
    return failure();
  Plan plan;
  plan.weightBytes = layout->weightBytes;
  plan.weights = layout->weights.size();
  for (auto program : module.getOps<exec::ProgramOp>())
    plan.programs.push_back(planOf(program));
  for (auto kernel : module.getOps<exec::KernelOp>())
    ++plan.kernelsOfKind[kernel.getKind().str()];
  for (auto cache : module.getOps<exec::CacheOp>()) {
    plan.kvBytesPerToken += cache.getLayers() * cache.getEntry() *
                            cache.getDtype().getIntOrFloatBitWidth() / 8;
  }
  for (auto state : module.getOps<exec::StateOp>()) {
    int64_t bytes = bytesOfSlot(cast<MemRefType>(state.getType()));
    if (state.getRebuild() == mlir::mtp::Rebuild::Run)
      plan.recurrentBytes += bytes;
    std::string_view name = state.getSymName();
    if (state.getSymName() == mlir::mtp::states::kRecentHidden)
      plan.catchUpBytes += bytes;
    if (::mtp::isRuleState(name))
      plan.ruleBytes += bytes;
    if (name == ::mtp::kTokenCounts || name == ::mtp::kLogitBias ||
        name == ::mtp::kLogitMasks)
      plan.ruleTokenBytes += bytes;
    if (name == ::mtp::kLogitBias)
      plan.ruleTokens = bytes / int64_t(sizeof(int32_t));
  }
  plan.kvTokens = poolTokens(module);
  plan.exact = !module->hasAttr(mlir::mtp::kCustomRuleAttr);
  plan.lossy = module->hasAttr(mlir::mtp::kLossyAttr);
  if (auto rule = module->getAttrOfType<StringAttr>(mlir::mtp::kRuleAttr))
    plan.rule = rule.getValue().str();
  plan.arenaBytes =
      exec::moduleNumber(module, exec::kPlanAttr, exec::kArenaBytes);
  plan.stateBytes =
      exec::moduleNumber(module, exec::kPlanAttr, exec::kStateBytes);
  return plan;
}

/// Returns the smallest and the largest n.
static std::vector<int64_t> endsOf(exec::Points points) {
  return {points.least, points.most};
}

static void printQuantized(const Plan &plan, JsonWriter &json) {
  json.key("quantized_weights");
  json.beginArray();
  for (const QuantizedWeight &weight : plan.quantized) {
    json.beginObject();
    json.field("name", weight.name);
    json.field("format", weight.format.name());
    json.field("group", weight.format.group);
    json.field("relative_rms_error", weight.error.relativeRms());
    json.field("max_error", weight.error.maxError);
    json.endObject();
  }
  json.endArray();
}

double PackedWeight::bits() const {
  return 8.0 * double(packedBytes(recipe)) /
         (double(recipe.count) * double(recipe.n) * double(recipe.k));
}

static void printPacked(const Plan &plan, JsonWriter &json) {
  json.key("packed_weights");
  json.beginArray();
  for (const PackedWeight &weight : plan.packed) {
    const WeightFormat &format = weight.recipe.format;
    json.beginObject();
    json.field("name", weight.recipe.name);
    json.field("stored_type", weight.stored.names);
    json.field("stored_bits", weight.stored.bits);
    json.field("format", format.name());
    json.field("group", format.group);
    json.field("scales", kWeightScales[unsigned(format.scales)]);
    json.field("offset", format.hasOffset);
    json.field("bits", weight.bits());
    json.endObject();
  }
  json.endArray();
}

static void printCalibration(const Plan &plan, JsonWriter &json) {
  if (!plan.calibration)
    return;
  json.key("calibration");
  json.beginObject();
  json.field("tokens", plan.calibration->tokens);
  json.field("perplexity_before", plan.calibration->before);
  json.field("perplexity_after", plan.calibration->after);
  json.field("divergence", plan.calibration->divergence);
  json.endObject();
}

/// Prints all numbers as functions of n: the arena is base + step * n bytes.
static void printProgram(const ProgramPlan &program, JsonWriter &json) {
  json.beginObject();
  json.field("name", program.name);
  json.field("kind", stringifyEnum(program.kind));
  json.field("k", program.k);
  json.field("n", endsOf(program.points));
  json.field("dispatches", program.dispatches);
  json.key("arena_bytes");
  json.beginObject();
  json.field("base", program.arenaBytes.base);
  json.field("step", program.arenaBytes.step);
  json.endObject();
  json.key("barriers");
  json.beginArray();
  for (Barriers barriers : program.barriers) {
    json.beginObject();
    json.field("from", barriers.from);
    json.field("count", barriers.count);
    json.endObject();
  }
  json.endArray();
  json.endObject();
}

static void printResources(const Plan &plan, JsonWriter &json) {
  if (plan.resources.empty())
    return;
  json.key("gpu_kernels");
  json.beginArray();
  for (const KernelResources &kernel : plan.resources) {
    json.beginObject();
    json.field("kernel", kernel.symbol);
    json.field("threads", kernel.threads);
    json.field("registers", kernel.registers);
    json.field("shared_bytes", kernel.sharedBytes);
    json.field("stack_bytes", kernel.stackBytes);
    json.field("spill_bytes", kernel.spillBytes);
    json.endObject();
  }
  json.endArray();
}

/// Prints graphs: one for each n, and another for rounds in a loop.
static void printGraphs(const Plan &plan, JsonWriter &json) {
  if (!plan.hasGraphs)
    return;
  json.key("graphs");
  json.beginObject();
  json.field("most_nodes_kept", kMostGraphNodes);
  json.field("nodes_of_all", plan.graphNodes());
  json.key("programs");
  json.beginArray();
  for (const ProgramPlan &program : plan.programs) {
    json.beginObject();
    json.field("name", program.name);
    json.field("n", endsOf(program.points));
    json.field("most_nodes", program.nodes());
    if (program.repeats)
      json.field("most_nodes_in_loop", program.loopNodes());
    json.endObject();
  }
  json.endArray();
  json.endObject();
}

static std::string jsonReport(const Plan &plan) {
  JsonWriter json;
  json.beginObject();
  json.field("weights", plan.weights);
  json.field("weight_bytes", plan.weightBytes);
  json.field("arena_bytes", plan.arenaBytes);
  json.field("state_bytes", plan.stateBytes);
  json.field("recurrent_bytes_per_slot", plan.recurrentBytes);
  json.field("catch_up_bytes_per_slot", plan.catchUpBytes);
  json.field("rule_bytes_per_slot", plan.ruleBytes);
  json.field("rule_bytes_of_tokens", plan.ruleTokenBytes);
  json.field("kv_bytes_per_token", plan.kvBytesPerToken);
  json.field("kv_bytes", plan.kvBytesPerToken * plan.kvTokens);
  json.field("exact", plan.exact);
  json.field("lossy", plan.lossy);
  json.field("rule", plan.exact ? "exact" : plan.rule);
  json.key("kernels");
  json.beginObject();
  for (const auto &[kind, count] : plan.kernelsOfKind)
    json.field(kind, count);
  json.endObject();
  printQuantized(plan, json);
  printPacked(plan, json);
  printCalibration(plan, json);
  printResources(plan, json);
  json.key("programs");
  json.beginArray();
  for (const ProgramPlan &program : plan.programs)
    printProgram(program, json);
  json.endArray();
  printGraphs(plan, json);
  json.endObject();
  return json.text() + "\n";
}

/// Returns bytes with a unit, in about three digits.
static std::string readable(int64_t bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < std::size(kUnits)) {
    value /= 1024.0;
    ++unit;
  }
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(unit == 0 ? "%.0f " : "%.2f ", value) << kUnits[unit];
  return text;
}

/// Returns "3", or "3 to 5" if the two ends differ.
static std::string endsText(const std::string &first, const std::string &last) {
  return first == last ? first : first + " to " + last;
}

/// Prints numbers for the smallest and the largest n of each program.
static void printPrograms(const Plan &plan, llvm::raw_ostream &os) {
  os << "\n"
     << llvm::left_justify("program", 28) << llvm::left_justify("n", 14)
     << "dispatches  " << llvm::left_justify("barriers", 14) << "arena\n";
  for (const ProgramPlan &program : plan.programs) {
    auto [least, most] = program.points;
    std::string n, barriers;
    if (program.kind != exec::ProgramKind::Function)
      n = endsText(std::to_string(least), std::to_string(most));
    if (!program.barriers.empty())
      barriers = endsText(std::to_string(program.barriers.front().count),
                          std::to_string(program.barriers.back().count));
    os << llvm::left_justify(program.name, 28) << llvm::left_justify(n, 14)
       << llvm::format("%10lld  ", static_cast<long long>(program.dispatches))
       << llvm::left_justify(barriers, 14)
       << endsText(readable(program.arenaBytes.at(least)),
                   readable(program.arenaBytes.at(most)))
       << "\n";
  }
}

/// Prints graphs: one for each n, and another for rounds in a loop.
static void printGraphs(const Plan &plan, llvm::raw_ostream &os) {
  if (!plan.hasGraphs)
    return;
  os << "\n"
     << llvm::left_justify("graphs", 28) << llvm::left_justify("for each n", 14)
     << "nodes, at most  in a loop\n";
  for (const ProgramPlan &program : plan.programs) {
    auto [least, most] = program.points;
    std::string n;
    if (program.kind != exec::ProgramKind::Function)
      n = endsText(std::to_string(least), std::to_string(most));
    os << llvm::left_justify(program.name, 28) << llvm::left_justify(n, 14)
       << llvm::format("%14lld", static_cast<long long>(program.nodes()));
    if (program.repeats)
      os << llvm::format("%11lld", static_cast<long long>(program.loopNodes()));
    os << "\n";
  }
  os << "all have " << plan.graphNodes() << " nodes; " << kMostGraphNodes
     << " are kept, those launched last\n";
}

/// Prints the resources that the kernels use on a GPU.
static void printResources(const Plan &plan, llvm::raw_ostream &os) {
  if (plan.resources.empty())
    return;
  os << "\n"
     << llvm::left_justify("kernel", 48)
     << "threads  registers  shared bytes  stack bytes  spilled bytes\n";
  for (const KernelResources &kernel : plan.resources)
    os << llvm::left_justify(kernel.symbol, 48)
       << llvm::format("%7llu%11llu%14llu%13llu%15llu\n",
                       static_cast<unsigned long long>(kernel.threads),
                       static_cast<unsigned long long>(kernel.registers),
                       static_cast<unsigned long long>(kernel.sharedBytes),
                       static_cast<unsigned long long>(kernel.stackBytes),
                       static_cast<unsigned long long>(kernel.spillBytes));
}

static void printPacked(const Plan &plan, llvm::raw_ostream &os) {
  if (!plan.packed.empty())
    os << "\n"
       << llvm::left_justify("packed weight", 48)
       << "stored        bits   packed  format\n";
  for (const PackedWeight &weight : plan.packed)
    os << llvm::left_justify(weight.recipe.name, 48)
       << llvm::left_justify(weight.stored.names, 12)
       << llvm::format("%6.2f%9.2f", weight.stored.bits, weight.bits()) << "  "
       << weight.recipe.format.text() << "\n";
}

static void printCalibration(const Plan &plan, llvm::raw_ostream &os) {
  if (const std::optional<CalibrationScore> &score = plan.calibration)
    os << "\ncalibration: "
       << llvm::format("perplexity %.4f before, %.4f after, divergence %.5f "
                       "nats a token (%lld tokens)\n",
                       score->before, score->after, score->divergence,
                       static_cast<long long>(score->tokens));
}

/// Prints how many bytes of a slot's rules each token takes, and all others.
static void printRuleBytes(const Plan &plan, llvm::raw_ostream &os) {
  os << llvm::format(
      "  per token         %8.2f bytes for each of %lld tokens, and %lld "
      "bytes\n",
      double(plan.ruleTokenBytes) / double(plan.ruleTokens),
      static_cast<long long>(plan.ruleTokens),
      static_cast<long long>(plan.ruleBytes - plan.ruleTokenBytes));
}

static void printText(const Plan &plan, llvm::raw_ostream &os) {
  auto line = [&](llvm::StringRef what, int64_t bytes) {
    os << llvm::left_justify(what, 20)
       << llvm::right_justify(readable(bytes), 12) << "  (" << bytes
       << " bytes)\n";
  };
  line("weights", plan.weightBytes);
  line("arena", plan.arenaBytes);
  line("state", plan.stateBytes);
  if (plan.recurrentBytes > 0)
    line("recurrent per slot", plan.recurrentBytes);
  if (plan.catchUpBytes > 0)
    line("catch-up per slot", plan.catchUpBytes);
  if (plan.ruleTokens > 0) {
    line("rules per slot", plan.ruleBytes);
    printRuleBytes(plan, os);
  }
  line("kv per token", plan.kvBytesPerToken);
  line("kv in all", plan.kvBytesPerToken * plan.kvTokens);
  std::string rule = plan.rule.empty() ? "" : " " + plan.rule;
  if (plan.lossy)
    os << "\nthe accept rule" << rule
       << " is lossy: output has not the model's distribution\n";
  else if (!plan.exact)
    os << "\nthe accept rule is not known to be exact: output may depend on "
          "k\n";
  os << "\nkernels\n";
  for (const auto &[kind, count] : plan.kernelsOfKind) {
    os << "  " << llvm::left_justify(kind, 18)
       << llvm::format("%6lld", static_cast<long long>(count)) << "\n";
  }
  if (!plan.quantized.empty()) {
    os << "\n"
       << llvm::left_justify("quantized weight", 48)
       << "format  group  relative rms  max error\n";
  }
  for (const QuantizedWeight &weight : plan.quantized) {
    os << llvm::left_justify(weight.name, 48) << weight.format.name()
       << llvm::format("%9d%14.5f%11.3g\n",
                       static_cast<int>(weight.format.group),
                       weight.error.relativeRms(), weight.error.maxError);
  }
  printPacked(plan, os);
  printCalibration(plan, os);
  printResources(plan, os);
  printPrograms(plan, os);
  printGraphs(plan, os);
}

LogicalResult compiler::printPlanReport(ModuleOp module,
                                        const CompiledParts &parts, bool json,
                                        llvm::raw_ostream &os) {
  FailureOr<Plan> plan = makePlan(module);
  if (failed(plan))
    return failure();
  plan->quantized = parts.quantized;
  plan->packed = parts.packed;
  plan->calibration = parts.calibration;
  plan->resources = parts.resources;
  plan->hasGraphs = parts.hasGraphs;
  if (json)
    os << jsonReport(*plan);
  else
    printText(*plan, os);
  return success();
}
