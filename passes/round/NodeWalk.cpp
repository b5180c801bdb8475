//===- NodeWalk.cpp - Bodies that visit a tree's nodes --------------------===//

#include "passes/round/NodeWalk.h"

using namespace mlir;
using namespace mlir::mtp;
using Predicate = SlotBody::Predicate;

SmallVector<int64_t> mlir::mtp::nodeDepths(ArrayRef<int64_t> parents) {
  SmallVector<int64_t> depths(parents.size(), 0);
  for (size_t node = 1; node < parents.size(); ++node)
    depths[node] = depths[parents[node]] + 1;
  return depths;
}

SmallVector<int64_t> mlir::mtp::ancestorMasks(ArrayRef<int64_t> parents) {
  SmallVector<int64_t> masks(parents.size(), 1);
  for (size_t node = 1; node < parents.size(); ++node)
    masks[node] = masks[parents[node]] | int64_t(uint64_t(1) << node);
  return masks;
}

Value mlir::mtp::parentsOf(SlotBody &body, ArrayRef<int64_t> tree) {
  return body.vector(llvm::map_to_vector(
      tree, [&](int64_t parent) { return body.constant(parent); }));
}

Value mlir::mtp::choose(SlotBody &body, Value index, ArrayRef<Value> values) {
  Value chosen = values.front();
  for (size_t i = 1; i < values.size(); ++i)
    chosen =
        body.select(body.compare(Predicate::eq, index, i), values[i], chosen);
  return chosen;
}

NodeWalk mlir::mtp::walkNodes(SlotBody &body, int64_t nodes, Value parents,
                              llvm::function_ref<Value(Value, Value)> stays,
                              Value most) {
  Value none = body.constant(-1), zero = body.constant(0);
  Value depths = body.vector(nodes, [&](Value node) {
    return body.select(body.compare(Predicate::eq, node, 0), zero, none);
  });
  auto step = [&](Value before, ValueRange in) -> SmallVector<Value> {
    Value node = body.add(before, 1);
    Value parent = body.element(parents, node);
    Value isBefore = body.both(body.compare(Predicate::sge, parent, 0),
                               body.compare(Predicate::slt, parent, node));
    parent = body.select(isBefore, parent, zero);
    Value above = body.element(in[0], parent);
    Value live = body.both(isBefore, body.compare(Predicate::sge, above, 0));
    if (stays)
      live = body.both(live, stays(node, parent));
    if (most)
      live = body.both(live, body.compare(Predicate::slt, above, most));
    Value depth = body.select(live, body.add(above, 1), none);
    Value isDeeper = body.compare(Predicate::sgt, depth, in[2]);
    return {body.replace(in[0], depth, node),
            body.select(isDeeper, node, in[1]),
            body.select(isDeeper, depth, in[2])};
  };
  SmallVector<Value> walked =
      body.repeat(nodes - 1, {depths, zero, zero}, step);
  return {walked[0], walked[1], walked[2]};
}

NodeWalk mlir::mtp::activeNodes(SlotBody &body, int64_t nodes, Value parents) {
  return walkNodes(body, nodes, parents, nullptr);
}

Value mlir::mtp::masksOf(SlotBody &body, int64_t nodes, Value parents,
                         Value depths) {
  Value dead = body.wideConstant(0);
  SmallVector<Value> start(nodes, dead);
  start.front() = body.wideConstant(1);
  auto step = [&](Value before, ValueRange in) -> SmallVector<Value> {
    Value node = body.add(before, 1);
    Value live = body.compare(Predicate::sge, body.element(depths, node), 0);
    Value parent =
        body.select(live, body.element(parents, node), body.constant(0));
    Value mask = body.either(body.element(in[0], parent), body.bit(node));
    return {body.replace(in[0], body.select(live, mask, dead), node)};
  };
  return body.repeat(nodes - 1, body.vector(start), step)[0];
}

Value mlir::mtp::pathOf(SlotBody &body, int64_t length, Value parents,
                        const NodeWalk &walk) {
  Value none = body.constant(-1), zero = body.constant(0);
  Value path = body.vector(length, [&](Value) { return none; });
  // Backwards from the last node.
  auto step = [&](Value behind, ValueRange in) -> SmallVector<Value> {
    Value place = body.sub(walk.longest, behind);
    Value isOn = body.compare(Predicate::sge, place, 0);
    Value at = body.max(place, zero);
    Value node = body.select(isOn, in[1], body.element(in[0], at));
    Value hasParent = body.compare(Predicate::sgt, place, 0);
    return {body.replace(in[0], node, at),
            body.select(hasParent, body.element(parents, in[1]), zero)};
  };
  return body.repeat(length, {path, walk.deepest}, step)[0];
}
