//===- OutlineControl.cpp - Kernels from the bodies of mtp.per_slot -------===//
//
// Every body of a program becomes an exec.kernel that carries it, on buffers,
// and the op becomes a call. Bodies that are equal except for the number of
// slots share one kernel.
//
// First, the states that bodies name are declared as exec.state in place of
// mtp.state. States that are not shared get an extent of slots.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ControlKernel.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/control/ControlBody.h"
#include "passes/support/PackedRows.h"
#include "passes/support/RoundStates.h"
#include "passes/support/SlotBody.h"
#include "llvm/Support/Debug.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_OUTLINECONTROLPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

#define DEBUG_TYPE "mtp-outline-control"

using namespace mlir;
using namespace mlir::mtp;

namespace {

/// A body that has become a kernel, and the first op that had the body.
struct Outlined {
  PerSlotOp first;
  exec::KernelOp kernel;
  ControlStates states;
  SmallVector<ControlInput> inputs;
};

struct OutlineControlPass
    : public mlir::mtp::impl::OutlineControlPassBase<OutlineControlPass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<exec::ExecDialect>();
    insertControlBodyDialects(registry);
  }
  void runOnOperation() override;

private:
  void declareStates();
  LogicalResult replaceByCall(PerSlotOp op);
  FailureOr<Outlined> outlinedFor(PerSlotOp op, const ControlInputs &inputs);
  FailureOr<ControlStates> findStates(PerSlotOp op);
  FailureOr<exec::KernelOp> makeKernel(PerSlotOp op,
                                       const ControlInputs &inputs,
                                       const ControlStates &states);
  std::string kernelName(PerSlotOp op);
  LogicalResult simplify(func::FuncOp function);

  std::optional<SymbolTable> symbols;
  /// Outlined bodies by the hash of the body.
  llvm::DenseMap<llvm::hash_code, SmallVector<Outlined, 1>> outlined;
  /// The number of kernels per name.
  llvm::StringMap<size_t> kernelCounts;
  /// Ops that have become calls. They are kept alive for their bodies.
  SmallVector<PerSlotOp> replaced;
};

} // namespace

/// Hashes the ops of `region` without their locations.
static llvm::hash_code hashRegion(Region &region) {
  llvm::hash_code hash(0);
  region.walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, op->getName(), op->getAttrDictionary(),
                           op->getResultTypes().size(), op->getNumOperands());
  });
  return hash;
}

/// Checks that all extents are static or counts.
static LogicalResult verifyStatic(PerSlotOp op) {
  auto check = [&](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped || exec::hasCountedShape(shaped);
  };
  WalkResult result = op->walk([&](Operation *inner) {
    bool isStatic = llvm::all_of(inner->getResultTypes(), check) &&
                    llvm::all_of(inner->getOperandTypes(), check);
    if (isStatic)
      return WalkResult::advance();
    inner->emitOpError("expected static sizes, is mtp-specialize-shapes "
                       "missing before this pass?");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Returns the packed rows from which `input` was unpacked, if `input` is in
/// groups and the packed rows have room for all rows of the round.
static std::optional<UnpackedRows> packedInput(Value input) {
  if (cast<RankedTensorType>(input.getType()).getRank() != 3)
    return std::nullopt;
  std::optional<UnpackedRows> rows = unpackedRows(input);
  if (!rows)
    return std::nullopt;
  exec::Count packed = exec::rowsOf(rows->packed());
  exec::Count all = exec::rowsOf(rows->places());
  bool haveRoom = packed.base >= all.base && packed.step >= all.step;
  return haveRoom ? rows : std::nullopt;
}

/// Collects the operands of a body's call. Packed rows are passed as they are,
/// with their places, so that they need not be unpacked.
static ControlInputs inputsOf(PerSlotOp op) {
  ControlInputs inputs;
  inputs.byArgument.resize(op.getInputs().size());
  llvm::MapVector<Value, size_t> places;
  auto addWhole = [&](Value value) {
    inputs.whole.push_back(value);
    inputs.types.push_back(value.getType());
    return inputs.whole.size() - 1;
  };
  for (auto [input, own] : llvm::zip(op.getInputs(), inputs.byArgument)) {
    std::optional<UnpackedRows> rows = packedInput(input);
    if (!rows) {
      own.operand = addWhole(input);
      continue;
    }
    auto known = places.find(rows->places());
    if (known == places.end()) {
      OpBuilder builder(op);
      Value grid = rows->placesIn(builder, op.getLoc(),
                                  cast<RankedTensorType>(input.getType()));
      known = places.insert({rows->places(), addWhole(grid)}).first;
    }
    own.places = known->second;
  }
  for (auto [input, own] : llvm::zip(op.getInputs(), inputs.byArgument)) {
    if (!own.places)
      continue;
    own.operand = inputs.types.size();
    inputs.types.push_back(input.getType());
    inputs.packed.push_back(packedInput(input)->packed());
  }
  return inputs;
}

FailureOr<ControlStates> OutlineControlPass::findStates(PerSlotOp op) {
  StateUses uses = collectStateUses(op);
  ControlStates states;
  auto find = [&](StringAttr name, SmallVectorImpl<exec::StateOp> &list) {
    auto state = symbols->lookup<exec::StateOp>(name);
    if (state)
      list.push_back(state);
    return bool(state);
  };
  for (StringAttr name : uses.read)
    if (!uses.written.contains(name) && !find(name, states.read))
      return op.emitOpError("expected an exec.state named ") << name;
  for (StringAttr name : uses.written)
    if (!find(name, states.updated))
      return op.emitOpError("expected an exec.state named ") << name;
  return states;
}

LogicalResult OutlineControlPass::simplify(func::FuncOp function) {
  OpPassManager manager(func::FuncOp::getOperationName());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  return runPipeline(manager, function);
}

/// Returns a name that describes the kernel and is valid as a symbol in all
/// object formats.
std::string OutlineControlPass::kernelName(PerSlotOp op) {
  StringAttr own = bodyName(op);
  std::string name = own ? own.str() : "control";
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  if (name.empty() || llvm::isDigit(name.front()))
    name.insert(0, "control_");
  return name + "_" + std::to_string(kernelCounts[name]++);
}

FailureOr<exec::KernelOp>
OutlineControlPass::makeKernel(PerSlotOp op, const ControlInputs &inputs,
                               const ControlStates &states) {
  // Functions have no slots; their bodies run once per row.
  auto envelope = getOperation()->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  int64_t slots = envelope ? int64_t(envelope.getMaxBatch()) : 1;
  OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
  func::FuncOp function =
      writeControlFunction(builder, op, inputs, states, slots);
  LogicalResult lowered = simplify(function);
  if (succeeded(lowered)) {
    defineControlResults(function);
    lowered = bufferizeControl(function);
  }
  if (succeeded(lowered))
    lowered = simplify(function);
  if (failed(lowered)) {
    function.erase();
    return op.emitOpError("has a body that cannot become a kernel");
  }
  builder.setInsertionPointToStart(getOperation().getBody());
  auto attr = exec::ControlKernelAttr::get(
      &getContext(),
      {.reads = int64_t(1 + inputs.types.size() + states.read.size()),
       .updates = int64_t(states.updated.size()),
       .outputs = op.getNumResults()});
  auto kernel =
      exec::KernelOp::create(builder, op.getLoc(), kernelName(op), attr);
  kernel.getBody().takeBody(function.getBody());
  kernel.getBody().front().getTerminator()->erase();
  function.erase();
  symbols->insert(kernel);
  ++numKernels;
  return kernel;
}

[[maybe_unused]] static void dump(const Outlined &outlined) {
  auto list = [](StringRef title, ArrayRef<exec::StateOp> states) {
    llvm::dbgs() << title;
    for (exec::StateOp state : states)
      llvm::dbgs() << " @" << state.getSymName();
  };
  exec::KernelOp kernel = outlined.kernel;
  llvm::dbgs() << "outlined @" << kernel.getSymName() << " from "
               << kernel.getLoc();
  list(": reads", outlined.states.read);
  list("; updates", outlined.states.updated);
  llvm::dbgs() << "\n";
}

FailureOr<Outlined>
OutlineControlPass::outlinedFor(PerSlotOp op, const ControlInputs &inputs) {
  SmallVector<Outlined, 1> &candidates =
      outlined[hashRegion(op.getBodyRegion())];
  for (Outlined &known : candidates)
    if (known.inputs == inputs.byArgument &&
        OperationEquivalence::isRegionEquivalentTo(
            &known.first.getBodyRegion(), &op.getBodyRegion(),
            OperationEquivalence::IgnoreLocations))
      return known;
  FailureOr<ControlStates> states = findStates(op);
  if (failed(states))
    return failure();
  FailureOr<exec::KernelOp> kernel = makeKernel(op, inputs, *states);
  if (failed(kernel))
    return failure();
  candidates.push_back({op, *kernel, *states, inputs.byArgument});
  LLVM_DEBUG(dump(candidates.back()));
  return candidates.back();
}

LogicalResult OutlineControlPass::replaceByCall(PerSlotOp op) {
  if (failed(verifyStatic(op)))
    return failure();
  ControlInputs inputs = inputsOf(op);
  FailureOr<Outlined> callee = outlinedFor(op, inputs);
  if (failed(callee))
    return failure();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto reference = [&](exec::StateOp state) -> Value {
    return exec::RefOp::create(builder, loc, state.getType(),
                               state.getSymName(), /*layer=*/0);
  };
  exec::KernelOp kernel = callee->kernel;
  auto call = exec::ControlOp::create(
      builder, loc, op.getResultTypes(), kernel.getSymName(),
      exec::CountAttr::get(&getContext(), exec::rowsOf(op.getSlots())),
      op.getSlots(), inputs.whole, inputs.packed,
      llvm::map_to_vector(callee->states.read, reference),
      llvm::map_to_vector(callee->states.updated, reference));
  op.replaceAllUsesWith(call);
  replaced.push_back(op);
  ++numCalls;
  return success();
}

void OutlineControlPass::declareStates() {
  auto envelope = getOperation()->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  for (StateOp state : llvm::to_vector(getOperation().getOps<StateOp>())) {
    OpBuilder builder(state);
    declareState(builder, state, envelope);
    state.erase();
  }
}

void OutlineControlPass::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<PerSlotOp> ops;
  for (exec::ProgramOp program : module.getOps<exec::ProgramOp>())
    llvm::append_range(ops, program.getBody().getOps<PerSlotOp>());
  if (ops.empty() && module.getOps<StateOp>().empty()) {
    markAllAnalysesPreserved();
    return;
  }
  if (!module.getOps<StateOp>().empty() &&
      !module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr)) {
    module.emitError("expected 'mtp.envelope' on a module with states");
    return signalPassFailure();
  }
  declareStates();
  symbols.emplace(module);
  for (PerSlotOp op : ops)
    if (failed(replaceByCall(op))) {
      signalPassFailure();
      break;
    }
  for (PerSlotOp op : replaced)
    op.erase();
}
