//===- QuantizedTiles.cpp - Rows times integer panels in tiles ------------===//
//
// Tiles 0 and 1 are the dot products of 16 rows with the two halves of a panel.
// Tile 4 is the rows, and tiles 6 and 7 are the weights. After every group the
// products are scaled and added to f32 sums in scratch.
//
// Scratch:
//
// - the rows and a block's sums in QuantizedMatmul's layout;
// - all rows' sums, panel by panel;
// - their products of one group;
// - weights of one group as bytes, if they are int4;
// - 64 bytes for the configuration.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/products/QuantizedTiles.h"

#include "compiler/Codegen/CPU/products/QuantizedMatmul.h"
#include "runtime/schema/Tunables.h"

using namespace mtp::codegen;
using mtp::QuantizedPanel;

static constexpr int64_t vectorRows = mtp::tunable::kVectorRows.value;
static constexpr int64_t passRows = mtp::tunable::kTilePassRows.value;
static constexpr RowBlocks::RowLimits passLimits = {vectorRows, vectorRows,
                                                    passRows};
static constexpr int64_t tileInputs = 64;
static constexpr int64_t tileRows = CpuBuilder::tileRows;
static constexpr int64_t tileRowBytes = CpuBuilder::tileRowBytes;
static constexpr int64_t tileBytes = tileRows * tileRowBytes;
static constexpr int64_t panelSumsBytes = passRows * PanelWalk::sumBytes;
static constexpr int64_t productsBytes = passRows * PanelWalk::sumBytes;
/// Rows whose products are added at once. The last rows may be beyond the end;
/// their values are never read.
static constexpr int64_t addedRows = mtp::tunable::kAddedRows.value;
/// Steps of adding products over which the prefetches of a later group are
/// spread. Tiles get more than `vectorRows` rows, so there are always this
/// number of steps.
static constexpr int64_t prefetchSteps = (vectorRows + addedRows) / addedRows;
static constexpr int64_t rowTile = 4, firstWeightTile = 6;

/// Returns the bytes of one group's integers of a panel, widened.
static int64_t groupBytes(int64_t group) {
  return group * PanelWalk::panelWidth;
}

int64_t mtp::codegen::quantizedTilesScratchBytes(int64_t rowBytes,
                                                 const WeightFormat &format) {
  return RowBlocks::scratchBytes(rowBytes, passLimits) + 2 * panelSumsBytes +
         productsBytes + groupBytes(format.group) + 64;
}

namespace {

class QuantizedTiles : public QuantizedMatmul {
public:
  QuantizedTiles(CpuBuilder &kb, const PanelMatmulSpec &spec)
      : QuantizedMatmul(kb, spec, passLimits) {}
  void emit() override;

private:
  void prepare(Value group, Value firstRow, Value count, Value rows) override;
  void emitTask(Value group, Value task, Value firstRow, Value count) override;
  void sumPanel(Value weights, Value count, Value sums);
  Value tileWeights(Value ofGroup);
  void multiplyRows(Value row, Value group, Value weights);
  void multiplyGroup(Value ofGroup, Value count, Value group);
  void addRow(Value row, Value group, ValueRange scales, Value sums);
  void addGroup(Value ofGroup, Value count, Value group, Value sums);

  Value few(Value count) { return kb.cmp(Cmp::LE, count, vectorRows); }
  Value sumsOf(int64_t which) {
    return kb.at(kb.scratch(),
                 scratchBytes(rowBytes, passLimits) + which * panelSumsBytes);
  }
  Value products() { return sumsOf(2); }
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
  kb.ifElse(few(count), [] {}, [&] { kb.configureTiles(configuration()); });
}

/// Returns one group's weights as tiles of bytes, one half panel after the
/// other, each of group / 64 tiles. int8 weights already have this form, except
/// for the stride.
Value QuantizedTiles::tileWeights(Value ofGroup) {
  Value data = kb.at(ofGroup, QuantizedPanel::kScaleBytes);
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

/// Leaves the products of 16 rows with one group of a panel in scratch.
void QuantizedTiles::multiplyRows(Value row, Value group, Value weights) {
  Value block = kb.at(kb.scratch(), row, rowBytes);
  bool bytes = panel.bits == 8;
  int64_t tiles = panel.group / tileInputs;
  for (int64_t half = 0; half < 2; ++half)
    kb.zeroTile(half);
  for (int64_t t = 0; t < tiles; ++t) {
    kb.loadTile(rowTile,
                kb.at(kb.at(block, group, panel.group), t * tileInputs),
                rowBytes);
    for (int64_t half = 0; half < 2; ++half) {
      int64_t offset = bytes ? t * tileRows * stepBytes + half * tileRowBytes
                             : (half * tiles + t) * tileBytes;
      kb.loadTile(firstWeightTile + half, kb.at(weights, offset),
                  bytes ? stepBytes : tileRowBytes);
      kb.dotTilesBytes(half, rowTile, firstWeightTile + half);
    }
  }
  Value to = kb.at(products(), row, sumBytes);
  for (int64_t half = 0; half < 2; ++half)
    kb.storeTile(half, kb.at(to, half * tileRowBytes), sumBytes);
}

void QuantizedTiles::multiplyGroup(Value ofGroup, Value count, Value group) {
  Value weights = tileWeights(ofGroup);
  kb.forRange(kb.integer(0), count, tileRows,
              [&](Value row) { multiplyRows(row, group, weights); });
}

/// Scales the products of one row and adds them to its sums.
void QuantizedTiles::addRow(Value row, Value group, ValueRange scales,
                            Value sums) {
  Value prepared = kb.at(kb.scratch(), row, rowBytes);
  Value start = ofRow(prepared, startsOffset, group, kb.i32Type());
  Value rowScale = ofRow(prepared, scalesOffset, group, kb.f32Type());
  for (int64_t half = 0; half < 2; ++half) {
    auto at = [&](Value base) {
      return kb.at(kb.at(base, half * tileRowBytes), row, sumBytes);
    };
    Value product = kb.load(kb.i32Vector(), at(products()));
    Value scaled = kb.mul(kb.toFloat(kb.add(start, product)), rowScale);
    Value sum = kb.load(kb.f32Vector(), at(sums));
    kb.store(kb.fma(scaled, scales[half], sum), at(sums));
  }
}

/// Adds a group's products and prefetches a later group, a share in each of the
/// first steps. A burst of prefetches would delay the stores that follow it.
void QuantizedTiles::addGroup(Value ofGroup, Value count, Value group,
                              Value sums) {
  Values scales;
  for (int64_t half = 0; half < 2; ++half)
    scales.push_back(
        kb.load(kb.f32Vector(), kb.at(ofGroup, half * tileRowBytes)));
  auto add = [&](Value row) {
    for (int64_t r = 0; r < addedRows; ++r)
      addRow(kb.add(row, r), group, scales, sums);
  };
  int64_t share =
      llvm::alignTo(panel.blockBytes(panel.group) / prefetchSteps, 64);
  Value prefetching = kb.min(count, kb.integer(prefetchSteps * addedRows));
  kb.forRange(kb.integer(0), prefetching, addedRows, [&](Value row) {
    prefetch(kb.at(ofGroup, row, share / addedRows), share);
    add(row);
  });
  kb.forRange(prefetching, count, addedRows, add);
}

/// Leaves the sums of `count` prepared rows with one panel at `sums`.
void QuantizedTiles::sumPanel(Value weights, Value count, Value sums) {
  Value zero = kb.constant(kb.f32Vector(), 0);
  kb.forRange(kb.integer(0), count, 1, [&](Value row) {
    for (int64_t half = 0; half < 2; ++half)
      kb.store(zero, kb.at(kb.at(sums, half * tileRowBytes), row, sumBytes));
  });
  int64_t groupBytes = panel.blockBytes(panel.group);
  kb.forRange(kb.integer(0), kb.integer(panel.fullBlocks()), 1,
              [&](Value group) {
                Value ofGroup = kb.at(weights, group, groupBytes);
                // All products first: a load soon after a tile's store is slow.
                multiplyGroup(ofGroup, count, group);
                addGroup(ofGroup, count, group, sums);
              });
}

void QuantizedTiles::emitTask(Value group, Value task, Value firstRow,
                              Value count) {
  auto inTiles = [&] {
    for (int64_t which = 0; which < panelsPerTask(); ++which)
      sumPanel(panelPointer(group, task, which), count, sumsOf(which));
    storeRows(group, task, firstRow, count, sumsOf(0), panelSumsBytes);
  };
  kb.ifElse(
      few(count),
      [&] { emitLastBlock(group, task, firstRow, count, kb.integer(0)); },
      inTiles);
}

void mtp::codegen::emitQuantizedTiles(CpuBuilder &kb,
                                      const PanelMatmulSpec &spec) {
  QuantizedTiles(kb, spec).emit();
}
