//===- FormStages.cpp - Order calls so that threads seldom meet -----------===//
//
// List scheduling with one question: may this call follow in the stage that is
// open? Between two calls that depend on each other the threads must meet, but
// for two cases: the same thread does both (`solo`, or a single task, which is
// the first thread's), or both go row by row over as many rows and touch the
// same rows, so that each thread reads the rows that it wrote.
//
// Dependences are those of values, and of buffers in program order: readers
// of a state or a cache layer wait for its last writer, a writer for all
// readers since. Which calls update the same rows of a buffer, they say
// themselves (`KernelOpInterface`).
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include <set>

namespace mlir::mtp {
#define GEN_PASS_DEF_FORMSTAGESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {

/// One end of a dependence.
struct Dependence {
  size_t call;
  /// A row of the one call depends on the same row of the other alone.
  bool byRow;
};

/// A call in the dependence graph of its program.
struct Call {
  KernelOpInterface op;
  int64_t tasks;
  bool rowLocal;
  bool solo;
  /// The calls that it waits for, and those that wait for it.
  SmallVector<Dependence> before, after;
  size_t pending = 0;
  int64_t stage = -1;

  bool isFirstThreads() const { return solo || tasks <= 1; }
};

struct FormStagesPass : public mtp::impl::FormStagesPassBase<FormStagesPass> {
  using Base::Base;

  void runOnOperation() override {
    for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
      // Calls are moved, which dispatches between them do not allow.
      auto dispatches = program.getBody().getOps<DispatchOp>();
      auto calls = program.getBody().getOps<KernelOpInterface>();
      if (!calls.empty() && !dispatches.empty()) {
        (*dispatches.begin())
            .emitOpError("expected no dispatch beside calls in value form");
        return signalPassFailure();
      }
      schedule(program);
    }
  }

private:
  bool isLight(KernelOpInterface op);
  void schedule(ProgramOp program);
};

} // namespace

/// The elements of a value with a row per row of the call, 0 of any other.
static int64_t activationElements(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? type.getNumElements() : 0;
}

/// Whether dividing the work would cost more than it saves.
bool FormStagesPass::isLight(KernelOpInterface op) {
  if (!op.dividesByRow())
    return false;
  int64_t elements = 0;
  // Parts of one activation are operands of their own.
  llvm::SmallPtrSet<Value, 8> seen;
  for (const KernelOperand &operand : op.getKernelOperands())
    if (seen.insert(operand.value).second)
      elements += activationElements(operand.value);
  for (Value value : op->getResults())
    elements += activationElements(value);
  return elements <= soloElements;
}

//===----------------------------------------------------------------------===//
// Dependences
//===----------------------------------------------------------------------===//

namespace {
/// Who used a buffer last.
struct LastUse {
  std::optional<size_t> writer;
  SmallVector<size_t> readers;
};

class DependenceGraph {
public:
  explicit DependenceGraph(ProgramOp program);

  SmallVector<Call> calls;

private:
  void add(KernelOpInterface op);
  void order(size_t from, size_t to, bool byRow);
  void useBuffer(Value buffer, bool isWrite, size_t user);

  llvm::DenseMap<Value, size_t> producer;
  /// By resource and layer, or by the buffer itself.
  llvm::DenseMap<std::pair<const void *, int64_t>, LastUse> buffers;
};
} // namespace

DependenceGraph::DependenceGraph(ProgramOp program) {
  for (auto op : program.getBody().front().getOps<KernelOpInterface>())
    add(op);
  for (Call &call : calls)
    call.pending = call.before.size();
}

void DependenceGraph::order(size_t from, size_t to, bool byRow) {
  if (from == to)
    return;
  auto find = [](SmallVector<Dependence> &list, size_t call) {
    return llvm::find_if(list,
                         [&](Dependence known) { return known.call == call; });
  };
  auto *known = find(calls[to].before, from);
  if (known == calls[to].before.end()) {
    calls[to].before.push_back({from, byRow});
    calls[from].after.push_back({to, byRow});
  } else if (known->byRow && !byRow) {
    known->byRow = find(calls[from].after, to)->byRow = false;
  }
}

void DependenceGraph::useBuffer(Value buffer, bool isWrite, size_t user) {
  auto ref = buffer.getDefiningOp<RefOp>();
  LastUse &use = ref ? buffers[{ref.getResourceAttr().getAsOpaquePointer(),
                                int64_t(ref.getLayer())}]
                     : buffers[{buffer.getAsOpaquePointer(), 0}];
  auto orderAfter = [&](size_t other) {
    order(other, user, calls[user].op.updatesSameRowsAs(calls[other].op));
  };
  if (use.writer)
    orderAfter(*use.writer);
  if (!isWrite) {
    use.readers.push_back(user);
    return;
  }
  for (size_t reader : use.readers)
    orderAfter(reader);
  use.readers.clear();
  use.writer = user;
}

void DependenceGraph::add(KernelOpInterface op) {
  size_t number = calls.size();
  calls.push_back({op, op.getTasks(), op.isRowLocal(), /*solo=*/false});
  for (auto [i, operand] : llvm::enumerate(op.getKernelOperands())) {
    Value value = operand.value;
    if (isa<MemRefType>(value.getType()))
      useBuffer(value, op.updatesOperand(i), number);
    else if (auto it = producer.find(value); it != producer.end())
      order(it->second, number, !op.readsAnyRow(i));
  }
  for (Value result : op->getResults())
    producer[result] = number;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Whether each thread needs of `before` only what it did itself.
static bool staysOnThread(const Call &before, const Call &call, bool byRow) {
  if (before.isFirstThreads() || call.isFirstThreads())
    return before.isFirstThreads() && call.isFirstThreads();
  return byRow && before.rowLocal && call.rowLocal &&
         before.tasks == call.tasks;
}

/// Whether all that reads `call` is divided by its rows: then it is, too, since
/// the threads would have to meet behind a solo call.
static bool isForDividedRows(ArrayRef<Call> calls, const Call &call) {
  return call.rowLocal && !call.after.empty() &&
         llvm::all_of(call.after, [&](Dependence after) {
           const Call &reader = calls[after.call];
           return after.byRow && reader.rowLocal && !reader.solo &&
                  reader.tasks == call.tasks;
         });
}

static bool canJoin(ArrayRef<Call> calls, const Call &call, int64_t stage) {
  return llvm::all_of(call.before, [&](Dependence dependence) {
    const Call &before = calls[dependence.call];
    return before.stage < stage ||
           staysOnThread(before, call, dependence.byRow);
  });
}

/// Puts the views of what `op` gives behind it.
static void moveViews(Operation *op) {
  for (Operation *user : op->getUsers()) {
    if (!isa<ColumnsOp, RegroupOp>(user))
      continue;
    user->moveBefore(op->getBlock(), op->getBlock()->end());
    moveViews(user);
  }
}

void FormStagesPass::schedule(ProgramOp program) {
  DependenceGraph graph(program);
  SmallVector<Call> &calls = graph.calls;
  // Readers first.
  for (Call &call : llvm::reverse(calls)) {
    call.solo =
        call.tasks > 1 && isLight(call.op) && !isForDividedRows(calls, call);
    call.op.setSolo(call.solo);
  }
  // Ready calls in program order: the order of equals does not change.
  std::set<size_t> ready;
  for (auto [number, call] : llvm::enumerate(calls))
    if (call.pending == 0)
      ready.insert(number);
  Block &body = program.getBody().front();
  int64_t stage = 0;
  bool opensStage = true;
  while (!ready.empty()) {
    auto next = llvm::find_if(ready, [&](size_t number) {
      return canJoin(calls, calls[number], stage);
    });
    if (next == ready.end()) {
      ++stage;
      opensStage = true;
      continue;
    }
    Call &call = calls[*next];
    call.stage = stage;
    call.op.setJoined(!opensStage);
    opensStage = false;
    // What is no call (references, inputs) stays in front; a view follows what
    // it is of.
    call.op->moveBefore(&body, body.end());
    moveViews(call.op);
    ready.erase(next);
    for (Dependence after : call.after)
      if (--calls[after.call].pending == 0)
        ready.insert(after.call);
  }
  for (OutputOp output : llvm::to_vector(body.getOps<OutputOp>()))
    output->moveBefore(&body, body.end());
  numCalls += calls.size();
  numStages += calls.empty() ? 0 : stage + 1;
}
