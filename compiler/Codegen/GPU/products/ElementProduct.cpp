//===- ElementProduct.cpp - Products on weights of f32 and bf16 -----------===//
//
// Rows that meet weights of bf16 are rounded to bf16, as tensor cores need
// them. The products are exact then, and are added up in f32.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/products/PanelProduct.h"

using namespace mtp::codegen;

namespace {

class ElementProduct : public PanelProduct {
public:
  ElementProduct(GpuBuilder &kb, const PanelProductSpec &spec)
      : PanelProduct(kb, spec, kWarp, kWarp * kInputBytes),
        isBF16(dtypeOf(spec.format) == DType::BF16) {}

private:
  Values load(Value panel, Value chunk, int64_t inputs) override;
  void stage(Value chunk, int64_t inputs) override;
  Values multiply(ValueRange words, ValueRange sums, Value chunk,
                  int64_t inputs) override;

  /// Bytes of one input in `staged`: a value of each row.
  static constexpr int64_t kInputBytes = kTileRows * 4;
  /// Bytes from one word of an output to the next.
  static constexpr int64_t kStepBytes = kWarp * 4;

  int64_t perWord() const { return isBF16 ? 2 : 1; }
  int64_t wordsOf(int64_t inputs) const {
    return llvm::divideCeil(inputs, perWord());
  }

  const bool isBF16;
};

} // namespace

Values ElementProduct::load(Value panel, Value chunk, int64_t inputs) {
  Value from = kb.at(kb.at(panel, chunk, wordsOf(chunkInputs) * kStepBytes),
                     kb.laneOfWarp(), 4);
  Values words;
  for (int64_t i = 0; i < wordsOf(inputs); ++i)
    words.push_back(kb.loadOwn(kb.i32Type(), kb.at(from, i * kStepBytes)));
  return words;
}

void ElementProduct::stage(Value chunk, int64_t inputs) {
  Value lane = kb.laneOfWarp();
  Value index = kb.add(kb.mul(chunk, chunkInputs), lane);
  // After the last input there are zeros, as in the weights.
  Value mask = inputs < chunkInputs ? kb.cmp(Cmp::LT, lane, inputs) : Value();
  Value normWeight = loadNormWeight(index, mask);
  Values values;
  for (int64_t row = 0; row < kTileRows; ++row) {
    Value x = loadInput(row, index, normWeight, mask);
    if (isBF16)
      x = kb.bitcast(
          kb.shiftLeft(kb.extendUnsigned(kb.roundToBF16(x), kb.i32Type()),
                       kb.constant(kb.i32Type(), 16)),
          kb.f32Type());
    values.push_back(x);
  }
  storeOfRows(values, kb.at(staged, lane, kInputBytes));
}

Values ElementProduct::multiply(ValueRange words, ValueRange sums, Value,
                                int64_t inputs) {
  Values result(sums.begin(), sums.end());
  int64_t perPanel = wordsOf(inputs);
  for (int64_t input = 0; input < perPanel * perWord(); ++input) {
    Values x = loadOfRows(kb.f32Type(), kb.at(staged, input * kInputBytes));
    for (int64_t panel = 0; panel < panels(); ++panel) {
      Value word = words[panel * perPanel + input / perWord()];
      if (isBF16 && input % 2 == 0)
        word = kb.shiftLeft(word, kb.constant(kb.i32Type(), 16));
      else if (isBF16)
        word = kb.bitAnd(word, kb.constant(kb.i32Type(), -65536));
      Value weight = kb.bitcast(word, kb.f32Type());
      for (int64_t row = 0; row < kTileRows; ++row) {
        Value &sum = result[panel * kTileRows + row];
        sum = kb.fma(x[row], weight, sum);
      }
    }
  }
  return result;
}

std::unique_ptr<PanelProduct>
mtp::codegen::createElementProduct(GpuBuilder &kb,
                                   const PanelProductSpec &spec) {
  return std::make_unique<ElementProduct>(kb, spec);
}
