//===- IntegerProduct.cpp - Products on weights of integers ---------------===//
//
// Rows are quantised group by group, as on CPUs (../CPU/QuantizedMatmul.h), and
// a group's dot product is exact. A chunk is a group, so each warp computes,
// with the second line for formats with offsets,
//
//   sum = fma(float(dot(group)) * rowScale(group), weightScale(group), sum)
//   sum = fma(float(rowSum(group)) * rowScale(group), offset(group), sum)
//
// All formats share this code. A format differs in the bytes of a word and in
// the numbers of a header.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/products/PanelProduct.h"
#include "compiler/Codegen/Rows/GroupScales.h"
#include "compiler/Codegen/Rows/RowQuantization.h"
#include "runtime/schema/QuantizedPanel.h"

using namespace mtp::codegen;
using mtp::QuantizedPanel;

/// Returns the bytes that a warp prepares: the integers of a group, and for
/// each row a scale and the factor of the offsets. A group of 16 is prepared by
/// 32 lanes.
static int64_t stagedBytes(const mtp::WeightFormat &format) {
  return (llvm::alignTo(format.group, kWarp) + 4 + (format.hasOffset ? 4 : 0)) *
         kTileRows;
}

/// Returns the words of a lane for a chunk of a panel, or of two if `gated`.
static int64_t wordsOf(const QuantizedPanel &panel, bool gated) {
  int64_t words = scaleFields(panel, panel.blockInputs()).size() +
                  panel.dataBytes(panel.group) / (kWarp * 4);
  return words * (gated ? 2 : 1);
}

/// Returns the number of chunks that a warp has in flight: about 24 words of a
/// lane in all, and fewer next to the addresses of gathered rows. Small groups
/// need several, or the latency of memory would limit the bandwidth.
static int64_t stagesOf(const PanelProductSpec &spec) {
  int64_t words = wordsOf(spec.format.panel(spec.k), spec.gated);
  return std::clamp<int64_t>((spec.gathersRows ? 12 : 24) / words, 1, 4);
}

int64_t mtp::codegen::integerBlocks(const ProductParams &params) {
  int64_t words = wordsOf(params.format.panel(params.k), params.gated);
  return words > (params.gathersRows ? 24 : 32) ? 1 : 2;
}

namespace {

class IntegerProduct : public PanelProduct {
public:
  IntegerProduct(GpuBuilder &kb, const PanelProductSpec &spec)
      : PanelProduct(kb, spec, spec.format.group, stagedBytes(spec.format),
                     stagesOf(spec), {1, 4, kTileRows}),
        panel(spec.format.panel(spec.k)) {}

private:
  Values load(Value panel, Value chunk, int64_t inputs) override;
  void stage(Value chunk, int64_t inputs) override;
  Values multiply(ValueRange words, ValueRange sums, Value chunk,
                  int64_t inputs) override;

  /// Bytes of four inputs in `staged`: a word of each row.
  static constexpr int64_t kQuadBytes = kTileRows * 4;
  /// Bytes from one word of an output to the next.
  static constexpr int64_t kStepBytes = kWarp * 4;
  static_assert(QuantizedPanel::kOutputs == kWarp);

  Value number(int64_t value) {
    return kb.constant(kb.i32Type(), double(int32_t(value)));
  }
  Value blockOf(Value chunk);
  Value inBlock(Value chunk);
  Value ofBlock(Value chunk, int64_t inputs, int64_t ofFull, int64_t ofLast);
  Value loadField(const ScaleField &field, Value from);
  GroupScales scalesOf(ValueRange words, Value chunk);
  Value codesOf(ValueRange words, int64_t quad);
  Value quadOf(ValueRange words, int64_t quad);
  Value scalesPlace() {
    return kb.at(staged, llvm::alignTo(panel.group, kWarp) * kTileRows);
  }
  /// Returns the place of the factors of the offsets.
  Value totalsPlace() { return kb.at(scalesPlace(), kTileRows * 4); }

  const QuantizedPanel panel;
};

} // namespace

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Returns the number of a group's block in the panel.
Value IntegerProduct::blockOf(Value chunk) {
  if (panel.blockGroups() == 1)
    return chunk;
  return kb.shiftRight(chunk, kb.integer(llvm::Log2_64(panel.blockGroups())));
}

/// Returns the number of a group in its block.
Value IntegerProduct::inBlock(Value chunk) {
  if (panel.blockGroups() == 1)
    return kb.integer(0);
  return kb.bitAnd(chunk, kb.integer(panel.blockGroups() - 1));
}

/// Returns a number of the block of a group of `inputs`: `ofLast` in an
/// incomplete last block, and `ofFull` in others.
Value IntegerProduct::ofBlock(Value chunk, int64_t inputs, int64_t ofFull,
                              int64_t ofLast) {
  bool isLast = inputs < panel.group || panel.fullBlocks() == 0;
  if (isLast || ofFull == ofLast || panel.restInputs() < panel.group)
    return kb.integer(isLast ? ofLast : ofFull);
  Value isFull =
      kb.cmp(Cmp::LT, chunk, panel.fullBlocks() * panel.blockGroups());
  return kb.select(isFull, kb.integer(ofFull), kb.integer(ofLast));
}

/// Loads a number of a header. Conversions wait until the number is used.
Value IntegerProduct::loadField(const ScaleField &field, Value from) {
  switch (field.kind) {
  case ScaleField::F32:
  case ScaleField::Word:
    return kb.loadOwn(kb.i32Type(), from);
  case ScaleField::F16:
    return kb.extendUnsigned(kb.loadOwn(kb.i16Type(), from), kb.i32Type());
  case ScaleField::Byte:
    return kb.extendUnsigned(kb.loadOwn(kb.i8Type(), from), kb.i32Type());
  case ScaleField::SignedByte:
    return kb.extend(kb.loadOwn(kb.i8Type(), from), kb.i32Type());
  }
  llvm_unreachable("unknown kind of number");
}

/// Loads the numbers of the header, and then the integers.
Values IntegerProduct::load(Value from, Value chunk, int64_t inputs) {
  int64_t full = panel.blockInputs(), rest = panel.restInputs();
  Value header = kb.at(from, blockOf(chunk), panel.blockBytes(full));
  Value group = inBlock(chunk), lane = kb.laneOfWarp();
  Values words;
  for (auto [field, ofLast] :
       llvm::zip(scaleFields(panel, full), scaleFields(panel, rest))) {
    Value moved = ofBlock(chunk, inputs, 0, ofLast.at - field.at);
    words.push_back(loadField(
        field, placeOfField(kb, field, kb.at(header, moved, 1), group, lane)));
  }
  Value data = kb.at(
      header,
      ofBlock(chunk, inputs, panel.headerBytes(full), panel.headerBytes(rest)),
      1);
  data = kb.at(kb.at(data, group, panel.dataBytes(panel.group)), lane, 4);
  for (int64_t i = 0; i < panel.dataBytes(inputs); i += kStepBytes)
    words.push_back(kb.loadOwn(kb.i32Type(), kb.at(data, i)));
  return words;
}

/// Returns the scale and offset from the numbers that load() returned.
GroupScales IntegerProduct::scalesOf(ValueRange words, Value chunk) {
  Values numbers;
  for (auto [i, field] :
       llvm::enumerate(scaleFields(panel, panel.blockInputs()))) {
    Value word = words[i];
    if (field.kind == ScaleField::F32)
      word = kb.bitcast(word, kb.f32Type());
    else if (field.kind == ScaleField::F16)
      word = kb.halfToFloat(word);
    numbers.push_back(word);
  }
  return emitGroupScales(kb, panel, inBlock(chunk), numbers);
}

/// Returns four codes of an output as bytes.
Value IntegerProduct::codesOf(ValueRange words, int64_t quad) {
  int64_t perStep = panel.stepInputs() / 4, ofStep = quad % perStep;
  words = words.slice(quad / perStep * panel.stepWords(), panel.stepWords());
  if (panel.bits == 8)
    return words[ofStep];
  // The low halves of a word are four inputs, the high halves are the next
  // four.
  Value word = words[ofStep / 2];
  if (ofStep % 2 == 1)
    word = kb.shiftRight(word, number(4));
  Value codes = kb.bitAnd(word, number(0x0f0f0f0f));
  if (panel.bits == 4)
    return codes;
  // The high bits move to bit 4 of their bytes.
  int64_t bits = panel.bits - 4, shift = ofStep * bits - 4;
  Value high = words.back();
  if (shift > 0)
    high = kb.shiftRight(high, number(shift));
  else if (shift < 0)
    high = kb.shiftLeft(high, number(-shift));
  return kb.bitOr(codes,
                  kb.bitAnd(high, number(bits == 1 ? 0x10101010 : 0x30303030)));
}

/// Returns four integers of an output as bytes. They are unsigned if the format
/// has offsets, and signed otherwise.
Value IntegerProduct::quadOf(ValueRange words, int64_t quad) {
  if (const int8_t *table = spec.format.info().table)
    return kb.lookUpHalves({table, 16}, words[quad / 2])[quad % 2];
  Value codes = codesOf(words, quad);
  if (panel.hasOffset)
    return codes;
  // The bias is subtracted from each byte. A set sign bit keeps a byte from
  // borrowing of the next.
  Value signs = number(0x80808080);
  if (panel.bits < 8)
    codes = kb.sub(kb.bitOr(codes, signs),
                   number(int64_t(0x01010101) * spec.format.bias()));
  return kb.bitXor(codes, signs);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void IntegerProduct::stage(Value chunk, int64_t inputs) {
  Value lane = kb.laneOfWarp();
  // Place of the lane's byte among the quads of its row.
  Value place =
      kb.at(kb.at(staged, kb.div(lane, 4), kQuadBytes), kb.rem(lane, 4), 1);
  Values indices, masks, weights;
  for (int64_t i = 0; i < inputs; i += kWarp) {
    indices.push_back(kb.add(kb.add(kb.mul(chunk, panel.group), i), lane));
    masks.push_back(i + kWarp > inputs ? kb.cmp(Cmp::LT, lane, inputs - i)
                                       : Value());
    weights.push_back(loadNormWeight(indices.back(), masks.back()));
  }
  Value mosts = kb.constant(kb.i32Type(), 0);
  Values values;
  for (int64_t row = 0; row < tileRows; ++row) {
    Value largest = kb.constant(kb.i32Type(), 0);
    for (auto [index, mask, weight] : llvm::zip(indices, masks, weights)) {
      values.push_back(loadInput(row, index, weight, mask));
      largest = kb.max(emitMagnitudeBits(kb, values.back()), largest);
    }
    mosts = kb.select(kb.cmp(Cmp::EQ, lane, row), kb.warpMax(largest), mosts);
  }
  // A lane divides for a row: a GPU has no instruction for the division.
  RowScale own = emitRowScale(kb, mosts);
  Value hasRow = kb.cmp(Cmp::LT, lane, tileRows);
  kb.storeOwn(own.scale, kb.at(scalesPlace(), lane, 4), hasRow);
  Value totals = kb.constant(kb.i32Type(), 0);
  for (int64_t row = 0, next = 0; row < tileRows; ++row) {
    Value perUnit = kb.shuffleFrom(own.perUnit, number(row));
    Value total = kb.constant(kb.i32Type(), 0);
    for (size_t i = 0; i < indices.size(); ++i) {
      Value rounded = emitRowInteger(kb, values[next++], {Value(), perUnit});
      Value to = kb.at(place, int64_t(i) * kWarp / 4 * kQuadBytes + row * 4);
      kb.storeOwn(kb.truncate(rounded, kb.i8Type()), to);
      if (panel.hasOffset)
        total = kb.add(total, kb.sub(rounded, number(kRowIntegerBits)));
    }
    if (panel.hasOffset)
      totals = kb.select(kb.cmp(Cmp::EQ, lane, row), kb.warpSum(total), totals);
  }
  if (panel.hasOffset)
    kb.storeOwn(kb.mul(kb.toFloat(totals), own.scale),
                kb.at(totalsPlace(), lane, 4), hasRow);
}

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

Values IntegerProduct::multiply(ValueRange words, ValueRange sums, Value chunk,
                                int64_t inputs) {
  int64_t perPanel = words.size() / panels();
  int64_t fields = scaleFields(panel, panel.blockInputs()).size();
  Values dots(panels() * tileRows, kb.constant(kb.i32Type(), 0));
  for (int64_t quad = 0; quad < panel.storedInputs(inputs) / 4; ++quad) {
    Values x = loadOfRows(kb.i32Type(), kb.at(staged, quad * kQuadBytes));
    for (int64_t which = 0; which < panels(); ++which) {
      ValueRange data =
          words.slice(which * perPanel + fields, perPanel - fields);
      Value weights = quadOf(data, quad);
      for (int64_t row = 0; row < tileRows; ++row) {
        Value &dot = dots[which * tileRows + row];
        dot = kb.dotBytes(weights, x[row], dot, panel.hasOffset);
      }
    }
  }
  Values rowScales = loadOfRows(kb.f32Type(), scalesPlace()), totals, result;
  if (panel.hasOffset)
    totals = loadOfRows(kb.f32Type(), totalsPlace());
  for (int64_t which = 0; which < panels(); ++which) {
    GroupScales scales = scalesOf(words.slice(which * perPanel, fields), chunk);
    for (int64_t row = 0; row < tileRows; ++row) {
      int64_t i = which * tileRows + row;
      Value scaled = kb.mul(kb.toFloat(dots[i]), rowScales[row]);
      Value sum = kb.fma(scaled, scales.scale, sums[i]);
      if (panel.hasOffset)
        sum = kb.fma(totals[row], scales.offset, sum);
      result.push_back(sum);
    }
  }
  return result;
}

std::unique_ptr<PanelProduct>
mtp::codegen::createIntegerProduct(GpuBuilder &kb,
                                   const PanelProductSpec &spec) {
  return std::make_unique<IntegerProduct>(kb, spec);
}
