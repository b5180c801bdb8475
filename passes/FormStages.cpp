//===- FormStages.cpp - Order calls so that threads seldom meet -----------===//
//
// List scheduling with one question: may this call follow in the stage that is
// open? Between two calls that depend on each other the threads must meet, but
// for two cases: the same thread does both (`solo`, or a single task, which is
// the first thread's), or both go row by row over as many rows, so that each
// thread reads the rows that it wrote.
//
// Dependences are those of values, and of resources in program order: readers
// of a state or a cache layer wait for its last writer, a writer for all
// readers since.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "passes/Passes.h"
#include <set>

namespace mlir::mtp {
#define GEN_PASS_DEF_FORMSTAGESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {

/// A call in the dependence graph of its program.
struct Call {
  InvokeOp op;
  int64_t tasks;
  bool rowLocal;
  bool solo;
  /// The calls that it waits for, and those that wait for it, by number.
  SmallVector<size_t> before, after;
  size_t pending = 0;
  int64_t stage = -1;

  bool isFirstThreads() const { return solo || tasks <= 1; }
};

struct FormStagesPass : public mtp::impl::FormStagesPassBase<FormStagesPass> {
  using Base::Base;

  void runOnOperation() override {
    for (ProgramOp program : getOperation().getOps<ProgramOp>())
      schedule(program);
  }

private:
  bool isLight(InvokeOp op);
  void schedule(ProgramOp program);
};

} // namespace

/// The elements of a value with a row per row of the call, 0 of any other.
static int64_t activationElements(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? type.getNumElements() : 0;
}

/// Whether dividing the work would cost more than it saves.
bool FormStagesPass::isLight(InvokeOp op) {
  if (!dividesByRow(op.getKind()))
    return false;
  int64_t elements = 0;
  // Parts of one activation are operands of their own.
  llvm::SmallSetVector<Value, 8> operands(op->operand_begin(),
                                          op->operand_end());
  for (Value value : operands)
    elements += activationElements(value);
  for (Value value : op->getResults())
    elements += activationElements(value);
  return elements <= soloElements;
}

//===----------------------------------------------------------------------===//
// Dependences
//===----------------------------------------------------------------------===//

namespace {
/// Who used a resource last.
struct LastUse {
  std::optional<size_t> writer;
  SmallVector<size_t> readers;
};

class DependenceGraph {
public:
  explicit DependenceGraph(ProgramOp program);

  SmallVector<Call> calls;

private:
  void add(InvokeOp op);
  void order(size_t from, size_t to);
  void useResource(RefOp ref, bool isWrite, size_t user);

  llvm::DenseMap<Value, size_t> producer;
  llvm::DenseMap<std::pair<Attribute, int64_t>, LastUse> resources;
};
} // namespace

DependenceGraph::DependenceGraph(ProgramOp program) {
  for (InvokeOp op : program.getBody().front().getOps<InvokeOp>())
    add(op);
  for (Call &call : calls)
    call.pending = call.before.size();
}

void DependenceGraph::order(size_t from, size_t to) {
  if (from == to || llvm::is_contained(calls[to].before, from))
    return;
  calls[to].before.push_back(from);
  calls[from].after.push_back(to);
}

void DependenceGraph::useResource(RefOp ref, bool isWrite, size_t user) {
  LastUse &use = resources[{ref.getResourceAttr(), int64_t(ref.getLayer())}];
  if (use.writer)
    order(*use.writer, user);
  if (!isWrite) {
    use.readers.push_back(user);
    return;
  }
  for (size_t reader : use.readers)
    order(reader, user);
  use.readers.clear();
  use.writer = user;
}

void DependenceGraph::add(InvokeOp op) {
  size_t number = calls.size();
  llvm::StringRef kind = op.getKind();
  calls.push_back({op, kernelTasks(kind, op.getConfig(), op.getParams()),
                   isRowLocal(kind), /*solo=*/false});
  for (auto [i, arg] : llvm::enumerate(op.getArgs())) {
    if (auto ref = arg.getDefiningOp<RefOp>())
      useResource(ref, updatesBuffer(kind, i), number);
    else if (auto it = producer.find(arg); it != producer.end())
      order(it->second, number);
  }
  for (Value result : op.getResults())
    producer[result] = number;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Whether each thread needs of `before` only what it did itself.
static bool staysOnThread(const Call &before, const Call &call) {
  if (before.isFirstThreads() || call.isFirstThreads())
    return before.isFirstThreads() && call.isFirstThreads();
  return before.rowLocal && call.rowLocal && before.tasks == call.tasks;
}

/// Whether all that reads `call` is divided by its rows: then it is, too, since
/// the threads would have to meet behind a solo call.
static bool isForDividedRows(ArrayRef<Call> calls, const Call &call) {
  return call.rowLocal && !call.after.empty() &&
         llvm::all_of(call.after, [&](size_t number) {
           const Call &reader = calls[number];
           return reader.rowLocal && !reader.solo && reader.tasks == call.tasks;
         });
}

static bool canJoin(ArrayRef<Call> calls, const Call &call, int64_t stage) {
  return llvm::all_of(call.before, [&](size_t number) {
    const Call &before = calls[number];
    return before.stage < stage || staysOnThread(before, call);
  });
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
    // What is no call (references, inputs) stays in front.
    call.op->moveBefore(&body, body.end());
    ready.erase(next);
    for (size_t number : call.after)
      if (--calls[number].pending == 0)
        ready.insert(number);
  }
  for (OutputOp output : llvm::to_vector(body.getOps<OutputOp>()))
    output->moveBefore(&body, body.end());
  numCalls += calls.size();
  numStages += calls.empty() ? 0 : stage + 1;
}
