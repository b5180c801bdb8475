//===- PanelProduct.h - Rows times a panel of weights, in a block -*- C++ -*-=//
//
// Products on weights in panels of 32 outputs (`#exec.panels<32>`), the bytes
// that CPUs have too. A block has one panel (or a gate and an up panel) and a
// tile of rows, a lane of a warp has an output, and the warps divide the
// inputs: chunk c is warp c mod kProductWarps' one. A warp adds up its chunks
// in their order, and the warps' sums are added up in the order of the warps.
// So which number is added to which depends on the weight's shape alone, and a
// row has the same bits beside any other rows.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_GPU_PRODUCTS_PANELPRODUCT_H
#define COMPILER_CODEGEN_GPU_PRODUCTS_PANELPRODUCT_H

#include "compiler/Codegen/GPU/Kernels.h"
#include "compiler/Codegen/ProductParams.h"
#include <memory>

namespace mtp::codegen {

/// Rows of a tile, and as many warps: each finishes one row.
inline constexpr int64_t kTileRows = 8, kProductWarps = 8;

/// An output of a row, in each lane of a warp.
struct ProductOutput {
  Value row, column, value;
  /// Whether the lane has an output, and the warp a row.
  Value mask;
};

/// What to multiply; the callbacks emit code.
struct PanelProductSpec {
  int64_t k = 0;
  /// Outputs of a matrix, before gating.
  int64_t n = 0;
  WeightFormat format;
  /// Panels are (gate, up) pairs; the output is silu(gate) * up.
  bool gated = false;
  /// The matrix, and which of its panels (or pairs) the block has.
  Value weights, panel;
  /// How many rows the matrix is multiplied with; of these only the first ones
  /// may live.
  Value rows;
  /// Where a row lies: k values of f32.
  llvm::function_ref<Value(Value row)> rowPointer;
  /// Whether finding that takes loads.
  bool gathersRows = false;
  /// Rows that `prepare_rows` made, all `rows` of them, in place of those that
  /// `rowPointer` finds; null where there are none.
  Value prepared;
  /// Takes an output of a row.
  llvm::function_ref<void(const ProductOutput &)> store;

  /// Root-mean-square norm of the rows, if `normWeight` is not null.
  Value normWeight;
  float eps = 0;
  int64_t normOffset = 0;
};

/// The matrix of `params`; whose rows and panels, and where from and where to,
/// is the caller's to say.
PanelProductSpec productSpec(const ProductParams &params);

/// Panels of a matrix, or panel pairs.
int64_t productPanels(int64_t n, bool gated);
int64_t productPanelBytes(int64_t k, const WeightFormat &format);
int64_t productMatrixBytes(const PanelProductSpec &spec);

class PanelProduct {
public:
  /// The engine of the weights' format.
  static std::unique_ptr<PanelProduct> create(GpuBuilder &kb,
                                              const PanelProductSpec &spec);
  virtual ~PanelProduct() = default;

  /// Loads what a warp needs first of the weights, which never change: it may
  /// come before the kernel's wait.
  Values loadFirst();
  /// All outputs of the block's panel for the rows [firstRow, rows), of which
  /// there is one at least.
  void emitTile(Value firstRow, Value rows, Values first);

protected:
  PanelProduct(GpuBuilder &kb, const PanelProductSpec &spec,
               int64_t chunkInputs, int64_t stagedBytes);

  /// The weights of a lane's output of a chunk of `inputs`, as i32 words; how
  /// many of them depends on `inputs` alone.
  virtual Values load(Value panel, Value chunk, int64_t inputs) = 0;
  /// Prepares the inputs of a chunk of all rows in `staged`, in a warp.
  virtual void stage(Value chunk, int64_t inputs) = 0;
  /// The sums, [panel][row], plus the products of a chunk; words are those of
  /// `load`, panel after panel. A row's inputs are read once for all panels.
  virtual Values multiply(ValueRange words, ValueRange sums,
                          int64_t inputs) = 0;

  /// Value `index` of a row, normed; zero where `mask` is false.
  Value loadInput(int64_t row, Value index, Value normWeight, Value mask);
  Value loadNormWeight(Value index, Value mask);
  /// Four-byte values of all rows, which lie together.
  Values loadOfRows(mlir::Type type, Value from);
  void storeOfRows(ValueRange values, Value to);

  GpuBuilder &kb;
  const PanelProductSpec &spec;
  const int64_t chunkInputs, panelBytes;
  /// What a warp has prepared, in shared memory.
  Value staged;

  /// Two when gated, gate and up.
  int64_t panels() const { return spec.gated ? 2 : 1; }

private:
  int64_t fullChunks() const { return spec.k / chunkInputs; }
  int64_t restInputs() const { return spec.k % chunkInputs; }
  /// Warps that have a chunk.
  int64_t warpsAtWork() const;
  Value panelPointer(int64_t which);
  Values loadAll(Value chunk, int64_t inputs);
  Values addChunk(ValueRange words, ValueRange sums, Value chunk,
                  int64_t inputs);
  void findRows(Value firstRow, Value rows);
  Values sumChunks(Values first);
  void join(Value firstRow, Value rows, ValueRange sums);

  Value sumsPlace, inversePlace;
  /// Of each row of the tile: where it lies, and the scale of its norm.
  Values rowPointers, inverses;
};

std::unique_ptr<PanelProduct> createElementProduct(GpuBuilder &kb,
                                                   const PanelProductSpec &);
std::unique_ptr<PanelProduct> createIntegerProduct(GpuBuilder &kb,
                                                   const PanelProductSpec &);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_PRODUCTS_PANELPRODUCT_H
