//===- CpuMemory.cpp - Arguments, loads and stores of CPU kernels ---------===//

#include "compiler/Codegen/CPU/builder/CpuBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

CpuBuilder::CpuBuilder(OpBuilder &builder, Location loc,
                       const TargetDesc &target, ValueRange arguments)
    : KernelBuilder(builder, loc), target(target),
      arguments(arguments.begin(), arguments.end()), loaded(2) {}

static unsigned elementBytes(Type type) {
  type = getElementTypeOrSelf(type);
  return isa<LLVM::LLVMPointerType>(type)
             ? 8
             : std::max(1u, type.getIntOrFloatBitWidth() / 8);
}

Value CpuBuilder::argument(int64_t which, int64_t index, Type type) {
  Values &cache = loaded[which];
  if (static_cast<int64_t>(cache.size()) <= index)
    cache.resize(index + 1);
  if (!cache[index]) {
    // Loads in a loop could not be hoisted above the stores of the kernel.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(arguments[which].getParentBlock());
    cache[index] = load(type, at(arguments[which], index * 8));
  }
  return cache[index];
}

Value CpuBuilder::buffer(int64_t index) {
  return argument(0, index, LLVM::LLVMPointerType::get(builder.getContext()));
}

Value CpuBuilder::param(int64_t index) { return argument(1, index, i64Type()); }

void CpuBuilder::forTasks(llvm::function_ref<void(Value)> body) {
  forRange(taskBegin(), taskEnd(), 1, body);
}

Value CpuBuilder::load(Type type, Value pointer, Value mask) {
  unsigned align = elementBytes(type);
  if (!mask)
    return LLVM::LoadOp::create(builder, loc, type, pointer, align);
  return LLVM::MaskedLoadOp::create(
      builder, loc, type, pointer, mask, constant(type, 0),
      builder.getI32IntegerAttr(align), /*nontemporal=*/UnitAttr());
}

Value CpuBuilder::gatherLanes(Value base, Value indices, Value mask) {
  auto type = cast<VectorType>(indices.getType());
  auto pointers = VectorType::get(type.getShape(), base.getType());
  Value places = LLVM::GEPOp::create(builder, loc, pointers, i32Type(), base,
                                     ArrayRef<LLVM::GEPArg>{indices});
  if (!mask)
    mask = cmp(Cmp::EQ, indices, indices);
  return LLVM::masked_gather::create(builder, loc, type, places, mask,
                                     ValueRange{constant(type, 0)},
                                     builder.getI32IntegerAttr(4));
}

/// Returns the only lane that a mask selects. Returns nothing if the mask
/// selects several lanes or is not constant.
static std::optional<int64_t> onlyLane(Value mask) {
  DenseIntElementsAttr lanes;
  if (!matchPattern(mask, m_Constant(&lanes)))
    return std::nullopt;
  auto values = lanes.getValues<bool>();
  if (llvm::count(values, true) != 1)
    return std::nullopt;
  return std::distance(values.begin(), llvm::find(values, true));
}

void CpuBuilder::store(Value value, Value pointer, Value mask) {
  unsigned align = elementBytes(value.getType());
  // For a truncation and a masked store of a single lane, LLVM 22 with AVX-512
  // stores the whole untruncated 32 bits and overwrites the next elements.
  if (mask && align < 4)
    if (std::optional<int64_t> lane = onlyLane(mask))
      return store(extractLane(value, *lane), at(pointer, *lane * align));
  if (!mask)
    LLVM::StoreOp::create(builder, loc, value, pointer, align);
  else
    LLVM::MaskedStoreOp::create(builder, loc, value, pointer, mask,
                                builder.getI32IntegerAttr(align));
}

Value CpuBuilder::truncateToBF16(Value vector) {
  int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  return arith::TruncFOp::create(builder, loc, vectorType(bf16Type(), count),
                                 vector);
}

void CpuBuilder::prefetch(Value pointer, int64_t bytes, int level) {
  for (int64_t line = 0; line < bytes; line += 64)
    LLVM::Prefetch::create(
        builder, loc, at(pointer, line), builder.getI32IntegerAttr(0),
        builder.getI32IntegerAttr(4 - level), builder.getI32IntegerAttr(1));
}

Value CpuBuilder::loadHalves(Value pointer) {
  auto halves = VectorType::get({lanes()}, builder.getF16Type());
  return arith::ExtFOp::create(builder, loc, f32Vector(),
                               load(halves, pointer));
}

Value CpuBuilder::loadPacked(Value pointer, int64_t bits, int64_t count,
                             int64_t stride) {
  int64_t perWord = 32 / bits, words = lanes() / perWord;
  // A group of int4 is stored in whole words.
  int64_t stored = llvm::divideCeil(count, perWord);
  Value mask;
  if (stored < words)
    mask = prefixMask(stored, words);
  Value loaded;
  if (stride == 4) {
    loaded = load(vectorType(i32Type(), words), pointer, mask);
  } else {
    VectorType word = vectorType(i32Type(), 1);
    Values parts;
    for (int64_t i = 0; i < words; ++i)
      parts.push_back(i < stored ? load(word, at(pointer, i * stride))
                                 : constant(word, 0));
    loaded = concat(parts);
  }
  SmallVector<int64_t> wordOf;
  for (int64_t i = 0; i < lanes(); ++i)
    wordOf.push_back(i / perWord);
  // Byte i % 4 of the word; for int4, its low half for the first four.
  Value lane = laneNumbers();
  auto all = [&](int64_t value) { return constant(i32Vector(), value); };
  Value shift = mul(bitAnd(lane, all(3)), all(8));
  if (bits == 4)
    shift = add(shift, bitAnd(lane, all(4)));
  Value shifted = shiftRight(shuffle(loaded, loaded, wordOf), shift);
  return bitAnd(shifted, all(bits == 8 ? 0xff : 0xf));
}

void CpuBuilder::mapNeighbours(
    Value from, Value to, int64_t pairs, DType toType, ValueRange tables,
    llvm::function_ref<Pair(Pair, ValueRange)> body) {
  // One vector holds lanes() / 2 pairs.
  int64_t perVector = lanes() / 2;
  SmallVector<int64_t> even, odd, merge;
  for (int64_t i = 0; i < perVector; ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
    merge.append({i, perVector + i});
  }
  VectorType type = vectorType(f32Type(), perVector);
  forChunks(2 * pairs, [&](Value first, Value mask) {
    Value pairMask;
    if (mask)
      pairMask = prefixMask(pairs % perVector, perVector);
    Values entries;
    for (Value table : tables)
      entries.push_back(load(type, at(table, div(first, 2), 4), pairMask));
    Value x = load(f32Vector(), at(from, first, 4), mask);
    Pair y = body({shuffle(x, x, even), shuffle(x, x, odd)}, entries);
    storeFloats(shuffle(y.first, y.second, merge),
                at(to, first, byteWidth(toType)), toType, mask);
  });
}
