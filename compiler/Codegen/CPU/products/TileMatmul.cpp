//===- TileMatmul.cpp - Rows times panels of bf16, in tiles ---------------===//
//
// Tiles 0 to 3 are sums, 4 and 5 rows, 6 and 7 weights. A panel is two tiles
// wide. The sums are therefore of 32 rows with one panel, or of 16 rows with
// the gate and the up panel.
//
// Scratch: the rows, tile after tile ([rows / 16][k / 32][16][32] of bf16); the
// sums of one block of 32 rows, panel by panel; 64 bytes for the configuration.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/products/TileMatmul.h"

#include "compiler/Codegen/CPU/products/PanelWalk.h"
#include "runtime/schema/Tunables.h"

using namespace mtp::codegen;

/// Inputs in a row of a tile of bf16.
static constexpr int64_t tileInputs = 32;
static constexpr int64_t tileRows = CpuBuilder::tileRows;
static constexpr int64_t tileBytes = tileRows * CpuBuilder::tileRowBytes;
/// Rows that are multiplied at once. Semantic: the sums fill four tiles.
static constexpr int64_t blockRows = 2 * tileRows;
static constexpr int64_t passRows = mtp::tunable::kTilePassRows.value;
static constexpr int64_t sumBytes = PanelWalk::sumBytes;
static constexpr int64_t firstRowTile = 4, firstWeightTile = 6;

bool mtp::codegen::usesTiles(int64_t k, const WeightFormat &format,
                             const TargetDesc &target) {
  if (!target.tiles)
    return false;
  // A tile of bytes has 64 inputs.
  if (format.isQuantized())
    return format.isPlain() && format.group % 64 == 0 && k % format.group == 0;
  return format.isBF16() && k % tileInputs == 0;
}

static int64_t rowsBytes(int64_t k) { return passRows * k * 2; }

int64_t mtp::codegen::tileScratchBytes(int64_t k) {
  return rowsBytes(k) + 2 * blockRows * sumBytes + 64;
}

namespace {

class TileMatmul : public PanelWalk {
public:
  TileMatmul(CpuBuilder &kb, const PanelMatmulSpec &spec)
      : PanelWalk(kb, spec, spec.k * panelWidth * 2, passRows) {}
  void emit() override;

private:
  void prepare(Value group, Value firstRow, Value count, Value rows) override;
  void emitTask(Value group, Value task, Value firstRow, Value count) override;
  void multiply(int64_t rowTiles, Value block, ValueRange panels, Value sums);
  void emitBlock(int64_t rowTiles, Value group, Value task, Value row,
                 Value count);

  Value sums() { return kb.at(kb.scratch(), rowsBytes(spec.k)); }
  /// Returns the prepared rows from `row` on, a multiple of 16.
  Value rowsAt(Value row) { return kb.at(kb.scratch(), row, spec.k * 2); }
};

} // namespace

void TileMatmul::emit() {
  kb.configureTiles(kb.at(sums(), 2 * blockRows * sumBytes));
  PanelWalk::emit();
  kb.releaseTiles();
}

void TileMatmul::prepare(Value group, Value firstRow, Value count, Value) {
  Value sixteen = kb.integer(tileRows);
  kb.forRange(kb.integer(0), count, 1, [&](Value row) {
    Value from = spec.rowPointer(group, kb.add(firstRow, row));
    Value inverse = inverseRms(from);
    Value inTile = kb.rem(row, sixteen);
    Value to =
        kb.at(rowsAt(kb.sub(row, inTile)), inTile, CpuBuilder::tileRowBytes);
    kb.forRange(
        kb.integer(0), kb.integer(spec.k), tileInputs, [&](Value index) {
          Values parts;
          for (int64_t i = 0; i < tileInputs; i += kb.lanes())
            parts.push_back(loadInputs(from, inverse, kb.add(index, i)));
          kb.store(kb.roundToBF16(kb.concat(parts)),
                   kb.at(to, index, tileBytes / tileInputs));
        });
  });
}

/// Leaves the sums of 16 or 32 rows with every panel in scratch.
void TileMatmul::multiply(int64_t rowTiles, Value block, ValueRange panels,
                          Value sums) {
  int64_t columns = 2 * panels.size();
  // A tile of weights is 16 steps of a panel.
  int64_t panelTileBytes = tileRows * stepBytes;
  for (int64_t tile = 0; tile < rowTiles * columns; ++tile)
    kb.zeroTile(tile);
  kb.forRange(kb.integer(0), kb.integer(spec.k / tileInputs), 1,
              [&](Value step) {
                for (Value panel : panels)
                  prefetch(kb.at(panel, step, panelTileBytes), panelTileBytes);
                for (int64_t r = 0; r < rowTiles; ++r)
                  kb.loadTile(firstRowTile + r,
                              kb.at(kb.at(block, r * tileRows * spec.k * 2),
                                    step, tileBytes),
                              CpuBuilder::tileRowBytes);
                for (int64_t c = 0; c < columns; ++c) {
                  int64_t weights = firstWeightTile + c % 2;
                  kb.loadTile(weights,
                              kb.at(kb.at(panels[c / 2], step, panelTileBytes),
                                    c % 2 * CpuBuilder::tileRowBytes),
                              stepBytes);
                  for (int64_t r = 0; r < rowTiles; ++r)
                    kb.dotTilesBF16(r * columns + c, firstRowTile + r, weights);
                }
              });
  for (int64_t r = 0; r < rowTiles; ++r)
    for (int64_t c = 0; c < columns; ++c)
      kb.storeTile(r * columns + c,
                   kb.at(sums, c / 2 * blockRows * sumBytes +
                                   r * tileRows * sumBytes +
                                   c % 2 * CpuBuilder::tileRowBytes),
                   sumBytes);
}

/// Computes and stores all outputs of a task for the prepared rows from `row`
/// on.
void TileMatmul::emitBlock(int64_t rowTiles, Value group, Value task, Value row,
                           Value count) {
  Values panels;
  for (int64_t which = 0; which < panelsPerTask(); ++which)
    panels.push_back(panelPointer(group, task, which));
  Value block = rowsAt(row);
  // The number of panels at once is limited by the tiles for their sums.
  size_t together = 2 / rowTiles;
  for (size_t first = 0; first < panels.size(); first += together) {
    size_t here = std::min(together, panels.size() - first);
    multiply(rowTiles, block, ValueRange(panels).slice(first, here),
             kb.at(sums(), first * blockRows * sumBytes));
  }
}

void TileMatmul::emitTask(Value group, Value task, Value firstRow,
                          Value count) {
  kb.forRange(kb.integer(0), count, blockRows, [&](Value row) {
    Value left = kb.min(kb.sub(count, row), kb.integer(blockRows));
    kb.ifElse(
        kb.cmp(Cmp::GT, left, tileRows),
        [&] { emitBlock(2, group, task, row, count); },
        [&] { emitBlock(1, group, task, row, count); });
    storeRows(group, task, kb.add(firstRow, row), left, sums(),
              blockRows * sumBytes);
  });
}

void mtp::codegen::emitTileMatmul(CpuBuilder &kb, const PanelMatmulSpec &spec) {
  TileMatmul(kb, spec).emit();
}
