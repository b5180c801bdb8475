//===- GpuBuilder.cpp - Idioms for writing GPU kernels --------------------===//

#include "compiler/Codegen/GPU/GpuBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

static constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

static int64_t typeBytes(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * typeBytes(vector.getElementType());
  return std::max(1u, type.getIntOrFloatBitWidth() / 8);
}

GpuBuilder::GpuBuilder(OpBuilder &builder, Location loc, gpu::GPUFuncOp kernel,
                       int64_t buffers, const GpuLaunch &launch,
                       bool takesActive, int64_t scratchBytes)
    : KernelBuilder(builder, loc), kernel(kernel), launch(launch),
      hasActive(takesActive), bufferCount(buffers), scratchBytes(scratchBytes),
      laneCount(launch.threads) {
  assert(launch.threads % kWarp == 0 && "expected whole warps");
  auto asI64 = [&](Value index) {
    return arith::IndexCastOp::create(builder, loc, i64Type(), index);
  };
  blockId = asI64(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  threadId = asI64(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  laneId = threadId;
  taskId = blockId;
}

void GpuBuilder::setTaskBlocks(int64_t blocks, bool areJoined) {
  itemsAreJoined = areJoined;
  if (blocks == 1)
    return;
  // Block numbers fit in 32 bits, which a GPU divides faster.
  Value block = truncate(blockId, i32Type());
  Value count = constant(i32Type(), double(blocks));
  taskId = extend(div(block, count), i64Type());
  blockOfTask = extend(rem(block, count), i64Type());
  taskBlocks = blocks;
  if (areJoined)
    return;
  laneCount = blocks * launch.threads;
  laneId = add(mul(blockOfTask, launch.threads), threadId);
}

void GpuBuilder::expectJoined() const {
  assert(laneCount == launch.threads && "expected lanes of one block");
}

Value GpuBuilder::buffer(int64_t index) { return kernel.getArgument(index); }

Value GpuBuilder::param(int64_t index) {
  if (index == 0 && activeRows)
    return activeRows;
  return kernel.getArgument(bufferCount + hasActive + index);
}

Value GpuBuilder::scratch() {
  if (!scratchBase) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(threadId);
    scratchBase = shared(scratchBytes);
  }
  return scratchBase;
}

void GpuBuilder::forTasks(llvm::function_ref<void(Value)> body) {
  body(taskId);
}

/// Items continue from block to block: the items of a loop start at the block
/// after the last item of the previous loop.
void GpuBuilder::forItems(int64_t count, llvm::function_ref<void(Value)> body) {
  if (taskBlocks == 1 && itemsAreJoined)
    return KernelBuilder::forItems(count, body);
  int64_t places = itemsAreJoined ? taskBlocks : taskBlocks * warps();
  Value place = itemsAreJoined ? blockOfTask : div(laneId, kWarp);
  int64_t ahead = (places - itemsBefore % places) % places;
  Value first = rem(add(place, ahead), integer(places));
  itemsBefore += count;
  Value outer = laneId;
  int64_t outerCount = laneCount;
  if (!itemsAreJoined) {
    laneId = laneOfWarp();
    laneCount = kWarp;
  }
  forRange(first, integer(count), places, body);
  laneId = outer;
  laneCount = outerCount;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value GpuBuilder::block() { return blockId; }
Value GpuBuilder::thread() { return threadId; }
Value GpuBuilder::warp() { return div(thread(), kWarp); }
Value GpuBuilder::laneOfWarp() { return rem(thread(), kWarp); }

void GpuBuilder::letSuccessorIn() {
  NVVM::GriddepcontrolOp::create(builder, loc,
                                 NVVM::GridDepActionKind::launch_dependents);
}

void GpuBuilder::waitForPredecessor() {
  NVVM::GriddepcontrolOp::create(builder, loc, NVVM::GridDepActionKind::wait);
  if (hasActive)
    activeRows = loadRows();
}

Value GpuBuilder::loadRows() {
  Value all = kernel.getArgument(bufferCount + hasActive);
  if (!hasActive)
    return all;
  // In 32 bits, as block numbers are: one register instead of a pair.
  Value number = kernel.getArgument(bufferCount),
        most = truncate(all, i32Type());
  Value rows = choose(
      cmp(Cmp::EQ, addressOf(number), 0), [&] { return Values{most}; },
      [&] {
        Value live = loadOwn(i32Type(), number);
        return Values{max(min(live, most), constant(i32Type(), 0))};
      })[0];
  return extendUnsigned(rows, i64Type());
}

Value GpuBuilder::blockLives() {
  if (launch.rowsPerGroup == 0)
    return cmp(Cmp::GT, activeRows, 0);
  Value groups = activeRows;
  if (int64_t most = launch.rowsPerGroup; most > 1)
    groups = div(add(activeRows, most - 1), most);
  return cmp(Cmp::LT, blockId, mul(groups, launch.blocks));
}

void GpuBuilder::begin() {
  letSuccessorIn();
  waitForPredecessor();
  if (!hasActive)
    return;
  Value lives = blockLives();
  Block *waiting = builder.getInsertionBlock();
  assert(waiting->getParentOp() == kernel && "expected no condition around");
  Block *rest = waiting->splitBlock(builder.getInsertionPoint());
  Block *end = builder.createBlock(&kernel.getBody());
  gpu::ReturnOp::create(builder, loc);
  builder.setInsertionPointToEnd(waiting);
  cf::CondBranchOp::create(builder, loc, lives, rest, end);
  builder.setInsertionPointToStart(rest);
}

Value GpuBuilder::shuffleXor(Value value, int64_t distance) {
  return gpu::ShuffleOp::create(builder, loc, value, distance, kWarp,
                                gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

Value GpuBuilder::shuffleFrom(Value value, Value lane) {
  Value width = constant(i32Type(), kWarp);
  return gpu::ShuffleOp::create(builder, loc, value, lane, width,
                                gpu::ShuffleMode::IDX)
      .getShuffleResult();
}

void GpuBuilder::syncWarp() {
  NVVM::SyncWarpOp::create(builder, loc, constant(i32Type(), -1));
}

Value GpuBuilder::ballot(Value condition) {
  return NVVM::VoteSyncOp::create(builder, loc, i32Type(),
                                  constant(i32Type(), -1), condition,
                                  NVVM::VoteSyncKind::ballot);
}

Value GpuBuilder::countOnes(Value value) {
  return LLVM::CtPopOp::create(builder, loc, value);
}

Value GpuBuilder::warpMax(Value value) {
  return NVVM::ReduxOp::create(builder, loc, i32Type(), value,
                               NVVM::ReduxKind::MAX, constant(i32Type(), -1));
}

Value GpuBuilder::warpSum(Value value) {
  return NVVM::ReduxOp::create(builder, loc, i32Type(), value,
                               NVVM::ReduxKind::ADD, constant(i32Type(), -1));
}

void GpuBuilder::sync() {
  expectJoined();
  gpu::BarrierOp::create(builder, loc);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

Value GpuBuilder::shared(int64_t bytes) {
  std::string name =
      kernel.getName().str() + "_shared" + std::to_string(sharedCount++);
  auto type = LLVM::LLVMArrayType::get(i8Type(), bytes);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(kernel);
    LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/false,
                           LLVM::Linkage::Internal, name, Attribute(),
                           /*alignment=*/16, kSharedSpace);
  }
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  return LLVM::AddressOfOp::create(builder, loc, pointer, name);
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

Value GpuBuilder::laneNumbers() { return truncate(laneId, i32Type()); }

Value GpuBuilder::firstLanes(int64_t count) {
  return cmp(Cmp::LT, laneId, count);
}

Values GpuBuilder::reduceWarp(
    ValueRange values,
    llvm::function_ref<Values(ValueRange, ValueRange)> combine) {
  Values own(values.begin(), values.end());
  for (int64_t distance = kWarp / 2; distance > 0; distance /= 2) {
    Values other;
    for (Value value : own)
      other.push_back(shuffleXor(value, distance));
    own = combine(own, other);
  }
  return own;
}

/// Number of warps whose sums are loaded before the first sum is used. A larger
/// number would take more registers.
static constexpr int64_t kLoadedTogether = 8;

Values GpuBuilder::reduceLanes(
    ValueRange values,
    llvm::function_ref<Values(ValueRange, ValueRange)> combine) {
  expectJoined();
  Values own = reduceWarp(values, combine);
  if (warps() == 1)
    return own;
  while (reductions.size() < own.size()) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(threadId);
    reductions.push_back(shared(warps() * 4));
  }
  // Another warp may still read the results of the previous reduction.
  sync();
  Value isFirst = cmp(Cmp::EQ, laneOfWarp(), 0);
  for (auto [value, place] : llvm::zip(own, reductions))
    storeOwn(value, at(place, warp(), 4), isFirst);
  sync();
  Values result;
  for (int64_t first = 0; first < warps(); first += kLoadedTogether) {
    SmallVector<Values> parts;
    for (int64_t i = first; i < std::min(first + kLoadedTogether, warps());
         ++i) {
      parts.emplace_back();
      for (auto [value, place] : llvm::zip(own, reductions))
        parts.back().push_back(loadOwn(value.getType(), at(place, i * 4)));
    }
    for (const Values &part : parts)
      result = result.empty() ? part : combine(result, part);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Vectors of a thread
//===----------------------------------------------------------------------===//

Value GpuBuilder::element(Value vector, int64_t index) {
  return vector::ExtractOp::create(builder, loc, vector, index);
}

Value GpuBuilder::vectorOf(ValueRange elements) {
  VectorType type = vectorType(elements[0].getType(), elements.size());
  return vector::FromElementsOp::create(builder, loc, type, elements);
}

Value GpuBuilder::packBF16(Value low, Value high) {
  Value pair = arith::TruncFOp::create(builder, loc, vectorType(bf16Type(), 2),
                                       vectorOf({low, high}));
  return bitcast(pair, i32Type());
}

Values GpuBuilder::multiply(bool ofBytes, ValueRange a, ValueRange b,
                            ValueRange sums) {
  auto type = ofBytes ? NVVM::MMATypes::s8 : NVVM::MMATypes::bf16;
  auto tileType = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(sums.getTypes()));
  std::optional<NVVM::MMAIntOverflow> overflow;
  if (ofBytes)
    overflow = NVVM::MMAIntOverflow::wrapped;
  Value tile = NVVM::MmaOp::create(
      builder, loc, tileType, a, b, sums,
      ArrayRef<int64_t>{16, 8, ofBytes ? 32 : 16}, /*b1Op=*/std::nullopt,
      overflow, std::array<NVVM::MMATypes, 2>{type, type},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  Values result;
  for (size_t i = 0; i < sums.size(); ++i)
    result.push_back(
        LLVM::ExtractValueOp::create(builder, loc, tile, int64_t(i)));
  return result;
}

Values GpuBuilder::multiplyTiles(ValueRange a, ValueRange b, ValueRange sums) {
  return multiply(/*ofBytes=*/false, a, b, sums);
}

Values GpuBuilder::multiplyByteTiles(ValueRange a, ValueRange b,
                                     ValueRange sums) {
  return multiply(/*ofBytes=*/true, a, b, sums);
}

Value GpuBuilder::packBytes(ValueRange four) {
  Value bytes = truncate(vectorOf(four), vectorType(i8Type(), four.size()));
  return bitcast(bytes, i32Type());
}

Value GpuBuilder::dotBytes(Value a, Value b, Value sum, bool isUnsigned) {
  auto bytes = vectorType(i8Type(), 4);
  auto isSigned = NVVM::DotAccumulateType::SIGNED;
  return NVVM::DotAccumulate4WayOp::create(
      builder, loc, i32Type(), bitcast(a, bytes),
      isUnsigned ? NVVM::DotAccumulateType::UNSIGNED : isSigned,
      bitcast(b, bytes), isSigned, sum);
}

std::array<Value, 2> GpuBuilder::lookUpHalves(ArrayRef<int8_t> table,
                                              Value word) {
  auto number = [&](uint32_t value) {
    return constant(i32Type(), double(int32_t(value)));
  };
  // Takes four of the eight bytes of two words. Each half of a byte of the low
  // half of `which` is a number of 0 to 7.
  auto permute = [&](Value low, Value high, Value which) -> Value {
    return LLVM::CallIntrinsicOp::create(
               builder, loc, i32Type(), builder.getStringAttr("llvm.nvvm.prmt"),
               ValueRange{low, high, which})
        .getResult(0);
  };
  SmallVector<Value, 4> words;
  for (int64_t i = 0; i < 16; i += 4) {
    uint32_t bytes = 0;
    for (int64_t j = 0; j < 4; ++j)
      bytes |= uint32_t(uint8_t(table[i + j])) << 8 * j;
    words.push_back(number(bytes));
  }
  // Three bits of a code find a byte in each half of the table. The fourth bit
  // selects one of both.
  Value place = bitAnd(word, number(0x77777777));
  Value half = bitOr(shiftRight(bitAnd(word, number(0x88888888)), number(1)),
                     number(0x32103210));
  SmallVector<Value, 2> found;
  for (uint32_t shift : {0, 16}) {
    Value own = shiftRight(place, number(shift));
    found.push_back(permute(permute(words[0], words[1], own),
                            permute(words[2], words[3], own),
                            shiftRight(half, number(shift))));
  }
  return {permute(found[0], found[1], number(0x6420)),
          permute(found[0], found[1], number(0x7531))};
}

Value GpuBuilder::halfToFloat(Value bits) {
  Value half = bitcast(truncate(bits, i16Type()), builder.getF16Type());
  return arith::ExtFOp::create(builder, loc, f32Type(), half);
}

Value GpuBuilder::pairOfBF16(Value low, Value high) {
  Value first = extendUnsigned(roundToBF16(low), i32Type());
  Value second = extendUnsigned(roundToBF16(high), i32Type());
  return bitOr(first, shiftLeft(second, constant(i32Type(), 16)));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value GpuBuilder::loadOwn(Type type, Value pointer, Value mask) {
  auto load = [&]() -> Value {
    return LLVM::LoadOp::create(builder, loc, type, pointer, typeBytes(type));
  };
  if (!mask)
    return load();
  return choose(
      mask, [&] { return Values{load()}; },
      [&] { return Values{constant(type, 0)}; })[0];
}

void GpuBuilder::storeOwn(Value value, Value pointer, Value mask) {
  auto store = [&] {
    LLVM::StoreOp::create(builder, loc, value, pointer,
                          typeBytes(value.getType()));
  };
  if (mask)
    ifThen(mask, store);
  else
    store();
}

Value GpuBuilder::loadOnce(Type type, Value pointer) {
  return LLVM::LoadOp::create(builder, loc, type, pointer, typeBytes(type),
                              /*isVolatile=*/false, /*isNonTemporal=*/true);
}

Value GpuBuilder::addressOf(Value pointer) {
  return LLVM::PtrToIntOp::create(builder, loc, i64Type(), pointer);
}

Value GpuBuilder::pointerTo(Value address) {
  auto type = LLVM::LLVMPointerType::get(builder.getContext(), kGlobalSpace);
  return LLVM::IntToPtrOp::create(builder, loc, type, address);
}

Values GpuBuilder::loadWords(Value pointer, int64_t count, Value mask) {
  if (count == 1)
    return {loadOwn(i32Type(), pointer, mask)};
  Value all = loadOwn(vectorType(i32Type(), count), pointer, mask);
  Values words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(LLVM::ExtractElementOp::create(
        builder, loc, all, constant(i32Type(), double(i))));
  return words;
}

void GpuBuilder::storeOne(Value uniform, Value pointer) {
  storeOwn(uniform, pointer, isAlone ? Value() : firstLanes(1));
}

void GpuBuilder::alone(llvm::function_ref<void()> body) {
  ifThen(firstLanes(1), [&] {
    isAlone = true;
    body();
    isAlone = false;
  });
}

Value GpuBuilder::gatherLanes(Value base, Value indices, Value mask) {
  return loadOwn(i32Type(), at(base, extend(indices, i64Type()), 4), mask);
}

Value GpuBuilder::loadLanes(Type element, Value pointer, Value mask) {
  return loadOwn(element, at(pointer, laneId, typeBytes(element)), mask);
}

void GpuBuilder::storeLanes(Value value, Value pointer, Value mask) {
  storeOwn(value, at(pointer, laneId, typeBytes(value.getType())), mask);
}

Value GpuBuilder::loadPacked(Value pointer, int64_t bits, int64_t count,
                             int64_t stride) {
  Value mask = count < lanes() ? firstLanes(count) : Value();
  auto loadByte = [&](Value index) {
    return extendUnsigned(loadOwn(i8Type(), at(pointer, index, 1), mask),
                          i32Type());
  };
  Value lane = laneId;
  auto byteOf = [&](int64_t perWord) {
    return add(mul(div(lane, perWord), stride), rem(lane, 4));
  };
  if (bits == 8)
    return loadByte(byteOf(4));
  // In a word of eight integers, the first four are the low halves of the
  // bytes.
  Value byte = byteOf(8);
  Value shift = mul(rem(div(lane, 4), 2), 4);
  Value shifted = shiftRight(loadByte(byte), truncate(shift, i32Type()));
  return bitAnd(shifted, constant(i32Type(), 0xf));
}

void GpuBuilder::mapNeighbours(
    Value from, Value to, int64_t pairs, DType toType, ValueRange tables,
    llvm::function_ref<Pair(Pair, ValueRange)> body) {
  int64_t toBytes = byteWidth(toType);
  auto store = [&](Value value, Value pointer, Value mask) {
    storeOwn(toType == DType::F32 ? value : roundToBF16(value), pointer, mask);
  };
  mapChunks(
      pairs,
      [&](Value first, Value mask) {
        Value index = add(first, laneId), x = at(from, index, 8);
        Values loaded{loadOwn(f32Type(), x, mask),
                      loadOwn(f32Type(), at(x, 4), mask)};
        for (Value table : tables)
          loaded.push_back(loadOwn(f32Type(), at(table, index, 4), mask));
        return loaded;
      },
      [&](Value first, Value mask, ValueRange loaded) {
        Value y = at(to, add(first, laneId), 2 * toBytes);
        Pair result = body({loaded[0], loaded[1]}, loaded.drop_front(2));
        store(result.first, y, mask);
        store(result.second, at(y, toBytes), mask);
      });
}
