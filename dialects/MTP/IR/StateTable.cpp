//===- StateTable.cpp - Writers of the states with known names ------------===//

#include "dialects/MTP/IR/StateTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/schema/HostStates.h"
#include "runtime/schema/LogitRules.h"
#include "runtime/schema/LoopLayout.h"
#include "runtime/schema/SamplingLayout.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::mtp;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static constexpr SharedExtent kAnyNumber{ExtentUnit::Fixed, 0, /*isFree=*/true};
static constexpr bool kHosts = true, kOps = false, kForAll = true;

static constexpr SharedExtent fixed(int64_t size) {
  return {ExtentUnit::Fixed, size};
}

using enum StateWriter;
static constexpr SharedState kStates[] = {
    // States that programs share with the host.
    {"length", Commit, kHosts},
    {"out_tokens", Commit, kHosts, false, 1, {{ExtentUnit::MaxK, 1}}},
    {"out_count", Commit, kHosts},
    {"sampling", Host, kHosts, false, 1, {fixed(::mtp::kSamplingWords)}},
    {"loop", Launch, kHosts, false, 1, {fixed(::mtp::kLoopWords)}},
    {"stop_tokens", Host, kHosts, false, 1, {fixed(::mtp::kStopTokens)}},
    {"ring",
     Launch,
     kHosts,
     false,
     2,
     {fixed(::mtp::kRingRounds), {ExtentUnit::MaxK, 2}}},
    {"draft_limit", Host, kHosts},
    {"page_table", Host, kHosts, false, 1, {{ExtentUnit::MaxPages}}},
    {"drafter_places", Host, kHosts, false, 2, {{ExtentUnit::MaxK}, fixed(2)}},
    {"active", Host, kHosts, kForAll, 1, {{ExtentUnit::MaxBatch}}},
    {"prompt_tokens",
     Host,
     kHosts,
     kForAll,
     2,
     {kAnyNumber, {ExtentUnit::PrefillChunk}}},
    {"prompt_positions",
     Host,
     kHosts,
     kForAll,
     2,
     {kAnyNumber, {ExtentUnit::PrefillChunk}}},
    {"prompt_slots", Host, kHosts, kForAll, 1, {{ExtentUnit::PrefillChunk}}},
    {"prompt_sequences",
     Host,
     kHosts,
     kForAll,
     2,
     {fixed(5), {ExtentUnit::MaxBatch}}},
    {"logit_rules", Host, kHosts, false, 1, {fixed(::mtp::kRuleWords)}},
    {"logit_bias", Host, kHosts, false, 1, {kAnyNumber}},
    {"logit_masks", Host, kHosts, false, 2, {kAnyNumber, kAnyNumber}},
    {"host_drafts", Host, kHosts, false, 1, {kAnyNumber}},
    {"token_counts", Commit, kHosts, false, 1, {kAnyNumber}},
    {"logit_path", Launch, kHosts, false, 1, {kAnyNumber}},
    {"shown_confidence",
     Program,
     kHosts,
     false,
     2,
     {fixed(::mtp::kRingRounds), {ExtentUnit::MaxK}},
     /*isFloat=*/true},
    // States that the readable ops carry from round to round.
    {"accepted", Commit, kOps},
    {"window", Commit, kOps},
    {"hidden", Commit, kOps},
    {"recent_hidden", Commit, kOps},
    {"known", Host, kOps},
    {"want_k", Program, kOps},
};

/// Returns whether the loader refuses kernels that write the state.
static constexpr bool isLoadersHostState(const SharedState &state) {
  return std::ranges::find(::mtp::kHostWrittenStates,
                           std::string_view(state.name)) !=
         std::end(::mtp::kHostWrittenStates);
}

// The compiler refuses the same stores as the loader, and names the line.
static_assert(std::ranges::all_of(kStates, [](const SharedState &state) {
  return isLoadersHostState(state) ==
         (state.writer == StateWriter::Host && state.isHosts);
}));
static_assert(std::ranges::all_of(::mtp::kHostWrittenStates, [](auto name) {
  return std::ranges::any_of(kStates, [&](const SharedState &state) {
    return std::string_view(state.name) == name;
  });
}));

llvm::ArrayRef<SharedState> mlir::mtp::allSharedStates() { return kStates; }

const SharedState *mlir::mtp::findSharedState(StringRef name) {
  const auto *state = llvm::find_if(
      kStates, [&](const SharedState &each) { return each.name == name; });
  return state == std::end(kStates) ? nullptr : state;
}

std::string mlir::mtp::describe(const SharedState &state) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "mtp.state " << (state.isForAll ? "shared @" : "@") << state.name;
  for (int64_t i = 0; i < state.rank; ++i) {
    const SharedExtent &extent = state.extents[i];
    stream << (i == 0 ? "[" : ", ");
    if (extent.isFree)
      stream << "n";
    else if (extent.unit == ExtentUnit::Fixed)
      stream << extent.offset;
    else
      stream << stringifyExtentUnit(extent.unit);
    if (extent.unit != ExtentUnit::Fixed && extent.offset != 0)
      stream << " + " << extent.offset;
  }
  stream << (state.rank != 0 ? "] : " : " : ")
         << (state.isFloat ? "f32" : "i32");
  return text;
}

//===----------------------------------------------------------------------===//
// Writers
//===----------------------------------------------------------------------===//

/// Returns the round or prefill around `op`, or null.
static Operation *programOf(Operation *op) {
  while (op && !isa<RoundOp, PrefillOp>(op))
    op = op->getParentOp();
  return op;
}

static Operation *commitOf(Operation *program) {
  auto commits = program->getRegion(0).front().getOps<CommitOp>();
  return commits.empty() ? nullptr : (*commits.begin()).getOperation();
}

Operation *mlir::mtp::findCommit(Operation *module) {
  for (Operation &op : module->getRegion(0).front())
    if (isa<RoundOp, PrefillOp>(op))
      if (Operation *commit = commitOf(&op))
        return commit;
  return nullptr;
}

/// Returns an mtp.commit of a round or prefill that contains `op`, or that runs
/// the function that contains `op`. Null if there is none.
static Operation *findCommitBeside(Operation *op) {
  if (Operation *program = programOf(op))
    return commitOf(program);
  auto module = op->getParentOfType<ModuleOp>();
  llvm::SetVector<Operation *> functions;
  if (auto own = op->getParentOfType<func::FuncOp>())
    functions.insert(own);
  for (size_t i = 0; module && i < functions.size(); ++i) {
    auto uses = SymbolTable::getSymbolUses(functions[i], module);
    if (!uses)
      continue;
    for (SymbolTable::SymbolUse use : *uses) {
      Operation *program = programOf(use.getUser());
      if (Operation *commit = program ? commitOf(program) : nullptr)
        return commit;
      if (auto caller = use.getUser()->getParentOfType<func::FuncOp>())
        functions.insert(caller);
    }
  }
  return nullptr;
}

/// Returns whether `op` is part of the user's code. mtpc adds its own code to
/// rounds that have a k, and to programs.
static bool isWritten(Operation *op) {
  auto round = op->getParentOfType<RoundOp>();
  return round ? !round.getK().has_value()
               : (op->getParentOfType<PrefillOp>() ||
                  op->getParentOfType<func::FuncOp>());
}

static LogicalResult refuse(Operation *op, StringRef name, StringRef writer,
                            Operation *commit) {
  InFlightDiagnostic diag =
      op->emitOpError("expected a state that the program writes, got @")
      << name << ", which " << writer
      << "; keep what the method needs in a state of another name";
  if (commit)
    diag.attachNote(commit->getLoc()) << "the commit is here";
  return diag;
}

LogicalResult mlir::mtp::verifyWriter(Operation *op, StringRef name) {
  const SharedState *state = findSharedState(name);
  if (!state)
    return success();
  switch (state->writer) {
  case StateWriter::Host: {
    Operation *commit = nullptr;
    if (!state->isHosts) {
      auto module = op->getParentOfType<ModuleOp>();
      commit = module ? findCommit(module) : nullptr;
      if (!commit)
        return success();
    }
    return refuse(op, name, "the host alone writes", commit);
  }
  case StateWriter::Launch:
    return isWritten(op)
               ? refuse(op, name,
                        "the host writes, and mtpc's own code after a round",
                        nullptr)
               : success();
  case StateWriter::Commit:
    if (Operation *commit = findCommitBeside(op))
      return refuse(op, name, "mtp.commit alone writes where it stands",
                    commit);
    return success();
  case StateWriter::Program:
    return success();
  }
  llvm_unreachable("every writer has a case");
}
