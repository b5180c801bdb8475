//===- FragmentRows.h - Rows as tensor cores take them ----------*- C++ -*-===//
//
// A warp makes of its chunks' inputs what mma.sync takes, in shared memory of
// its own: bf16, or int8 with a scale for each group. A lane has a few inputs
// of a row, so that what it costs grows with the rows there are. Rows begin at
// multiples of 16 bytes.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTROWS_H
#define COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTROWS_H

#include "compiler/Codegen/GPU/products/FragmentShape.h"

namespace mtp::codegen {

/// What a block keeps of its rows: places in shared memory.
struct RowPlaces {
  /// Of each row: where it lies (i64), chains of its sum of squares, and the
  /// scale of its norm. Null where nobody asks.
  Value addresses, squares, inverses;
  /// Where in a warp's area their number is; negative where a register has it.
  int64_t countAt = -1;

  static RowPlaces get(GpuBuilder &kb, const PanelProductSpec &spec);
};

/// Where a block's products take their rows from.
class RowSource {
public:
  virtual ~RowSource() = default;

  /// Finds the rows from `firstRow` on, `count` of them; all threads of the
  /// block.
  virtual void find(Value firstRow, Value count) = 0;
  /// Prepares the chunks `first`, `first` + warps, ...: those of a pass's
  /// places.
  virtual void prepare(Value first) = 0;
  /// Of each unit of a chunk, which was prepared in `place`: the words of B of
  /// a row tile, two for each mma.sync.
  virtual llvm::SmallVector<Values> operands(Value chunk, int64_t place,
                                             int64_t rowTile) = 0;
  /// The scales of the lane's two columns of a row tile's sums.
  virtual Values scales(Value chunk, int64_t place, int64_t rowTile) = 0;
};

class FragmentRows : public RowSource {
public:
  /// `area` is the warp's own.
  FragmentRows(GpuBuilder &kb, const PanelProductSpec &spec,
               const FragmentShape &shape, const FragmentPass &pass,
               const RowPlaces &places, Value area);

  /// Bytes of a warp.
  static int64_t bytes(const FragmentShape &shape, const FragmentPass &pass);

  void find(Value firstRow, Value count) override;
  void prepare(Value first) override;
  llvm::SmallVector<Values> operands(Value chunk, int64_t place,
                                     int64_t rowTile) override;
  Values scales(Value chunk, int64_t place, int64_t rowTile) override;

private:
  /// How many were found, in a warp that has had a barrier since.
  Value found();
  /// So many inputs of a row that lie together, a lane's.
  struct Piece {
    int64_t inputs;
    /// Its row (i32), the place of its chunk (i64), and its number in that
    /// (i32).
    Value row, place, ofChunk;
    /// Of its first input in the row.
    Value index;
  };

  Values operandsOf(int64_t place, int64_t rowTile, int64_t unit);
  int64_t rows() const { return pass.rowTiles * kRowTile; }
  int64_t placeBytes() const { return rows() * shape.rowBytes(); }
  Value number(int64_t value);
  Value rowPointer(Value row);
  void clear();
  void sumSquares();
  Piece pieceAt(Value item, Value first, int64_t inputs);
  Value octetPlace(const Piece &octet);
  Values inputs(const Piece &piece);
  void storeBF16(const Piece &piece, ValueRange values);
  Value storeIntegers(ValueRange values, int64_t octets, Value to, Value mask);
  void prepareBF16(Value first);
  void prepareIntegers(Value first);

  GpuBuilder &kb;
  const PanelProductSpec &spec;
  const FragmentShape shape;
  const FragmentPass pass;
  const RowPlaces places;
  Value area, scalePlace;
  Value firstRow, count;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTROWS_H
