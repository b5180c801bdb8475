//===- DeferOutputs.cpp - Run calls for requests last ---------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_DEFEROUTPUTSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {

/// The ops of a program that only requests need. Ops are visited from the last
/// to the first, so the users of a value come before the op that defines it.
class Deferred {
public:
  explicit Deferred(ProgramOp program);

  /// Deferred ops in program order, views included.
  SmallVector<Operation *> ops;
  size_t calls = 0;

private:
  bool isForRequests(Operation *op) const;
  bool readsWhatFollowsWrites(KernelOpInterface call) const;
  void noteWrites(KernelOpInterface call);

  llvm::SmallPtrSet<Operation *, 8> chosen;
  ProgramOp program;
  /// States and caches that later ops write which are not deferred.
  llvm::DenseSet<Attribute> written;
  /// Whether the host may write any state at a later op.
  bool hostWrites = false;
};

struct DeferOutputsPass
    : public mlir::mtp::impl::DeferOutputsPassBase<DeferOutputsPass> {
  using Base::Base;

  void runOnOperation() override;
};

} // namespace

/// Returns the state, cache or weight to which an operand refers; null if it is
/// none.
static FlatSymbolRefAttr resourceOf(Value value) {
  auto ref = value.getDefiningOp<RefOp>();
  return ref ? ref.getResourceAttr() : FlatSymbolRefAttr();
}

/// Returns whether every user of `op` is deferred or is an output for requests.
bool Deferred::isForRequests(Operation *op) const {
  return !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *user) {
    auto output = dyn_cast<OutputOp>(user);
    return output ? output.getOf().has_value() : chosen.contains(user);
  });
}

bool Deferred::readsWhatFollowsWrites(KernelOpInterface call) const {
  auto isState = [&](FlatSymbolRefAttr resource) {
    return isa_and_nonnull<StateOp>(
        SymbolTable::lookupNearestSymbolFrom(program, resource));
  };
  return llvm::any_of(call.getKernelOperands(),
                      [&](const KernelOperand &operand) {
                        FlatSymbolRefAttr resource = resourceOf(operand.value);
                        return resource && (written.contains(resource) ||
                                            (hostWrites && isState(resource)));
                      });
}

void Deferred::noteWrites(KernelOpInterface call) {
  for (auto [i, operand] : llvm::enumerate(call.getKernelOperands()))
    if (Attribute resource = resourceOf(operand.value);
        resource && call.updatesOperand(i))
      written.insert(resource);
}

Deferred::Deferred(ProgramOp program) : program(program) {
  for (Operation &op : llvm::reverse(program.getBody().front())) {
    hostWrites |= isa<AwaitHostOp>(op);
    auto call = dyn_cast<KernelOpInterface>(op);
    if (!call && !isa<ColumnsOp, ReshapeOp>(op))
      continue;
    bool writes = false;
    if (call)
      for (size_t i = 0; i < call.getKernelOperands().size(); ++i)
        writes |= call.updatesOperand(i);
    if (isForRequests(&op) && !writes &&
        !(call && readsWhatFollowsWrites(call))) {
      chosen.insert(&op);
      ops.push_back(&op);
      calls += call ? 1 : 0;
    } else if (call) {
      noteWrites(call);
    }
  }
  std::reverse(ops.begin(), ops.end());
}

void DeferOutputsPass::runOnOperation() {
  for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
    if (program.getKind() == ProgramKind::Function)
      continue;
    Deferred deferred(program);
    if (deferred.calls == 0)
      continue;
    Block &body = program.getBody().front();
    OpBuilder builder = OpBuilder::atBlockEnd(&body);
    OnRequestOp::create(builder, program.getLoc());
    for (Operation *op : deferred.ops)
      op->moveBefore(&body, body.end());
    for (OutputOp output : llvm::to_vector(body.getOps<OutputOp>()))
      output->moveBefore(&body, body.end());
    numDeferred += deferred.calls;
  }
}
