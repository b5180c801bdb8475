//===- PlanReport.cpp - What a compiled model will take -------------------===//

#include "compiler/Driver/PlanReport.h"
#include "compiler/Artifact/PlanLayout.h"
#include "passes/Envelope.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace mtp;
using namespace mtp::compiler;
using namespace mlir;

namespace {

struct ProgramPlan {
  std::string name;
  int64_t dispatches;
  int64_t arenaBytes;
};

/// Everything that a report says.
struct Plan {
  std::vector<ProgramPlan> programs;
  std::map<std::string, int64_t> kernelsOfKind;
  int64_t arenaBytes = 0;
  int64_t stateBytes = 0;
  int64_t weightBytes = 0;
  int64_t weights = 0;
  int64_t kvBytesPerToken = 0;
  int64_t kvTokens = 0;
  /// Whether every k is known to put out what k = 0 does.
  bool exact = true;
  llvm::ArrayRef<QuantizedWeight> quantized;
};

} // namespace

static ProgramPlan planOf(exec::ProgramOp program) {
  ProgramPlan plan{program.getSymName().str(), 0, 0};
  for (Operation &op : program.getBody().front()) {
    plan.dispatches += isa<exec::DispatchOp>(op);
    if (auto alloc = dyn_cast<exec::AllocOp>(op)) {
      int64_t end =
          *alloc.getOffset() + bufferBytes(cast<MemRefType>(alloc.getType()));
      plan.arenaBytes = std::max(plan.arenaBytes, end);
    }
  }
  return plan;
}

/// Tokens of all slots at full length, in whole pages, and the dummy page.
static int64_t poolTokens(ModuleOp module) {
  auto envelope =
      module->getAttrOfType<mlir::mtp::EnvelopeAttr>(mlir::mtp::kEnvelopeAttr);
  if (!envelope)
    return 0;
  int64_t pages = envelope.getMaxBatch() * mlir::mtp::pagesPerSlot(envelope);
  return (pages + 1) * envelope.getPage();
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
  plan.kvTokens = poolTokens(module);
  plan.exact = !module->hasAttr(mlir::mtp::kCustomRuleAttr);
  plan.arenaBytes =
      exec::moduleNumber(module, exec::kPlanAttr, exec::kArenaBytes);
  plan.stateBytes =
      exec::moduleNumber(module, exec::kPlanAttr, exec::kStateBytes);
  return plan;
}

static std::string formatName(const QuantizedWeight &weight) {
  return "int" + std::to_string(weight.bits);
}

static void printQuantized(const Plan &plan, llvm::json::OStream &json) {
  json.attributeArray("quantized_weights", [&] {
    for (const QuantizedWeight &weight : plan.quantized) {
      json.object([&] {
        json.attribute("name", weight.name);
        json.attribute("format", formatName(weight));
        json.attribute("group", weight.group);
        json.attribute("relative_rms_error", weight.error.relativeRms());
        json.attribute("max_error", weight.error.maxError);
      });
    }
  });
}

static void printJson(const Plan &plan, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("weights", plan.weights);
    json.attribute("weight_bytes", plan.weightBytes);
    json.attribute("arena_bytes", plan.arenaBytes);
    json.attribute("state_bytes", plan.stateBytes);
    json.attribute("kv_bytes_per_token", plan.kvBytesPerToken);
    json.attribute("kv_bytes", plan.kvBytesPerToken * plan.kvTokens);
    json.attribute("exact", plan.exact);
    json.attributeObject("kernels", [&] {
      for (const auto &[kind, count] : plan.kernelsOfKind)
        json.attribute(kind, count);
    });
    printQuantized(plan, json);
    json.attributeArray("programs", [&] {
      for (const ProgramPlan &program : plan.programs) {
        json.object([&] {
          json.attribute("name", program.name);
          json.attribute("dispatches", program.dispatches);
          json.attribute("arena_bytes", program.arenaBytes);
        });
      }
    });
  });
  os << "\n";
}

/// Bytes with a unit, three digits or so.
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

static void printText(const Plan &plan, llvm::raw_ostream &os) {
  auto line = [&](llvm::StringRef what, int64_t bytes) {
    os << llvm::left_justify(what, 20)
       << llvm::right_justify(readable(bytes), 12) << "  (" << bytes
       << " bytes)\n";
  };
  line("weights", plan.weightBytes);
  line("arena", plan.arenaBytes);
  line("state", plan.stateBytes);
  line("kv per token", plan.kvBytesPerToken);
  line("kv in all", plan.kvBytesPerToken * plan.kvTokens);
  if (!plan.exact)
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
    os << llvm::left_justify(weight.name, 48) << formatName(weight)
       << llvm::format("%9d%14.5f%11.3g\n", static_cast<int>(weight.group),
                       weight.error.relativeRms(), weight.error.maxError);
  }
  os << "\n" << llvm::left_justify("program", 28) << "dispatches       arena\n";
  for (const ProgramPlan &program : plan.programs) {
    os << llvm::left_justify(program.name, 28)
       << llvm::format("%10lld", static_cast<long long>(program.dispatches))
       << llvm::right_justify(readable(program.arenaBytes), 12) << "\n";
  }
}

LogicalResult
compiler::printPlanReport(ModuleOp module,
                          llvm::ArrayRef<QuantizedWeight> quantized, bool json,
                          llvm::raw_ostream &os) {
  FailureOr<Plan> plan = makePlan(module);
  if (failed(plan))
    return failure();
  plan->quantized = quantized;
  json ? printJson(*plan, os) : printText(*plan, os);
  return success();
}
