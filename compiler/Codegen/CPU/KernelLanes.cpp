//===- KernelLanes.cpp - Shuffles, reductions, dot products ---------------===//

#include "compiler/Codegen/CPU/KernelBuilder.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"

using namespace mtp::codegen;
using namespace mlir;

static int64_t laneCount(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements();
}

Value KernelBuilder::dotBF16(Value acc, Value a, Value b) {
  return x86vector::DotBF16Op::create(builder, loc, acc.getType(), acc, a, b);
}

Value KernelBuilder::shuffle(Value a, Value b, ArrayRef<int64_t> lanes) {
  return vector::ShuffleOp::create(builder, loc, a, b, lanes);
}

Value KernelBuilder::extractLane(Value vector, int64_t lane) {
  return vector::ExtractOp::create(builder, loc, vector, lane);
}

Value KernelBuilder::slice(Value vector, int64_t begin, int64_t count) {
  SmallVector<int64_t> lanes;
  for (int64_t i = 0; i < count; ++i)
    lanes.push_back(begin + i);
  return shuffle(vector, vector, lanes);
}

Value KernelBuilder::concat(ValueRange parts) {
  Values level(parts.begin(), parts.end());
  while (level.size() > 1) {
    Values next;
    for (size_t i = 0; i < level.size(); i += 2) {
      SmallVector<int64_t> lanes;
      for (int64_t lane = 0; lane < 2 * laneCount(level[i]); ++lane)
        lanes.push_back(lane);
      next.push_back(shuffle(level[i], level[i + 1], lanes));
    }
    level = next;
  }
  return level.front();
}

Value KernelBuilder::reduce(Value vector,
                            llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t half = laneCount(vector) / 2; half > 0; half /= 2)
    vector = combine(slice(vector, 0, half), slice(vector, half, half));
  return extractLane(vector, 0);
}

Value KernelBuilder::reduceAdd(Value vector) {
  return reduce(vector, [&](Value a, Value b) { return add(a, b); });
}

Value KernelBuilder::reduceMax(Value vector) {
  return reduce(vector, [&](Value a, Value b) { return max(a, b); });
}

/// The lanes of the lower (or upper) half of every segment of `length` lanes
/// in the concatenation of two vectors of `width` lanes.
static SmallVector<int64_t> segmentHalves(int64_t width, int64_t length,
                                          bool upper) {
  SmallVector<int64_t> lanes;
  for (int64_t begin = 0; begin < 2 * width; begin += length)
    for (int64_t i = 0; i < length / 2; ++i)
      lanes.push_back(begin + (upper ? length / 2 : 0) + i);
  return lanes;
}

Value KernelBuilder::foldSegments(ValueRange vectors, int64_t length) {
  // Folding two vectors at once keeps every lane busy.
  Values level(vectors.begin(), vectors.end());
  int64_t width = laneCount(level.front());
  for (; level.size() > 1; length /= 2) {
    Values next;
    for (size_t i = 0; i < level.size(); i += 2) {
      Value lower = shuffle(level[i], level[i + 1],
                            segmentHalves(width, length, /*upper=*/false));
      Value upper = shuffle(level[i], level[i + 1],
                            segmentHalves(width, length, /*upper=*/true));
      next.push_back(add(lower, upper));
    }
    level = next;
  }
  return level.front();
}
