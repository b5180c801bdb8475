//===- FragmentRows.h - Rows in the form of tensor cores --------*- C++ -*-===//
//
// A warp turns the inputs of its chunks into operands of mma.sync, in shared
// memory of its own: bf16, or int8 with a scale for each group. A lane has a
// few inputs of a row, so the cost grows with the number of rows. Rows begin at
// multiples of 16 bytes.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTROWS_H
#define MTP_COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTROWS_H

#include "compiler/Codegen/GPU/products/FragmentShape.h"

namespace mtp::codegen {

/// Places in shared memory for the data that a block keeps about its rows.
struct RowPlaces {
  /// For each row: its address (i64), the chains of its sum of squares, and the
  /// scale of its norm. Null if not needed.
  Value addresses, squares, inverses;
  /// Place of the number of rows in a warp's area; negative if a register has
  /// it.
  int64_t countAt = -1;

  static RowPlaces get(GpuBuilder &kb, const PanelProductSpec &spec);
};

/// Source of the rows of a block's products.
class RowSource {
public:
  virtual ~RowSource() = default;

  /// Finds `count` rows from `firstRow` on. All threads of the block must call
  /// this.
  virtual void find(Value firstRow, Value count) = 0;
  /// Prepares the rows for chunks `first`, `first` + warps, ..., one for each
  /// place of the pass.
  virtual void prepare(Value first) = 0;
  /// Returns the operands of a row tile for each unit of a chunk that was
  /// prepared in `place`: the words of B, two for each mma.sync.
  virtual llvm::SmallVector<Values> operands(Value chunk, int64_t place,
                                             int64_t rowTile) = 0;
  /// Returns the scales of the lane's two columns of a row tile's sums.
  virtual Values scales(Value chunk, int64_t place, int64_t rowTile) = 0;
};

class FragmentRows : public RowSource {
public:
  /// `area` belongs to the warp.
  FragmentRows(GpuBuilder &kb, const PanelProductSpec &spec,
               const FragmentShape &shape, const FragmentPass &pass,
               const RowPlaces &places, Value area);

  /// Returns the bytes of a warp's area.
  static int64_t bytes(const FragmentShape &shape, const FragmentPass &pass);

  void find(Value firstRow, Value count) override;
  void prepare(Value first) override;
  llvm::SmallVector<Values> operands(Value chunk, int64_t place,
                                     int64_t rowTile) override;
  Values scales(Value chunk, int64_t place, int64_t rowTile) override;

private:
  /// Returns the number of rows that were found. A barrier must precede it.
  Value found();
  /// Consecutive inputs of a row, held by one lane.
  struct Piece {
    int64_t inputs;
    /// Row (i32), place of the chunk (i64), and number of the piece in the
    /// chunk (i32).
    Value row, place, ofChunk;
    /// Index of the first input in the row.
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

#endif // MTP_COMPILER_CODEGEN_GPU_PRODUCTS_FRAGMENTROWS_H
