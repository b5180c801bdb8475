//===- PrepareRows.cpp - Rows for products on tensor cores ----------------===//
//
// A thread has octets: eight consecutive inputs of a row. A row has one block
// if it is normed, because its sum has the order of 128 lanes. Otherwise a row
// has one block for each kRowThreads octets. Everything is loaded before the
// first store. The weights of a norm, which never change and are not in a
// cache, are loaded before the wait. The row is loaded while its squares are
// added up.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/Kernels.h"
#include "compiler/Codegen/Rows/RowNorm.h"
#include "compiler/Codegen/Rows/RowQuantization.h"
#include "dialects/Exec/IR/PreparedRows.h"

using namespace mtp::codegen;
using exec::PreparedRows;

/// Number of inputs in an octet, and number of octets (one for each lane) in
/// each 32 inputs.
static constexpr int64_t kOctet = 8, kLanes = 4;
/// Maximum number of octets that a thread has in registers, including octets of
/// norm weights.
static constexpr int64_t kMostHeld = 8;

namespace {
class RowPreparation {
public:
  RowPreparation(GpuBuilder &kb, exec::PrepareRowsKernelAttr kernel);

  static PreparedRows layoutOf(exec::PrepareRowsKernelAttr kernel) {
    return {kernel.getFormat().getFormat(), kernel.getK()};
  }
  static int64_t blocksOf(exec::PrepareRowsKernelAttr kernel) {
    return kernel.getNorm() ? 1
                            : llvm::divideCeil(layoutOf(kernel).inputs(),
                                               kOctet * kRowThreads);
  }
  void emit();

private:
  /// An octet of the row, and the values loaded for it.
  struct Octet {
    /// Number of the octet, and whether it exists; a null value means that it
    /// does.
    Value index, isReal;
    Values inputs, weights;
  };

  int64_t octets() const { return layout.inputs() / kOctet; }
  Octet octetAt(Value first);
  Values loadAll(Value base, const Octet &octet);
  void store(const Octet &octet);
  void storeBF16(const Octet &octet, ValueRange inputs);
  void storeIntegers(const Octet &octet, ValueRange inputs);
  Value placeOf(Value index);
  Value begin();
  void findInverse();
  void emitNormed();

  GpuBuilder &kb;
  exec::PrepareRowsKernelAttr kernel;
  const PreparedRows layout;
  /// Number of all rows, and of active rows (after the wait).
  Value rows, activeRows;
  Value row, from, norm, y, inverse;
};
} // namespace

RowPreparation::RowPreparation(GpuBuilder &kb,
                               exec::PrepareRowsKernelAttr kernel)
    : kb(kb), kernel(kernel), layout(layoutOf(kernel)) {
  // The place of a row depends on the number of all rows, including padding
  // rows.
  rows = kb.param(0);
  if (kernel.getNorm())
    norm = kb.buffer(1);
  y = kb.buffer(kernel.getNorm() ? 2 : 1);
}

/// Returns the thread's octet, counting from `first`. The lanes of a warp
/// quantise together, so a lane without an octet uses the last one, and stores
/// nothing.
RowPreparation::Octet RowPreparation::octetAt(Value first) {
  Octet octet{kb.add(first, kb.thread()), {}, {}, {}};
  if (octets() % (blocksOf(kernel) * kRowThreads) == 0)
    return octet;
  Value last = kb.integer(octets() - 1);
  octet.isReal = kb.cmp(Cmp::LE, octet.index, last);
  octet.index = kb.min(octet.index, last);
  return octet;
}

/// Loads an octet. After the row's last input there are zeros.
Values RowPreparation::loadAll(Value base, const Octet &octet) {
  Value first = kb.mul(octet.index, kOctet);
  Value mask =
      layout.inputs() == layout.k ? Value() : kb.cmp(Cmp::LT, first, layout.k);
  Values values;
  for (int64_t i = 0; i < kOctet; i += 4) {
    Value four = kb.loadOwn(kb.vectorType(kb.f32Type(), 4),
                            kb.at(kb.at(base, first, 4), i * 4), mask);
    for (int64_t j = 0; j < 4; ++j)
      values.push_back(kb.element(four, j));
  }
  return values;
}

/// Returns the place of an octet.
Value RowPreparation::placeOf(Value index) {
  int64_t ofPiece = layout.pieceInputs() / kOctet;
  int64_t bytes = layout.pieceBytes() / ofPiece, units = ofPiece / kLanes;
  Value piece = kb.div(index, ofPiece);
  Value inPiece = kb.rem(index, kb.integer(ofPiece));
  Value unit = kb.div(inPiece, kLanes);
  Value lane = kb.rem(inPiece, kb.integer(kLanes));
  Value to = kb.at(y, kb.add(kb.mul(piece, rows), row), layout.pieceBytes());
  return kb.at(kb.at(to, lane, units * bytes), unit, bytes);
}

void RowPreparation::storeBF16(const Octet &octet, ValueRange inputs) {
  Values words;
  for (int64_t i = 0; i < kOctet; i += 2)
    words.push_back(kb.packBF16(inputs[i], inputs[i + 1]));
  kb.storeOwn(kb.vectorOf(words), placeOf(octet.index), octet.isReal);
}

/// Quantises an octet together with the other octets of its group, which
/// neighbouring lanes have.
void RowPreparation::storeIntegers(const Octet &octet, ValueRange inputs) {
  int64_t ofGroup = layout.format.group / kOctet;
  Value largest;
  for (Value input : inputs) {
    Value bits = emitMagnitudeBits(kb, input);
    largest = largest ? kb.max(bits, largest) : bits;
  }
  for (int64_t distance = 1; distance < ofGroup; distance *= 2)
    largest = kb.max(kb.shuffleXor(largest, distance), largest);
  RowScale scale = emitRowScale(kb, largest);
  Values words;
  for (int64_t i = 0; i < kOctet; i += 4) {
    Values four;
    for (Value input : inputs.slice(i, 4))
      four.push_back(emitRowInteger(kb, input, scale));
    words.push_back(kb.packBytes(four));
  }
  kb.storeOwn(kb.vectorOf(words), placeOf(octet.index), octet.isReal);
  Value isFirst = kb.cmp(Cmp::EQ, kb.rem(octet.index, kb.integer(ofGroup)), 0);
  if (octet.isReal)
    isFirst = kb.bitAnd(isFirst, octet.isReal);
  Value even = kb.bitAnd(kb.add(rows, 1), kb.integer(-2));
  Value scales = kb.at(y, kb.mul(rows, layout.inputs()), 1);
  Value group = kb.div(octet.index, ofGroup);
  Value to = kb.at(scales, kb.add(kb.mul(group, even), row), 4);
  kb.storeOwn(scale.scale, to, isFirst);
  // Products read the scales of two rows at once, so the row after a last even
  // row gets a scale, too.
  Value isLast = kb.bitAnd(kb.cmp(Cmp::EQ, kb.add(row, 1), activeRows),
                           kb.cmp(Cmp::EQ, kb.rem(row, kb.integer(2)), 0));
  kb.storeOwn(scale.scale, kb.at(to, 4), kb.bitAnd(isFirst, isLast));
}

void RowPreparation::store(const Octet &octet) {
  Values inputs = octet.inputs;
  if (norm)
    for (auto [input, weight] : llvm::zip(inputs, octet.weights))
      input = emitScaleByNorm(kb, input, inverse, weight, kernel.getOffset());
  if (layout.isInteger())
    storeIntegers(octet, inputs);
  else
    storeBF16(octet, inputs);
}

/// Waits, finds the block's row, and returns the number of the block within the
/// row.
Value RowPreparation::begin() {
  kb.begin();
  activeRows = kb.param(0);
  Value block = kb.truncate(kb.block(), kb.i32Type());
  Value perRow = kb.constant(kb.i32Type(), double(blocksOf(kernel)));
  row = kb.extend(kb.div(block, perRow), kb.i64Type());
  from = kb.at(kb.buffer(0), row, strideOr(kernel.getXStride(), layout.k) * 4);
  return kb.extend(kb.rem(block, perRow), kb.i64Type());
}

/// Computes what `emitInverseRms` computes, with many terms of a thread loaded
/// at once.
void RowPreparation::findInverse() {
  constexpr int64_t kAtOnce = 32;
  Value own = kb.at(from, kb.thread(), 4);
  auto add = [&](Value first, int64_t terms, Value mask, Value sum) {
    Value begin = kb.at(own, first, kRowThreads * 4);
    Values values;
    for (int64_t i = 0; i < terms; ++i)
      values.push_back(
          kb.loadOwn(kb.f32Type(), kb.at(begin, i * kRowThreads * 4), mask));
    for (Value value : values)
      sum = kb.fma(value, value, sum);
    return sum;
  };
  int64_t terms = layout.k / kRowThreads, whole = terms / kAtOnce * kAtOnce;
  Value sum = kb.forRange(kb.integer(0), kb.integer(whole), kAtOnce,
                          {kb.f32(0)}, [&](Value first, ValueRange in) {
                            return Values{add(first, kAtOnce, {}, in[0])};
                          })[0];
  sum = add(kb.integer(whole), terms - whole, {}, sum);
  if (int64_t rest = layout.k % kRowThreads)
    sum = add(kb.integer(terms), 1, kb.firstLanes(rest), sum);
  inverse = emitInverseOfSquares(kb, kb.reduceAdd(sum), layout.k,
                                 valueOf(kernel.getEps()));
}

void RowPreparation::emitNormed() {
  auto octetsFrom = [&](Value first, int64_t count) {
    llvm::SmallVector<Octet> found;
    for (int64_t i = 0; i < count; ++i)
      found.push_back(octetAt(kb.add(first, i * kRowThreads)));
    return found;
  };
  int64_t rounds = llvm::divideCeil(octets(), kRowThreads);
  if (rounds <= kMostHeld) {
    llvm::SmallVector<Octet> all = octetsFrom(kb.integer(0), rounds);
    for (Octet &octet : all)
      octet.weights = loadAll(norm, octet);
    begin();
    for (Octet &octet : all)
      octet.inputs = loadAll(from, octet);
    findInverse();
    for (const Octet &octet : all)
      store(octet);
    return;
  }
  begin();
  findInverse();
  auto prepare = [&](Value first, int64_t count) {
    llvm::SmallVector<Octet> some = octetsFrom(first, count);
    for (Octet &octet : some) {
      octet.weights = loadAll(norm, octet);
      octet.inputs = loadAll(from, octet);
    }
    for (const Octet &octet : some)
      store(octet);
  };
  int64_t whole = rounds / kMostHeld * kMostHeld;
  kb.forRange(kb.integer(0), kb.integer(whole * kRowThreads),
              kMostHeld * kRowThreads,
              [&](Value first) { prepare(first, kMostHeld); });
  if (rounds > whole)
    prepare(kb.integer(whole * kRowThreads), rounds - whole);
}

void RowPreparation::emit() {
  if (norm)
    return emitNormed();
  Octet octet = octetAt(kb.mul(begin(), kRowThreads));
  octet.inputs = loadAll(from, octet);
  store(octet);
}

static GpuLaunch prepareLaunch(exec::PrepareRowsKernelAttr kernel) {
  return {RowPreparation::blocksOf(kernel), /*rowsPerGroup=*/1, kRowThreads};
}

/// Emits prepare_rows. Buffers: x, (norm weight), y. Params: M.
static void emitPrepareRows(GpuBuilder &kb,
                            exec::PrepareRowsKernelAttr kernel) {
  RowPreparation(kb, kernel).emit();
}

/// Fails unless rows can be loaded in pieces of 16 bytes, as products load
/// them.
static mlir::LogicalResult verifyPrepareRows(exec::PrepareRowsKernelAttr kernel,
                                             EmitError emitError) {
  if (kernel.getXStride() % 4 == 0)
    return mlir::success();
  return emitError() << "expected x_stride to be a multiple of 4, got "
                     << kernel.getXStride();
}

static const GpuEmitter kinds[] = {
    gpuEmitter(prepareLaunch, emitPrepareRows, verifyPrepareRows)};

llvm::ArrayRef<GpuEmitter> mtp::codegen::gpuPrepareKernels() { return kinds; }
