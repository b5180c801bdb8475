//===- FormStages.cpp - Order calls so that barriers are few --------------===//
//
// List scheduling with one question: may this call follow in the stage that is
// open? Between two calls that depend on each other there is a barrier, but for
// two cases: the same thread does both (a solo call, or a single task, which is
// the first thread's), or both go row by row over as many rows, of which as
// many live, and touch the same rows, so that each thread reads the rows that
// it wrote.
//
// Dependences are those of values, and of buffers in program order: readers
// of a state or a cache layer wait for its last writer, a writer for all
// readers since. Which calls update the same rows of a buffer, they say
// themselves (`KernelOpInterface`).
//
// No call crosses the place where a round may stop for the host, nor that
// where what only requests ask for begins, and there is a barrier
// (exec.await_host, exec.on_request).
//
// What is light depends on n, and so do the stages: between the n at which a
// call is light no more, or gets a second task, nothing changes. Each of these
// spans has an order of its own that is good for it. A program has one order,
// so one of theirs is taken that needs no more barriers than any span's own;
// where there is none the program is split.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "passes/exec/LiveRows.h"
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
  /// A row of the one call depends on the same row of the other alone.
  bool byRow;
};

/// A call in the dependence graph of its program.
struct Call {
  KernelOpInterface op;
  /// Rows or slots, and how many of them live; null: all.
  Count rows;
  Value live;
  bool rowLocal;
  /// How many bounds it stands behind (exec.await_host, exec.on_request).
  size_t part;
  /// The least n at which it has several tasks, and at which dividing them
  /// saves more than it costs.
  int64_t manyFrom, heavyFrom;
  /// The calls that it waits for, and those that wait for it.
  SmallVector<Dependence> before, after;

  /// Whether threads share its rows as those of `other`.
  bool hasRowsOf(const Call &other) const {
    return rows == other.rows && live == other.live;
  }
};

/// What depends on n of a call.
struct Share {
  bool solo = false;
  /// Solo, or with a single task.
  bool isFirstThreads = false;
};

/// Calls, by their place in the program, in the order in which they are done.
using Order = SmallVector<size_t>;

/// From which n on each call is done how.
struct Span {
  int64_t begin;
  SmallVector<Share> shares;
  /// The order that suits it, and how many stages that has.
  Order order;
  size_t stages = 0;
};

/// The steps of a schedule (exec.schedule), in an order.
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
    // Calls are moved, which dispatches between them do not allow.
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
// What depends on n
//===----------------------------------------------------------------------===//

/// The elements of values with a row per row of the call.
static Count activationElements(KernelOpInterface op) {
  Count elements;
  // Parts of one activation are operands of their own.
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

/// The least n of `points` at which `count` is more than `most`, or one that is
/// behind them all. Counts do not fall.
static int64_t firstAbove(Count count, int64_t most, Points points) {
  if (count.at(points.least) > most)
    return points.least;
  if (count.at(points.most) <= most)
    return points.most + 1;
  return llvm::divideFloorSigned(most - count.base, count.step) + 1;
}

/// The same of the tasks of a call.
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

/// What no call crosses.
static bool isBound(Operation *op) { return isa<AwaitHostOp, OnRequestOp>(op); }

namespace {
/// Who used a buffer last.
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

  /// Bounds so far.
  size_t part = 0;
  const Points points;
  const int64_t soloElements;
  const mlir::mtp::LiveRows live;
  llvm::DenseMap<Value, size_t> producer;
  /// By resource and layer, or by the buffer itself.
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

/// What nobody of the part in front waits for comes before what waits for
/// nobody of the one behind, and with them all else.
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

  /// Where the program's n divide, with the best order of each.
  SmallVector<Span> findSpans(Points points) const;
  /// How many of the spans from the first on `order` suits as well as their
  /// own.
  size_t suits(const Order &order, ArrayRef<Span> spans) const;
  /// The stages of that order.
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

/// Whether each thread needs of `before` only what it did itself.
bool Scheduler::staysOnThread(size_t before, size_t call, bool byRow,
                              ArrayRef<Share> shares) const {
  if (shares[before].isFirstThreads || shares[call].isFirstThreads)
    return shares[before].isFirstThreads && shares[call].isFirstThreads;
  return byRow && calls[before].rowLocal && calls[call].rowLocal &&
         calls[before].hasRowsOf(calls[call]);
}

/// Whether all that reads `call` is divided by its rows: then it is, too, since
/// a barrier would follow a solo call.
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
  // Ready calls in program order: the order of equals does not change.
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

/// Puts the views of what `op` gives behind it.
static void moveViews(Operation *op) {
  for (Operation *user : op->getUsers()) {
    if (!isa<ColumnsOp, RegroupOp>(user))
      continue;
    user->moveBefore(op->getBlock(), op->getBlock()->end());
    moveViews(user);
  }
}

/// Puts the calls of a block in that order. What is no call (references,
/// inputs) stays in front, a view follows what it is of, bounds stand between
/// the calls that they part, and the host reads in the end.
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
