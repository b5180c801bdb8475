//===- ModuleRows.cpp - Rows of trees on later modules --------------------===//

#include "passes/round/ModuleRows.h"

using namespace mlir;
using namespace mlir::mtp;
using Predicate = SlotBody::Predicate;

namespace {
/// The inputs of a body for each group of nodes, in this order.
enum Input { Positions, Roots, Places, Masks, Tokens, Parents, kInputs };

/// The numbers of a row for make_tree_rows.
struct Moved {
  Value position, root, place, mask;
};

using Node = llvm::function_ref<Value(Input)>;

/// Computes the numbers of each row of a slot: committed rows first, then rows
/// of nodes.
class JoinedBody {
public:
  JoinedBody(SlotBody &body, int64_t module, int64_t most,
             ArrayRef<NodeRows> nodes);

  int64_t total() const { return rows; }
  Value slots();
  Value numbers(Value Moved::*which);
  Value masks();
  Value tokens();
  /// Returns indices of hidden states: first the kept one, then the rows of the
  /// module before.
  Value hidden(int64_t rowsBefore);
  /// Returns the index of the anchor's row among the slot's rows.
  Value anchor() { return body.min(accepted, body.constant(own - 1)); }
  Value last();

private:
  Value each(Value j, llvm::function_ref<Value()> ofTrue,
             llvm::function_ref<Value(Node)> ofNode);
  Value ifTrue(Value j, Value value, Value otherwise);

  SlotBody &body;
  const int64_t module, own;
  ArrayRef<NodeRows> nodes;
  int64_t rows;
  Value accepted, first;
};
} // namespace

/// Returns a node's row in this module. The window that it sees begins after
/// the anchor's entry, whether or not that exists. If the text has no such
/// position yet, it is a padding row.
static Moved moved(SlotBody &body, int64_t module, Node node) {
  int64_t by = module - 1;
  Value begin = body.sub(node(Roots), by - 1);
  Value live = body.both(body.compare(Predicate::sge, node(Positions), 0),
                         body.compare(Predicate::sge, begin, 0));
  Value none = body.constant(-1), blind = body.wideConstant(0);
  return {body.select(live, body.sub(node(Positions), by), none),
          body.select(live, begin, none),
          body.select(live, body.sub(node(Places), by), none),
          body.select(live, body.halved(node(Masks)), blind)};
}

//===----------------------------------------------------------------------===//
// Committed rows and nodes
//===----------------------------------------------------------------------===//

JoinedBody::JoinedBody(SlotBody &body, int64_t module, int64_t most,
                       ArrayRef<NodeRows> nodes)
    : body(body), module(module), own(most + 1), nodes(nodes), rows(own),
      accepted(body.load(states::kAccepted)) {
  for (const NodeRows &of : nodes)
    rows += of.count;
  first = body.sub(body.sub(body.load(states::kLength), accepted), module);
}

/// Returns for row j the value of `ofTrue` or, if it belongs to a node, of
/// `ofNode`, which gets the node's inputs.
Value JoinedBody::each(Value j, llvm::function_ref<Value()> ofTrue,
                       llvm::function_ref<Value(Node)> ofNode) {
  Value chosen = ofTrue();
  int64_t begin = own;
  for (auto [i, of] : llvm::enumerate(nodes)) {
    int64_t inputs = int64_t(i) * kInputs;
    Value at = body.sub(j, begin);
    auto node = [&](Input which) {
      return body.element(body.input(inputs + which), at);
    };
    chosen = body.select(body.compare(Predicate::sge, j, begin), ofNode(node),
                         chosen);
    begin += of.count;
  }
  return chosen;
}

/// Returns `value` if j is an existing committed row, else `otherwise`.
Value JoinedBody::ifTrue(Value j, Value value, Value otherwise) {
  Value live = body.both(body.compare(Predicate::sge, body.add(first, j), 0),
                         body.compare(Predicate::sle, j, accepted));
  return body.select(live, value, otherwise);
}

Value JoinedBody::slots() {
  return body.vector(rows, [&](Value) { return body.slot(); });
}

/// Returns one number per row. The place of a committed row is its position,
/// and the row sees the entries up to its own.
Value JoinedBody::numbers(Value Moved::*which) {
  return body.vector(rows, [&](Value j) {
    return each(
        j, [&] { return ifTrue(j, body.add(first, j), body.constant(-1)); },
        [&](Node node) { return moved(body, module, node).*which; });
  });
}

Value JoinedBody::masks() {
  return body.wideVector(rows, [&](Value j) {
    return each(
        j,
        [&] { return ifTrue(j, body.wideConstant(1), body.wideConstant(0)); },
        [&](Node node) { return moved(body, module, node).mask; });
  });
}

Value JoinedBody::tokens() {
  return body.vector(rows, [&](Value j) {
    return each(
        j,
        [&] {
          return ifTrue(j, body.load(states::kWindow, j), body.constant(0));
        },
        [&](Node node) { return node(Tokens); });
  });
}

/// Returns the indices of hidden states. Committed row j reads the hidden state
/// of the row before it, and row 0 the kept one. A node reads its parent's.
Value JoinedBody::hidden(int64_t rowsBefore) {
  Value begin = body.mul(body.index(), rowsBefore + 1);
  return body.vector(rows, [&](Value j) {
    return body.add(begin,
                    each(
                        j, [&] { return j; },
                        [&](Node node) { return body.add(node(Parents), 1); }));
  });
}

Value JoinedBody::last() {
  int64_t count = nodes.back().count;
  Value begin = body.add(body.mul(body.index(), rows), rows - count);
  return body.vector(count, [&](Value j) { return body.add(begin, j); });
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static Value makeTreeRows(Expansion &e, ArrayRef<Value> numbers) {
  return MakeTreeRowsOp::create(e.builder, e.loc, e.byRow(numbers[0]),
                                e.byRow(numbers[1]), e.byRow(numbers[2]),
                                e.byRow(numbers[3]), e.byRow(numbers[4]),
                                /*refreshed=*/true);
}

Value ModuleRows::move(const NodeRows &nodes) {
  SlotBody body(e.builder, e.loc, "module_rows", e.slots(),
                {nodes.positions, nodes.roots, nodes.places, nodes.masks});
  auto of = [&](Value j) {
    return moved(body, module, [&](Input which) {
      return body.element(body.input(which), j);
    });
  };
  auto each = [&](Value Moved::*which) {
    return body.vector(nodes.count, [&](Value j) { return of(j).*which; });
  };
  ValueRange numbers = body.yield(
      {body.vector(nodes.count, [&](Value) { return body.slot(); }),
       each(&Moved::position), each(&Moved::root), each(&Moved::place),
       body.wideVector(nodes.count, [&](Value j) { return of(j).mask; })});
  return makeTreeRows(e, llvm::to_vector(numbers));
}

/// Returns the hidden states of the rows `from`, before which each slot has its
/// kept hidden state. Keeps the hidden state of row `carried` for the next
/// round.
Value ModuleRows::readHidden(Value before, int64_t rowsBefore, Value from,
                             Value carried) {
  std::string carry = states::carry(module);
  useState(e.module, carry, widthOf(before));
  Value kept = ReadStateOp::create(e.builder, e.loc, before.getType(), carry,
                                   e.slots(), /*rows=*/1);
  Value all = e.concatRows({{kept, 1}, {before, rowsBefore}});
  Value hidden = e.gatherRows(all, e.byRow(from));
  WriteStateOp::create(e.builder, e.loc, before, carried, carry, e.slots());
  return hidden;
}

ModuleRun ModuleRows::join(Value before, int64_t rowsBefore,
                           ArrayRef<NodeRows> nodes) {
  SmallVector<Value> inputs;
  for (const NodeRows &of : nodes)
    inputs.append(
        {of.positions, of.roots, of.places, of.masks, of.tokens, of.parents});
  SlotBody body(e.builder, e.loc, "module", e.slots(), inputs);
  JoinedBody rows(body, module, most, nodes);
  Value anchor = rows.anchor();
  SmallVector<Value> made = llvm::to_vector(body.yield(
      {rows.slots(), rows.numbers(&Moved::position), rows.numbers(&Moved::root),
       rows.numbers(&Moved::place), rows.masks(), rows.tokens(),
       rows.hidden(rowsBefore), rows.last(),
       body.add(body.mul(body.index(), rows.total()), anchor),
       body.add(body.mul(body.index(), rowsBefore), anchor)}));
  Value hidden = readHidden(before, rowsBefore, made[6], made[9]);
  return {e.byRow(made[5]), makeTreeRows(e, made), hidden, made[8],
          e.byRow(made[7])};
}
