//===- CpuLanes.cpp - Shuffles, reductions, dot products ---------------===//

#include "compiler/Codegen/CPU/builder/CpuBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

static int64_t laneCount(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements();
}

Value CpuBuilder::iota(int64_t count) {
  SmallVector<int32_t> lanes(count);
  for (int64_t i = 0; i < count; ++i)
    lanes[i] = static_cast<int32_t>(i);
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(vectorType(i32Type(), count),
                             ArrayRef<int32_t>(lanes)));
}

Value CpuBuilder::splat(Value scalar, int64_t count) {
  return vector::BroadcastOp::create(
      builder, loc, vectorType(scalar.getType(), count), scalar);
}

Value CpuBuilder::prefixMask(int64_t count, int64_t width) {
  SmallVector<bool> lanes(width, false);
  std::fill_n(lanes.begin(), count, true);
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(vectorType(builder.getI1Type(), width), lanes));
}

Value CpuBuilder::prefixMask(Value count, int64_t width) {
  return cmp(Cmp::LT, iota(width), splat(truncate(count, i32Type()), width));
}

Value CpuBuilder::packLanes(Value value, Value pointer, Value mask) {
  // Packs in a register: processors store packed lanes slowly. Packs integers:
  // LLVM 22 cannot select float zeros for the masked-off lanes.
  Type integers = i32Lanes();
  Value words = value.getType() == integers ? value : bitcast(value, integers);
  Value packed = LLVM::CallIntrinsicOp::create(
                     builder, loc, integers,
                     builder.getStringAttr("llvm.experimental.vector.compress"),
                     ValueRange{words, mask, constant(integers, 0)})
                     .getResult(0);
  Value bits = LLVM::BitcastOp::create(
      builder, loc, builder.getIntegerType(laneCount(mask)), mask);
  Value count =
      extendUnsigned(LLVM::CtPopOp::create(builder, loc, bits), i64Type());
  storeLanes(packed, pointer, prefixMask(count, laneCount(mask)));
  return count;
}

Value CpuBuilder::dotBF16(Value acc, Value a, Value b) {
  return x86vector::DotBF16Op::create(builder, loc, acc.getType(), acc, a, b);
}

Value CpuBuilder::shuffle(Value a, Value b, ArrayRef<int64_t> lanes) {
  return vector::ShuffleOp::create(builder, loc, a, b, lanes);
}

Value CpuBuilder::extractLane(Value vector, int64_t lane) {
  return vector::ExtractOp::create(builder, loc, vector, lane);
}

Value CpuBuilder::slice(Value vector, int64_t begin, int64_t count) {
  SmallVector<int64_t> lanes;
  for (int64_t i = 0; i < count; ++i)
    lanes.push_back(begin + i);
  return shuffle(vector, vector, lanes);
}

Value CpuBuilder::concat(ValueRange parts) {
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

Value CpuBuilder::reduce(Value vector,
                         llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t half = laneCount(vector) / 2; half > 0; half /= 2)
    vector = combine(slice(vector, 0, half), slice(vector, half, half));
  return extractLane(vector, 0);
}

Values CpuBuilder::reduceLanes(
    ValueRange values,
    llvm::function_ref<Values(ValueRange, ValueRange)> combine) {
  Values left(values.begin(), values.end());
  for (int64_t half = lanes() / 2; half > 0; half /= 2) {
    Values lower, upper;
    for (Value value : left) {
      lower.push_back(slice(value, 0, half));
      upper.push_back(slice(value, half, half));
    }
    left = combine(lower, upper);
  }
  for (Value &value : left)
    value = extractLane(value, 0);
  return left;
}

/// Returns the lanes of the lower (or upper) half of every segment of `length`
/// lanes in the concatenation of two vectors of `width` lanes.
static SmallVector<int64_t> segmentHalves(int64_t width, int64_t length,
                                          bool upper) {
  SmallVector<int64_t> lanes;
  for (int64_t begin = 0; begin < 2 * width; begin += length)
    for (int64_t i = 0; i < length / 2; ++i)
      lanes.push_back(begin + (upper ? length / 2 : 0) + i);
  return lanes;
}

Value CpuBuilder::reduceEach(ValueRange vectors,
                             llvm::function_ref<Value(Value, Value)> combine) {
  // Folding two vectors at once keeps every lane busy.
  Values level(vectors.begin(), vectors.end());
  int64_t width = laneCount(level.front()), length = width;
  for (; level.size() > 1; length /= 2) {
    Values next;
    for (size_t i = 0; i < level.size(); i += 2) {
      Value lower = shuffle(level[i], level[i + 1],
                            segmentHalves(width, length, /*upper=*/false));
      Value upper = shuffle(level[i], level[i + 1],
                            segmentHalves(width, length, /*upper=*/true));
      next.push_back(combine(lower, upper));
    }
    level = next;
  }
  Value result = level.front();
  for (int64_t half = length / 2; half > 0; half /= 2) {
    SmallVector<int64_t> partner;
    for (int64_t lane = 0; lane < width; ++lane)
      partner.push_back(lane ^ half);
    result = combine(result, shuffle(result, result, partner));
  }
  return result;
}

/// Gathers blocks of 128 bits with index 2i (or 2i + 1) of every pair of
/// vectors, repeatedly, until each vector holds the blocks of one index.
static Values gatherBlocks(CpuBuilder &kb, Values vectors) {
  if (vectors.size() == 1)
    return vectors;
  int64_t width = laneCount(vectors.front());
  Values halves[2];
  for (int64_t odd : {0, 1}) {
    SmallVector<int64_t> lanes;
    for (int64_t block = odd; block < 2 * width / 4; block += 2)
      for (int64_t i = 0; i < 4; ++i)
        lanes.push_back(4 * block + i);
    for (size_t i = 0; i < vectors.size(); i += 2)
      halves[odd].push_back(kb.shuffle(vectors[i], vectors[i + 1], lanes));
    halves[odd] = gatherBlocks(kb, halves[odd]);
  }
  Values result;
  for (auto [even, odd] : llvm::zip(halves[0], halves[1]))
    result.append({even, odd});
  return result;
}

Values CpuBuilder::transpose(ValueRange rows) {
  int64_t width = rows.size();
  // First within blocks of 128 bits, in which shuffles are cheap: four rows
  // become vectors whose block L holds column 4L + j of the rows.
  auto unpack = [&](Value a, Value b, int64_t count, bool upper) {
    SmallVector<int64_t> lanes;
    for (int64_t block = 0; block < width; block += 4)
      for (int64_t i = 0; i < 2; i += count)
        for (int64_t from : {int64_t(0), width})
          for (int64_t j = 0; j < count; ++j)
            lanes.push_back(from + block + (upper ? 2 : 0) + i + j);
    return shuffle(a, b, lanes);
  };
  SmallVector<Values> columns(4);
  for (int64_t row = 0; row < width; row += 4)
    for (bool upper : {false, true}) {
      Value ab = unpack(rows[row], rows[row + 1], 1, upper);
      Value cd = unpack(rows[row + 2], rows[row + 3], 1, upper);
      size_t column = upper ? 2 : 0;
      columns[column].push_back(unpack(ab, cd, 2, false));
      columns[column + 1].push_back(unpack(ab, cd, 2, true));
    }
  Values result(width);
  for (auto [j, vectors] : llvm::enumerate(columns))
    for (auto [block, vector] : llvm::enumerate(gatherBlocks(*this, vectors)))
      result[4 * block + j] = vector;
  return result;
}
