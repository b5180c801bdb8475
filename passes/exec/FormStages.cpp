//===- FormStages.cpp - Order calls so that barriers are few --------------===//
//
// List scheduling with one question: may this call join the open stage? A
// barrier separates two dependent calls, except in two cases. One thread runs
// both: each is solo or has a single task, which the first thread takes. Or
// both work row by row over equal numbers of rows and of active rows, and touch
// the same rows, so that each thread reads the rows that it wrote.
//
// Dependences are those of values, and of buffers in program order. Readers of
// a state or a cache layer wait for its last writer; a writer waits for all
// readers since. `KernelOpInterface` tells which calls update the same rows of
// a buffer.
//
// No call crosses a bound (exec.await_host, at which a round may stop for the
// host; exec.on_request, after which only calls for requests follow), and each
// bound has a barrier.
//
// Whether a call is light depends on n, and so do the stages. They only change
// at the n from which a call is no longer light or has a second task. Between
// these n each span has its own best order. A program has one order: one of the
// spans' orders that needs no more barriers than each span's own. If there is
// none, the program is split.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "passes/exec/ActiveRows.h"
#include "passes/exec/SplitProgram.h"
#include "runtime/schema/Limits.h"
#include "llvm/Support/Debug.h"
#include <set>

namespace mlir::mtp {
#define GEN_PASS_DEF_FORMSTAGESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

#define DEBUG_TYPE "exec-form-stages"

using namespace mlir;
using namespace mlir::exec;

namespace {

/// One end of a dependence.
struct Dependence {
  size_t call;
  /// True if each row of one call depends only on the row of the other call
  /// with an equal index.
  bool byRow;
};

/// A call in the dependence graph of its program.
struct Call {
  KernelOpInterface op;
  /// The number of rows or slots, and the number of active ones; null: all are
  /// active.
  Count rows;
  Value live;
  bool rowLocal;
  /// The number of bounds (exec.await_host, exec.on_request) before the call.
  size_t part;
  /// The smallest n at which the call has several tasks, and the smallest n at
  /// which dividing the tasks saves more than it costs.
  int64_t manyFrom, heavyFrom;
  /// The calls for which this call waits, and the calls that wait for it.
  SmallVector<Dependence> before, after;

  /// Returns whether threads divide its rows like the rows of `other`.
  bool hasRowsOf(const Call &other) const {
    return rows == other.rows && live == other.live;
  }
};

/// How a call runs at a certain n.
struct Share {
  bool solo = false;
  /// True if only the first thread runs the call: the call is solo or has a
  /// single task.
  bool isFirstThreads = false;
};

/// Calls by their index in the program, in execution order.
using Order = SmallVector<size_t>;

/// A range of n, given by its first n, and the share of each call in it.
struct Span {
  int64_t begin;
  SmallVector<Share> shares;
  /// The best order for the range, and the number of its stages.
  Order order;
  size_t stages = 0;
};

/// The steps of a schedule (exec.schedule) for an order of calls.
struct Steps {
  SmallVector<int8_t> steps;
  size_t stages = 0;
};

struct FormStagesPass
    : public mlir::mtp::impl::FormStagesPassBase<FormStagesPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  void schedule(ProgramOp program, SymbolTable &symbols);
};

} // namespace

void FormStagesPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  for (ProgramOp program :
       llvm::to_vector(getOperation().getOps<ProgramOp>())) {
    // Calls are reordered, which dispatches between them do not allow.
    auto dispatches = program.getBody().getOps<DispatchOp>();
    auto calls = program.getBody().getOps<KernelOpInterface>();
    if (!calls.empty() && !dispatches.empty()) {
      (*dispatches.begin())
          .emitOpError("expected no dispatch beside calls in value form");
      return signalPassFailure();
    }
    if (!calls.empty())
      schedule(program, symbols);
  }
}

//===----------------------------------------------------------------------===//
// Properties that depend on n
//===----------------------------------------------------------------------===//

/// Returns the number of elements of values with a row per row of the call.
static Count activationElements(KernelOpInterface op) {
  Count elements;
  // Parts of one activation are separate operands.
  llvm::SmallPtrSet<Value, 8> seen;
  auto add = [&](Value value) {
    if (isa<RankedTensorType>(value.getType()) && seen.insert(value).second)
      elements = elements + elementsOf(value).value_or(Count());
  };
  for (const KernelOperand &operand : op.getKernelOperands())
    add(operand.value);
  for (Value value : op->getResults())
    add(value);
  return elements;
}

/// Returns the smallest n of `points` at which `count` exceeds `most`, or
/// points.most + 1. Counts never decrease.
static int64_t firstAbove(Count count, int64_t most, Points points) {
  if (count.at(points.least) > most)
    return points.least;
  if (count.at(points.most) <= most)
    return points.most + 1;
  return llvm::divideFloorSigned(most - count.base, count.step) + 1;
}

/// Returns the smallest n of `points` at which a call has more than one task,
/// or points.most + 1.
static int64_t firstWithTasks(KernelOpInterface op, Points points) {
  int64_t low = points.least, high = points.most + 1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (op.getTasks(middle) > 1)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

//===----------------------------------------------------------------------===//
// Dependences
//===----------------------------------------------------------------------===//

/// Returns whether `op` is a bound that no call crosses.
static bool isBound(Operation *op) { return isa<AwaitHostOp, OnRequestOp>(op); }

namespace {
/// The last uses of a buffer.
struct LastUse {
  std::optional<size_t> writer;
  SmallVector<size_t> readers;
};

class DependenceGraph {
public:
  DependenceGraph(ProgramOp program, int64_t soloElements);

  SmallVector<Call> calls;

private:
  void add(KernelOpInterface op);
  void order(size_t from, size_t to, bool byRow);
  void useBuffer(Value buffer, bool isWrite, size_t user);
  void orderParts(size_t behind);

  /// The number of bounds so far.
  size_t part = 0;
  const Points points;
  const int64_t soloElements;
  const mlir::mtp::ActiveRows live;
  llvm::DenseMap<Value, size_t> producer;
  /// The calls that read a value.
  llvm::DenseMap<Value, SmallVector<size_t>> readers;
  /// Last uses, by resource and layer, or by the buffer itself.
  llvm::DenseMap<std::pair<const void *, int64_t>, LastUse> buffers;
};
} // namespace

DependenceGraph::DependenceGraph(ProgramOp program, int64_t soloElements)
    : points(program.getPoints()), soloElements(soloElements), live(program) {
  for (Operation &op : program.getBody().front())
    if (auto call = dyn_cast<KernelOpInterface>(op))
      add(call);
    else
      part += isBound(&op);
  for (size_t behind = 1; behind <= part; ++behind)
    orderParts(behind);
}

/// Orders all calls before bound number `behind` before all calls after it. It
/// suffices to order the calls without successors in the part before the bound
/// before the calls without predecessors in the part after it.
void DependenceGraph::orderParts(size_t behind) {
  auto isOfPart = [&](size_t part) {
    return [&, part](Dependence dependence) {
      return calls[dependence.call].part == part;
    };
  };
  SmallVector<size_t> last, first;
  for (auto [number, call] : llvm::enumerate(calls)) {
    if (call.part + 1 == behind &&
        llvm::none_of(call.after, isOfPart(call.part)))
      last.push_back(number);
    if (call.part == behind && llvm::none_of(call.before, isOfPart(behind)))
      first.push_back(number);
  }
  for (size_t before : last)
    for (size_t follower : first)
      order(before, follower, /*byRow=*/false);
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
  int64_t heavyFrom = op.dividesByRow() ? firstAbove(activationElements(op),
                                                     soloElements, points)
                                        : points.least;
  calls.push_back({op, op.getKernelParams().front(), live.of(op),
                   op.isRowLocal(), part, firstWithTasks(op, points),
                   heavyFrom});
  for (auto [i, operand] : llvm::enumerate(op.getKernelOperands())) {
    Value value = operand.value;
    if (isa<MemRefType>(value.getType()))
      useBuffer(value, op.updatesOperand(i), number);
    else if (auto it = producer.find(value); it != producer.end())
      order(it->second, number, !op.readsAnyRow(i));
    // The old value of a buffer that a call updates is read before the call.
    if (isa<RankedTensorType>(value.getType())) {
      if (op.updatesOperand(i))
        for (size_t reader : readers[value])
          order(reader, number, /*byRow=*/false);
      readers[value].push_back(number);
    }
  }
  for (Value result : op->getResults())
    producer[result] = number;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

namespace {
/// Orders the calls of one program.
class Scheduler {
public:
  explicit Scheduler(ArrayRef<Call> calls) : calls(calls) {}

  /// Returns the ranges of n of the program, each with its best order.
  SmallVector<Span> findSpans(Points points) const;
  /// Returns the number of leading `spans` for which `order` needs no more
  /// stages than the span's own order.
  size_t suits(const Order &order, ArrayRef<Span> spans) const;
  /// Returns the stages of `order`.
  Steps formSteps(const Order &order, ArrayRef<Share> shares) const;

private:
  SmallVector<Share> sharesAt(int64_t n) const;
  Order findOrder(ArrayRef<Share> shares) const;
  bool staysOnThread(size_t before, size_t call, bool byRow,
                     ArrayRef<Share> shares) const;
  bool isForDividedRows(size_t call, ArrayRef<Share> shares) const;
  bool canJoin(size_t call, int64_t stage, ArrayRef<int64_t> stages,
               ArrayRef<Share> shares) const;

  ArrayRef<Call> calls;
};
} // namespace

/// Returns whether each thread needs only the results of `before` that it
/// computed itself.
bool Scheduler::staysOnThread(size_t before, size_t call, bool byRow,
                              ArrayRef<Share> shares) const {
  if (shares[before].isFirstThreads || shares[call].isFirstThreads)
    return shares[before].isFirstThreads && shares[call].isFirstThreads;
  return byRow && calls[before].rowLocal && calls[call].rowLocal &&
         calls[before].hasRowsOf(calls[call]);
}

/// Returns whether all readers of `call` are divided by its rows. Then `call`
/// is divided, too, since a barrier would follow a solo call.
bool Scheduler::isForDividedRows(size_t number, ArrayRef<Share> shares) const {
  const Call &call = calls[number];
  return call.rowLocal && !call.after.empty() &&
         llvm::all_of(call.after, [&](Dependence after) {
           const Call &reader = calls[after.call];
           return after.byRow && reader.rowLocal && !shares[after.call].solo &&
                  reader.hasRowsOf(call);
         });
}

SmallVector<Share> Scheduler::sharesAt(int64_t n) const {
  SmallVector<Share> shares(calls.size());
  // Readers first.
  for (size_t i = calls.size(); i-- > 0;) {
    shares[i].solo = n < calls[i].heavyFrom && !isForDividedRows(i, shares);
    shares[i].isFirstThreads = shares[i].solo || n < calls[i].manyFrom;
  }
  return shares;
}

bool Scheduler::canJoin(size_t call, int64_t stage, ArrayRef<int64_t> stages,
                        ArrayRef<Share> shares) const {
  return llvm::all_of(calls[call].before, [&](Dependence dependence) {
    const Call &before = calls[dependence.call];
    return stages[dependence.call] < stage ||
           (before.part == calls[call].part &&
            staysOnThread(dependence.call, call, dependence.byRow, shares));
  });
}

Order Scheduler::findOrder(ArrayRef<Share> shares) const {
  SmallVector<size_t> pending;
  // Ready calls in program order, so that equal calls keep their order.
  std::set<size_t> ready;
  for (auto [number, call] : llvm::enumerate(calls)) {
    pending.push_back(call.before.size());
    if (call.before.empty())
      ready.insert(number);
  }
  Order order;
  SmallVector<int64_t> stages(calls.size());
  for (int64_t stage = 0; !ready.empty();) {
    auto next = llvm::find_if(ready, [&](size_t number) {
      return canJoin(number, stage, stages, shares);
    });
    if (next == ready.end()) {
      ++stage;
      continue;
    }
    size_t number = *next;
    ready.erase(next);
    stages[number] = stage;
    order.push_back(number);
    for (Dependence after : calls[number].after)
      if (--pending[after.call] == 0)
        ready.insert(after.call);
  }
  return order;
}

Steps Scheduler::formSteps(const Order &order, ArrayRef<Share> shares) const {
  Steps result;
  SmallVector<int64_t> stages(calls.size());
  int64_t stage = 0;
  for (auto [place, number] : llvm::enumerate(order)) {
    bool joins = place > 0 && canJoin(number, stage, stages, shares);
    if (place > 0 && !joins)
      ++stage;
    stages[number] = stage;
    result.steps.push_back((shares[number].solo ? ScheduleOp::kSolo : 0) |
                           (joins ? ScheduleOp::kJoined : 0));
  }
  result.stages = stage + 1;
  return result;
}

SmallVector<Span> Scheduler::findSpans(Points points) const {
  std::set<int64_t> begins = {points.least};
  for (const Call &call : calls)
    for (int64_t begin : {call.manyFrom, call.heavyFrom})
      if (begin <= points.most)
        begins.insert(begin);
  SmallVector<Span> spans;
  for (int64_t begin : begins) {
    Span span{begin, sharesAt(begin), {}};
    span.order = findOrder(span.shares);
    span.stages = formSteps(span.order, span.shares).stages;
    spans.push_back(std::move(span));
  }
  return spans;
}

size_t Scheduler::suits(const Order &order, ArrayRef<Span> spans) const {
  auto isWorse = [&](const Span &span) {
    return formSteps(order, span.shares).stages > span.stages;
  };
  return llvm::find_if(spans, isWorse) - spans.begin();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Moves the views of the results of `op` to the end of the block, after `op`.
static void moveViews(Operation *op) {
  for (Operation *user : op->getUsers()) {
    if (!isa<ColumnsOp, ReshapeOp>(user))
      continue;
    user->moveBefore(op->getBlock(), op->getBlock()->end());
    moveViews(user);
  }
}

/// Moves the calls of a block into `order`. Other ops (references, inputs) stay
/// in front, a view follows its source, bounds stay between the calls that they
/// separate, and outputs come last.
static void moveCalls(Block &body, ArrayRef<Call> calls, const Order &order) {
  SmallVector<Operation *> bounds;
  for (Operation &op : body)
    if (isBound(&op))
      bounds.push_back(&op);
  size_t passed = 0;
  for (size_t number : order) {
    if (passed < calls[number].part)
      bounds[passed++]->moveBefore(&body, body.end());
    Operation *op = calls[number].op;
    op->moveBefore(&body, body.end());
    moveViews(op);
  }
  for (OutputOp output : llvm::to_vector(body.getOps<OutputOp>()))
    output->moveBefore(&body, body.end());
}

void FormStagesPass::schedule(ProgramOp program, SymbolTable &symbols) {
  DependenceGraph graph(program, soloElements);
  Scheduler scheduler(graph.calls);
  SmallVector<Span> spans = scheduler.findSpans(program.getPoints());
  const Span *best = nullptr;
  size_t suited = 0;
  for (const Span &span : spans)
    if (size_t count = scheduler.suits(span.order, spans); count > suited) {
      suited = count;
      best = &span;
    }
  suited = std::min<size_t>(suited, ::mtp::kMostSchedules);
  if (suited < spans.size()) {
    int64_t at = spans[suited].begin;
    LLVM_DEBUG(llvm::dbgs()
               << "split @" << program.getSymName() << " at " << at << "\n");
    schedule(mlir::mtp::splitProgram(program, at, symbols), symbols);
    ++numSplit;
  }
  Block &body = program.getBody().front();
  moveCalls(body, graph.calls, best->order);
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  SmallVector<int8_t> before;
  for (const Span &span : ArrayRef(spans).take_front(suited)) {
    Steps steps = scheduler.formSteps(best->order, span.shares);
    if (steps.steps != before)
      ScheduleOp::create(builder, program.getLoc(), span.begin, steps.steps);
    before = steps.steps;
    numStages += steps.stages;
  }
  numCalls += graph.calls.size();
}
