//===- QuantizedTiles.cpp - Rows times panels of integers, in tiles -------===//
//
// Tiles 0 and 1 are the dot products of 16 rows with the two halves of a panel,
// 4 the rows, 6 and 7 the weights. After every group the products are scaled
// and added to sums of f32, which wait in scratch.
//
// Scratch: rows and sums as QuantizedMatmul has them; all rows' products of one
// group; weights of one group as bytes, where they are int4; 64 bytes for the
// configuration.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/QuantizedTiles.h"

#include "compiler/Codegen/CPU/QuantizedMatmul.h"

using namespace mtp::codegen;
using mtp::QuantizedPanel;

/// Up to so many rows the products of vector registers are faster.
static constexpr int64_t vectorRows = 8;
static constexpr int64_t passRows = 128;
static constexpr int64_t tileInputs = 64;
static constexpr int64_t tileRows = KernelBuilder::tileRows;
static constexpr int64_t tileRowBytes = KernelBuilder::tileRowBytes;
static constexpr int64_t tileBytes = tileRows * tileRowBytes;
static constexpr int64_t productsBytes = passRows * PanelWalk::sumBytes;
/// Rows whose products are added at once. The last ones may be beyond the end;
/// what they hold is never read.
static constexpr int64_t addedRows = 4;
static constexpr int64_t rowTile = 4, firstWeightTile = 6;

/// Bytes of one group's integers of a panel, widened.
static int64_t groupBytes(int64_t group) {
  return group * PanelWalk::panelWidth;
}

int64_t mtp::codegen::quantizedTilesScratchBytes(int64_t rowBytes,
                                                 const WeightFormat &format) {
  return RowBlocks::scratchBytes(rowBytes, passRows) + productsBytes +
         groupBytes(format.group) + 64;
}

namespace {

class QuantizedTiles : public QuantizedMatmul {
public:
  QuantizedTiles(KernelBuilder &kb, const PanelMatmulSpec &spec)
      : QuantizedMatmul(kb, spec, {vectorRows, passRows}) {}
  void emit() override;

private:
  void prepare(Value group, Value firstRow, Value count, Value rows) override;
  void emitTask(Value group, Value task, Value firstRow, Value count) override;
  void sumPanel(Value weights, Value count, Value sums);
  Value tileWeights(Value data);
  void multiplyGroup(Value row, Value group, Value data);
  void addProducts(Value row, Value group, ValueRange scales, Value sums);

  Value few(Value count) { return kb.cmp(Cmp::LE, count, vectorRows); }
  Value products() {
    return kb.at(kb.scratch(), scratchBytes(shape.rowBytes, passRows));
  }
  Value widened() { return kb.at(products(), productsBytes); }
  Value configuration() { return kb.at(widened(), groupBytes(panel.group)); }
};

} // namespace

void QuantizedTiles::emit() {
  PanelWalk::emit();
  kb.releaseTiles();
}

void QuantizedTiles::prepare(Value group, Value firstRow, Value count,
                             Value rows) {
  QuantizedMatmul::prepare(group, firstRow, count, rows);
  kb.ifElse(
      few(count), [] {}, [&] { kb.configureTiles(configuration()); });
}

/// One group's weights as tiles of bytes, one half panel after the other, each
/// of group / 64 tiles. int8 weights are that already, but for the stride.
Value QuantizedTiles::tileWeights(Value data) {
  if (panel.bits == 8)
    return data;
  int64_t halfTiles = panel.group / tileInputs * tileBytes;
  for (int64_t step = 0; step < panel.group / 8; ++step)
    for (int64_t half = 0; half < 2; ++half) {
      Value bytes = kb.load(
          byteVector(), kb.at(data, step * stepBytes + half * tileRowBytes));
      auto [low, high] = splitNibbles(bytes);
      Value to = kb.at(widened(), half * halfTiles + step * 2 * tileRowBytes);
      kb.store(low, to);
      kb.store(high, kb.at(to, tileRowBytes));
    }
  return widened();
}

/// The products of 16 rows with one group of a panel, left in scratch.
void QuantizedTiles::multiplyGroup(Value row, Value group, Value data) {
  Value block = kb.at(kb.scratch(), row, shape.rowBytes);
  bool bytes = panel.bits == 8;
  int64_t tiles = panel.group / tileInputs;
  for (int64_t half = 0; half < 2; ++half)
    kb.zeroTile(half);
  for (int64_t t = 0; t < tiles; ++t) {
    kb.loadTile(rowTile,
                kb.at(kb.at(block, group, panel.group), t * tileInputs),
                shape.rowBytes);
    for (int64_t half = 0; half < 2; ++half) {
      int64_t offset = bytes ? t * tileRows * stepBytes + half * tileRowBytes
                             : (half * tiles + t) * tileBytes;
      kb.loadTile(firstWeightTile + half, kb.at(data, offset),
                  bytes ? stepBytes : tileRowBytes);
      kb.dotTilesBytes(half, rowTile, firstWeightTile + half);
    }
  }
  for (int64_t half = 0; half < 2; ++half)
    kb.storeTile(half,
                 kb.at(kb.at(products(), row, sumBytes), half * tileRowBytes),
                 sumBytes);
}

/// Scales the products of one row and adds them to its sums.
void QuantizedTiles::addProducts(Value row, Value group, ValueRange scales,
                                 Value sums) {
  Value prepared = kb.at(kb.scratch(), row, shape.rowBytes);
  Value start = ofRow(prepared, startsOffset, group, kb.i32Type());
  Value rowScale = ofRow(prepared, scalesOffset, group, kb.f32Type());
  for (int64_t half = 0; half < 2; ++half) {
    auto at = [&](Value base) {
      return kb.at(kb.at(base, half * tileRowBytes), row, sumBytes);
    };
    Value product = kb.add(start, kb.load(kb.i32Vector(), at(products())));
    Value part = kb.mul(kb.toFloat(product), rowScale);
    Value sum = kb.load(kb.f32Vector(), at(sums));
    kb.store(kb.fma(part, scales[half], sum), at(sums));
  }
}

/// The sums of `count` prepared rows with one panel.
void QuantizedTiles::sumPanel(Value weights, Value count, Value sums) {
  Value zero = kb.constant(kb.f32Vector(), 0);
  kb.forRange(kb.integer(0), count, 1, [&](Value row) {
    for (int64_t half = 0; half < 2; ++half)
      kb.store(zero, kb.at(kb.at(sums, half * tileRowBytes), row, sumBytes));
  });
  int64_t weightGroupBytes = panel.groupBytes(panel.group);
  kb.forRange(
      kb.integer(0), kb.integer(panel.fullGroups()), 1, [&](Value group) {
        Value ofGroup = kb.at(weights, group, weightGroupBytes);
        prefetch(ofGroup, weightGroupBytes);
        Values scales;
        for (int64_t half = 0; half < 2; ++half)
          scales.push_back(
              kb.load(kb.f32Vector(), kb.at(ofGroup, half * tileRowBytes)));
        Value data = tileWeights(kb.at(ofGroup, QuantizedPanel::kScaleBytes));
        // All products first: what a tile stores is slow to be loaded at once.
        kb.forRange(kb.integer(0), count, tileRows,
                    [&](Value row) { multiplyGroup(row, group, data); });
        kb.forRange(kb.integer(0), count, addedRows, [&](Value row) {
          for (int64_t r = 0; r < addedRows; ++r)
            addProducts(kb.add(row, r), group, scales, sums);
        });
      });
}

void QuantizedTiles::emitTask(Value group, Value task, Value firstRow,
                              Value count) {
  auto inTiles = [&] {
    for (int64_t which = 0; which < panelsPerTask(); ++which)
      sumPanel(panelPointer(group, task, which), count, sumsOf(which));
    storeRows(group, task, firstRow, count, sumsOf(0), passRows * sumBytes);
  };
  kb.ifElse(
      few(count),
      [&] { QuantizedMatmul::emitTask(group, task, firstRow, count); },
      inTiles);
}

void mtp::codegen::emitQuantizedTiles(KernelBuilder &kb,
                                      const PanelMatmulSpec &spec) {
  QuantizedTiles(kb, spec).emit();
}
