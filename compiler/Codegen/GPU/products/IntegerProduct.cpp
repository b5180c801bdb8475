//===- IntegerProduct.cpp - Products on weights of int8 and int4 ----------===//
//
// Rows are quantised group by group, as on CPUs (../CPU/QuantizedMatmul.h), and
// a group's dot product is exact. A chunk is a group, so each warp computes
//
//   sum = fma(float(dot(group)) * rowScale(group), weightScale(group), sum)
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/products/PanelProduct.h"
#include "compiler/Codegen/Rows/RowQuantization.h"
#include "runtime/schema/QuantizedPanel.h"

using namespace mtp::codegen;
using mtp::QuantizedPanel;
using mtp::WeightElements;

namespace {

class IntegerProduct : public PanelProduct {
public:
  IntegerProduct(GpuBuilder &kb, const PanelProductSpec &spec)
      : PanelProduct(kb, spec, spec.format.group,
                     spec.format.group * kTileRows + kTileRows * 4),
        elements(spec.format.elements), panel(spec.format.panel(spec.k)) {}

private:
  Values load(Value panel, Value chunk, int64_t inputs) override;
  void stage(Value chunk, int64_t inputs) override;
  Values multiply(ValueRange words, ValueRange sums, int64_t inputs) override;

  /// Bytes of four inputs in `staged`: a word of each row.
  static constexpr int64_t kQuadBytes = kTileRows * 4;
  /// Bytes from one word of an output to the next.
  static constexpr int64_t kStepBytes = kWarp * 4;
  static_assert(QuantizedPanel::kOutputs == kWarp);

  Value quadOf(ValueRange words, int64_t quad);
  int64_t extraBits() const;
  Value scalesPlace() { return kb.at(staged, panel.group * kTileRows); }

  const WeightElements elements;
  const QuantizedPanel panel;
};

} // namespace

/// Loads the scale, and then the integers.
Values IntegerProduct::load(Value from, Value chunk, int64_t inputs) {
  from = kb.at(kb.at(from, chunk, panel.blockBytes(panel.group)),
               kb.laneOfWarp(), 4);
  Values words;
  for (int64_t i = 0; i < panel.blockBytes(inputs); i += kStepBytes)
    words.push_back(kb.loadOwn(kb.i32Type(), kb.at(from, i)));
  return words;
}

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
  for (int64_t row = 0; row < kTileRows; ++row) {
    Value largest = kb.constant(kb.i32Type(), 0);
    for (auto [index, mask, weight] : llvm::zip(indices, masks, weights)) {
      values.push_back(loadInput(row, index, weight, mask));
      largest = kb.max(emitMagnitudeBits(kb, values.back()), largest);
    }
    mosts = kb.select(kb.cmp(Cmp::EQ, lane, row), kb.warpMax(largest), mosts);
  }
  // A lane divides for a row: a GPU has no instruction for the division.
  RowScale own = emitRowScale(kb, mosts);
  kb.storeOwn(own.scale, kb.at(scalesPlace(), lane, 4),
              kb.cmp(Cmp::LT, lane, kTileRows));
  for (int64_t row = 0, next = 0; row < kTileRows; ++row) {
    Value perUnit =
        kb.shuffleFrom(own.perUnit, kb.constant(kb.i32Type(), double(row)));
    for (size_t i = 0; i < indices.size(); ++i) {
      Value rounded = emitRowInteger(kb, values[next++], {Value(), perUnit});
      Value to = kb.at(place, int64_t(i) * kWarp / 4 * kQuadBytes + row * 4);
      kb.storeOwn(kb.truncate(rounded, kb.i8Type()), to);
    }
  }
}

/// Returns four integers of an output as signed bytes: the weights times
/// 2^extraBits().
Value IntegerProduct::quadOf(ValueRange words, int64_t quad) {
  auto number = [&](int64_t value) {
    return kb.constant(kb.i32Type(), double(int32_t(value)));
  };
  // The stored numbers are unsigned, 128 or 8 too large, so the sign bit is
  // inverted. Four bits become the upper half of a byte.
  Value signs = number(0x80808080);
  switch (elements) {
  case WeightElements::Int8:
    return kb.bitXor(words[quad], signs);
  case WeightElements::Int4: {
    // The low halves are four inputs, the high halves are the next four.
    Value word = words[quad / 2];
    if (quad % 2 == 0)
      word = kb.shiftLeft(word, number(4));
    return kb.bitXor(kb.bitAnd(word, number(0xf0f0f0f0)), signs);
  }
  case WeightElements::F32:
  case WeightElements::BF16:
  case WeightElements::Int5:
  case WeightElements::Int6:
  case WeightElements::E2M1:
  case WeightElements::NL4:
    break;
  }
  llvm_unreachable("not a plain format");
}

int64_t IntegerProduct::extraBits() const {
  switch (elements) {
  case WeightElements::Int8:
    return 0;
  case WeightElements::Int4:
    return 4; // Numbers are in the upper halves of bytes.
  case WeightElements::F32:
  case WeightElements::BF16:
  case WeightElements::Int5:
  case WeightElements::Int6:
  case WeightElements::E2M1:
  case WeightElements::NL4:
    break;
  }
  llvm_unreachable("not a plain format");
}

Values IntegerProduct::multiply(ValueRange words, ValueRange sums,
                                int64_t inputs) {
  int64_t perPanel = words.size() / panels();
  auto ofPanel = [&](int64_t which) {
    return words.slice(which * perPanel, perPanel);
  };
  Values dots(panels() * kTileRows, kb.constant(kb.i32Type(), 0));
  for (int64_t quad = 0; quad < panel.storedInputs(inputs) / 4; ++quad) {
    Values x = loadOfRows(kb.i32Type(), kb.at(staged, quad * kQuadBytes));
    for (int64_t which = 0; which < panels(); ++which) {
      Value weights = quadOf(ofPanel(which).drop_front(), quad);
      for (int64_t row = 0; row < kTileRows; ++row) {
        Value &dot = dots[which * kTileRows + row];
        dot = kb.dotBytes(weights, x[row], dot);
      }
    }
  }
  Values rowScales = loadOfRows(kb.f32Type(), scalesPlace()), result;
  for (auto [i, dot] : llvm::enumerate(dots)) {
    Value weightScale =
        kb.bitcast(ofPanel(i / kTileRows).front(), kb.f32Type());
    if (int64_t bits = extraBits())
      dot = kb.shiftRightSigned(dot, kb.constant(kb.i32Type(), double(bits)));
    Value scaled = kb.mul(kb.toFloat(dot), rowScales[i % kTileRows]);
    result.push_back(kb.fma(scaled, weightScale, sums[i]));
  }
  return result;
}

std::unique_ptr<PanelProduct>
mtp::codegen::createIntegerProduct(GpuBuilder &kb,
                                   const PanelProductSpec &spec) {
  return std::make_unique<IntegerProduct>(kb, spec);
}
