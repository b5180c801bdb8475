//===- PanelProduct.h - Rows times a panel of weights, in a block -*- C++ -*-=//
//
// Products on weights in panels of 32 outputs (`#exec.panels<32>`), with the
// bytes that CPUs use, too. A block has one panel (or a gate and an up panel)
// and a tile of rows. A lane of a warp has an output. The warps divide the
// inputs: warp c mod kProductWarps takes chunk c. A warp adds up its chunks in
// order, and the sums of the warps are added up in the order of the warps. So
// the weight's shape alone decides which numbers are added up together, and a
// row has the same bits in any batch.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_PRODUCTS_PANELPRODUCT_H
#define MTP_COMPILER_CODEGEN_GPU_PRODUCTS_PANELPRODUCT_H

#include "compiler/Codegen/GPU/Kernels.h"
#include "compiler/Codegen/ProductParams.h"
#include <memory>

namespace mtp::codegen {

/// Number of rows in a tile and of warps in a block. Semantic: each warp
/// finishes one row.
inline constexpr int64_t kTileRows = 8, kProductWarps = 8;

/// One output of a row in each lane of a warp.
struct ProductOutput {
  Value row, column, value;
  /// True if the lane has an output and the warp has a row.
  Value mask;
};

/// Description of a product. The callbacks emit code.
struct PanelProductSpec {
  int64_t k = 0;
  /// Number of outputs of a matrix, before gating.
  int64_t n = 0;
  WeightFormat format;
  /// True if panels are (gate, up) pairs; the output is activation(gate) * up.
  bool gated = false;
  mlir::mtp::ActivationKind activation = mlir::mtp::ActivationKind::Swiglu;
  /// The matrix, and the number of the block's panel (or pair).
  Value weights, panel;
  /// Number of rows that the matrix is multiplied with. Active rows come first.
  Value rows;
  /// Returns the address of a row: k values of f32.
  llvm::function_ref<Value(Value row)> rowPointer;
  /// True if `rowPointer` emits loads.
  bool gathersRows = false;
  /// Rows that `prepare_rows` made, all `rows` of them, which replace the rows
  /// of `rowPointer`. Null if there are none.
  Value prepared;
  /// Takes an output of a row.
  llvm::function_ref<void(const ProductOutput &)> store;

  /// Weights of the root-mean-square norm of the rows. Null if there is no
  /// norm.
  Value normWeight;
  float eps = 0;
  int64_t normOffset = 0;
};

/// Returns the spec of the matrix of `params`. The caller sets rows, panel,
/// addresses and outputs.
PanelProductSpec productSpec(const ProductParams &params);

/// Returns the number of panels, or panel pairs, of a matrix.
int64_t productPanels(int64_t n, bool gated);
int64_t productPanelBytes(int64_t k, const WeightFormat &format);
int64_t productMatrixBytes(const PanelProductSpec &spec);

class PanelProduct {
public:
  /// Creates the product for the weights' format.
  static std::unique_ptr<PanelProduct> create(GpuBuilder &kb,
                                              const PanelProductSpec &spec);
  virtual ~PanelProduct() = default;

  /// Loads the weights of a warp's first chunks. Weights never change, so this
  /// may come before the kernel's wait.
  Values loadFirst();
  /// Emits all outputs of the block's panel for the rows [firstRow, rows).
  /// There is at least one row.
  void emitTile(Value firstRow, Value rows, const Values &first);

protected:
  /// A warp has the weights of `stages` chunks in flight. `rowForms` are the
  /// numbers of rows that the block has code for, in ascending order. The last
  /// one is kTileRows.
  PanelProduct(GpuBuilder &kb, const PanelProductSpec &spec,
               int64_t chunkInputs, int64_t stagedBytes, int64_t stages = 1,
               llvm::ArrayRef<int64_t> rowForms = {kTileRows});

  /// Loads the weights of a lane's output for a chunk of `inputs`, as i32
  /// words. The number of words depends on `inputs` alone.
  virtual Values load(Value panel, Value chunk, int64_t inputs) = 0;
  /// Prepares the inputs of a chunk for all rows in `staged`, which one warp
  /// uses.
  virtual void stage(Value chunk, int64_t inputs) = 0;
  /// Returns the sums, [panel][row], plus the products of a chunk. `words` are
  /// the results of `load`, panel after panel. The inputs of a row are read
  /// once for all panels.
  virtual Values multiply(ValueRange words, ValueRange sums, Value chunk,
                          int64_t inputs) = 0;

  /// Loads value `index` of a row, normed. Returns zero if `mask` is false.
  Value loadInput(int64_t row, Value index, Value normWeight, Value mask);
  Value loadNormWeight(Value index, Value mask);
  /// Loads or stores four-byte values of all rows, which are contiguous.
  Values loadOfRows(mlir::Type type, Value from);
  void storeOfRows(ValueRange values, Value to);

  GpuBuilder &kb;
  const PanelProductSpec &spec;
  const int64_t chunkInputs, panelBytes, stages;
  /// Inputs that a warp has prepared, in shared memory.
  Value staged;

  /// Number of rows of the current form.
  int64_t tileRows = kTileRows;

  /// Returns 2 for gate and up panels, else 1.
  int64_t panels() const { return spec.gated ? 2 : 1; }

private:
  int64_t fullChunks() const { return spec.k / chunkInputs; }
  int64_t restInputs() const { return spec.k % chunkInputs; }
  /// Returns the number of warps that have a chunk.
  int64_t warpsAtWork() const;
  Value panelPointer(int64_t which);
  Values loadAll(Value chunk, int64_t inputs);
  Values loadFirst(int64_t stage);
  Values addChunk(ValueRange words, ValueRange sums, Value chunk,
                  int64_t inputs);
  void findRows(Value firstRow, Value rows);
  Values sumChunks(const Values &first);
  void join(Value firstRow, Value rows, ValueRange sums);
  void emitForms(llvm::ArrayRef<int64_t> forms, Value firstRow, Value rows,
                 const Values &first);

  const llvm::SmallVector<int64_t, 4> rowForms;
  /// Sums of all warps; for each row of the tile the scale of its norm, and its
  /// address if rows are gathered. In registers these would take too many.
  Value sumsPlace, inversePlace, addressPlace;
  /// Address and scale of the norm of each row of the tile.
  Values rowPointers, inverses;
};

std::unique_ptr<PanelProduct> createElementProduct(GpuBuilder &kb,
                                                   const PanelProductSpec &);
std::unique_ptr<PanelProduct> createIntegerProduct(GpuBuilder &kb,
                                                   const PanelProductSpec &);

/// Returns the number of blocks of a product of integers in panels that must
/// fit on a processor: two, or one if a group takes many registers.
int64_t integerBlocks(const ProductParams &params);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_PRODUCTS_PANELPRODUCT_H
