//===- RoundStates.cpp - States by name -----------------------------------===//

#include "passes/support/RoundStates.h"
#include "dialects/MTP/IR/StateTable.h"
#include "runtime/schema/ConfidenceStates.h"
#include "runtime/schema/LoopLayout.h"
#include "runtime/schema/PlaceLayout.h"
#include "runtime/schema/SamplingLayout.h"

using namespace mlir;
using namespace mlir::mtp;

std::string mlir::mtp::states::carry(int64_t module) {
  return ("carry_" + llvm::Twine(module)).str();
}

namespace {
/// The declaration of a state.
struct Declaration {
  bool shared = false;
  SmallVector<std::pair<ExtentUnit, int64_t>> extents;
  bool isFloat = false;
  /// The number of a prompt's last rows that rewrite the state.
  int64_t rebuildRows = 1;
  /// The initial value of all elements; none means 0.
  std::optional<int64_t> init;
  /// True if the host writes the known tokens to the state.
  bool hasTokens = false;
};
} // namespace

static Declaration declarationOf(llvm::StringRef name, int64_t width) {
  using namespace states;
  auto window = std::make_pair(ExtentUnit::MaxK, int64_t(1));
  auto chunk = std::make_pair(ExtentUnit::PrefillChunk, int64_t(0));
  auto slots = std::make_pair(ExtentUnit::MaxBatch, int64_t(0));
  auto fixed = [](int64_t size) {
    return std::make_pair(ExtentUnit::Fixed, size);
  };
  if (name == kWindow || name == kOutTokens)
    return {false, {window}};
  if (name == kPageTable)
    return {false, {{ExtentUnit::MaxPages, 0}}};
  if (name == kDrafterPlaces)
    return {false, {{ExtentUnit::MaxK, 0}, fixed(::mtp::kPlaceWords)}};
  if (name == kSampling)
    return {false, {fixed(::mtp::kSamplingWords)}};
  if (name == kLoop)
    return {false, {fixed(::mtp::kLoopWords)}};
  if (name == kStopTokens)
    return {.extents = {fixed(::mtp::kStopTokens)}, .init = -1};
  if (name == kDraftLimit)
    return {.init = INT32_MAX};
  if (name == kRing)
    return {false, {fixed(::mtp::kRingRounds), {ExtentUnit::MaxK, int64_t(2)}}};
  if (name == kActive)
    return {true, {slots}};
  if (name == kPromptTokens || name == kPromptPositions)
    return {true, {fixed(width + 1), chunk}};
  if (name == kPromptSlots)
    return {true, {chunk}};
  if (name == kSequences)
    return {true, {fixed(kSequenceWords), slots}};
  if (name == kKnown)
    return {.extents = {{ExtentUnit::MaxContext, 1}},
            .init = -1,
            .hasTokens = true};
  if (name == kLogitPath || name == kHostDrafts)
    return {.extents = {fixed(width)}};
  if (name == kHidden)
    return {false, {window, fixed(width)}, true};
  if (name == llvm::StringRef(::mtp::kShownConfidence))
    return {false, {fixed(::mtp::kRingRounds), {ExtentUnit::MaxK, 0}}, true};
  llvm::StringRef number = name;
  int64_t module = 1;
  // Hidden states of module d - 1 are valid up to d places before a prompt's
  // end.
  if (number.consume_front("carry_") && !number.getAsInteger(10, module))
    return {false, {fixed(width)}, true, module};
  return {};
}

static void declare(ModuleOp module, llvm::StringRef name,
                    const Declaration &state) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  SmallVector<Attribute> extents;
  for (auto [unit, offset] : state.extents)
    extents.push_back(ExtentAttr::get(builder.getContext(), unit, offset));
  Type element =
      state.isFloat ? Type(builder.getF32Type()) : builder.getI32Type();
  StateOp::create(builder, module.getLoc(), state.shared, name,
                  builder.getArrayAttr(extents), element,
                  state.init ? builder.getI32IntegerAttr(int32_t(*state.init))
                             : TypedAttr(),
                  state.hasTokens ? Rebuild::Tokens : Rebuild::Rows,
                  state.rebuildRows);
}

void mlir::mtp::useState(ModuleOp module, llvm::StringRef name, int64_t width) {
  if (!hasState(module, name))
    declare(module, name, declarationOf(name, width));
}

void mlir::mtp::declareRecent(ModuleOp module, int64_t width, int64_t rows,
                              int64_t rebuildRows) {
  declare(module, states::kRecentHidden,
          {.extents = {{ExtentUnit::Fixed, rows}, {ExtentUnit::Fixed, width}},
           .isFloat = true,
           .rebuildRows = rebuildRows});
}

int64_t mlir::mtp::catchUpSequences(ModuleOp module) {
  auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  return std::min<int64_t>(kMostSequences, envelope.getMaxBatch());
}

/// Returns whether `state` has the extents and type of `wanted`. Its first
/// extent may be larger.
static bool hasRoom(StateOp state, const Declaration &wanted,
                    EnvelopeAttr envelope) {
  SmallVector<int64_t> shape = state.getShape(envelope);
  if (state.getShared() || shape.size() != wanted.extents.size() ||
      state.getElementType().isF32() != wanted.isFloat ||
      state.getElementType().isInteger(64))
    return false;
  for (auto [i, extent] : llvm::enumerate(wanted.extents)) {
    int64_t size =
        ExtentAttr::get(state.getContext(), extent.first, extent.second)
            .getSize(envelope);
    bool isLast = i + 1 == shape.size();
    if (isLast && wanted.isFloat ? shape[i] != size : shape[i] < size)
      return false;
  }
  return true;
}

/// Checks the restore rules of a state that a commit writes. The host must not
/// restore or initialize the state with other values than the commit wrote.
static LogicalResult verifyUpkeep(StateOp state, CommitOp commit) {
  llvm::StringRef name = state.getSymName();
  llvm::StringRef wrong;
  auto init = dyn_cast_or_null<IntegerAttr>(state.getInitAttr());
  if (state.getInput())
    wrong = "input";
  else if (state.getRebuild() == Rebuild::Save ||
           state.getRebuild() == Rebuild::Tokens)
    wrong = "rebuild save or tokens";
  else if (name == states::kAccepted && init && init.getInt() != 0)
    wrong = "init other than 0";
  if (wrong.empty())
    return success();
  InFlightDiagnostic diag = state.emitOpError("expected @")
                            << name << " without '" << wrong
                            << "', as mtp.commit alone writes it";
  diag.attachNote(commit.getLoc()) << "the commit is here";
  return diag;
}

/// Checks the state from which a commit takes an anchor that the host knows. A
/// position without a known token holds a negative number.
static LogicalResult verifyKnown(ModuleOp module) {
  auto state = module.lookupSymbol<StateOp>(states::kKnown);
  Operation *commit = state ? findCommit(module) : nullptr;
  if (!commit)
    return success();
  auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  auto init = dyn_cast_or_null<IntegerAttr>(state.getInitAttr());
  if (hasRoom(state, declarationOf(states::kKnown, 0), envelope) &&
      state.getRebuild() == Rebuild::Tokens && init && init.getInt() == -1)
    return success();
  InFlightDiagnostic diag =
      state.emitOpError("expected 'mtp.state @known[max_context + 1] : i32 "
                        "init -1 rebuild tokens', as mtp.commit reads from the "
                        "state of this name which token the host knows");
  diag.attachNote(commit->getLoc()) << "the commit is here";
  return diag;
}

/// Checks that `state` has the form in which a commit writes it; reports an
/// error if not.
static LogicalResult verifyCommitted(StateOp state, CommitOp commit,
                                     EnvelopeAttr envelope) {
  llvm::StringRef name = state.getSymName();
  int64_t width = widthOf(commit.getHidden());
  if (hasRoom(state, declarationOf(name, width), envelope))
    return verifyUpkeep(state, commit);
  InFlightDiagnostic diag = state.emitOpError("expected ");
  if (name == states::kAccepted)
    diag << "one i32 of each slot";
  else if (name == states::kWindow)
    diag << "max_k + 1 = " << envelope.getMaxK() + 1 << " i32 of each slot";
  else
    diag << "max_k + 1 = " << envelope.getMaxK() + 1 << " rows of " << width
         << " f32 of each slot";
  diag << ", as mtp.commit writes them to the state of this name";
  diag.attachNote(commit.getLoc()) << "the commit is here";
  return diag;
}

LogicalResult mlir::mtp::verifyRoundStates(ModuleOp module) {
  auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  for (RoundOp round : module.getOps<RoundOp>())
    for (auto commit : round.getBody()->getOps<CommitOp>())
      for (llvm::StringLiteral name :
           {states::kAccepted, states::kWindow, states::kHidden})
        if (auto state = module.lookupSymbol<StateOp>(name))
          if (failed(verifyCommitted(state, commit, envelope)))
            return failure();
  return verifyKnown(module);
}

bool mlir::mtp::isHostState(llvm::StringRef name) {
  const SharedState *state = findSharedState(name);
  return state && state->isHosts;
}

int64_t mlir::mtp::placesAhead(ModuleOp module) {
  int64_t ahead = 0;
  for (PrefillOp prefill : module.getOps<PrefillOp>())
    for (auto rows : prefill.getBody()->getOps<PromptRowsOp>())
      ahead = std::max(ahead, int64_t(rows.getAhead()));
  return ahead;
}

void mlir::mtp::declareContract(ModuleOp module, int64_t ahead) {
  using namespace states;
  for (llvm::StringRef name : {kActive, kLength, kOutTokens, kOutCount,
                               kPageTable, kSampling, kPromptSlots, kSequences})
    useState(module, name);
  useState(module, kPromptTokens, ahead);
  useState(module, kPromptPositions, ahead);
}

exec::StateOp mlir::mtp::declareState(OpBuilder &builder, StateOp state,
                                      EnvelopeAttr envelope) {
  SmallVector<int64_t> shape = state.getShape(envelope);
  if (!state.getShared())
    shape.insert(shape.begin(), envelope.getMaxBatch());
  auto memory = exec::StateOp::create(
      builder, state.getLoc(), state.getSymName(),
      MemRefType::get(shape, state.getElementType()), state.getShared());
  if (state.getInitAttr())
    memory.setInitAttr(state.getInitAttr());
  memory.setRebuild(state.getRebuild());
  memory.setRebuildRows(state.getRebuildRows());
  memory.setInput(state.getInput());
  return memory;
}

void mlir::mtp::allocateStates(ModuleOp module, EnvelopeAttr envelope) {
  for (StateOp state : llvm::to_vector(module.getOps<StateOp>())) {
    OpBuilder builder(state);
    declareState(builder, state, envelope);
    state.erase();
  }
}
