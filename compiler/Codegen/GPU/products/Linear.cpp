//===- Linear.cpp - Projections -------------------------------------------===//

#include "compiler/Codegen/GPU/products/Linear.h"

#include "compiler/Codegen/Rows/KeptColumns.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

PanelProductSpec codegen::productSpec(const ProjectionBuffers &buffers,
                                      const ProductParams &params) {
  PanelProductSpec spec = productSpec(params);
  spec.weights = buffers.weights;
  spec.normWeight = buffers.normWeight;
  if (params.prepared)
    spec.prepared = buffers.x;
  return spec;
}

int64_t codegen::matrixBlocks(const ProductParams &params, bool isWide) {
  return params.fragments ? fragmentBlocks(params.n, params.gated, isWide)
                          : productPanels(params.n, params.gated);
}

GpuLaunch codegen::tileLaunch(const ProductParams &params, bool isWide,
                              int64_t heads) {
  return {heads * matrixBlocks(params, isWide), tileRows(params),
          productThreads(params), blocksPerProcessor(params)};
}

int64_t codegen::tileRows(const ProductParams &params) {
  return params.fragments ? kFragmentRows : kTileRows;
}

/// Neighbouring blocks have tiles of the same panel, so that all but the first
/// find its weights in the L2 cache.
BlockTile::BlockTile(GpuBuilder &kb, const ProductParams &params, Value rows) {
  int64_t ofTile = tileRows(params);
  Value tiles = kb.div(kb.add(rows, ofTile - 1), ofTile);
  // Block numbers fit in 32 bits, which a GPU divides faster. So do row
  // numbers, which stay in registers while tiles are multiplied.
  auto narrow = [&](Value value) { return kb.truncate(value, kb.i32Type()); };
  auto wide = [&](Value value) { return kb.extend(value, kb.i64Type()); };
  Value block = narrow(kb.block()), perPanel = narrow(tiles);
  panel = wide(kb.div(block, perPanel));
  Value tileRows = kb.constant(kb.i32Type(), double(ofTile));
  firstRow = wide(kb.mul(kb.rem(block, perPanel), tileRows));
}

void codegen::emitTileProduct(GpuBuilder &kb, const ProductParams &params,
                              const PanelProductSpec &spec, Value firstRow,
                              bool isWide) {
  auto wait = [&](llvm::function_ref<void(Value)> body) {
    kb.letSuccessorIn();
    kb.waitForPredecessor();
    Value rows = kb.param(0);
    if (!kb.takesActive())
      return body(rows);
    kb.ifThen(kb.cmp(Cmp::LT, firstRow, rows), [&] { body(rows); });
  };
  if (params.fragments)
    return FragmentProduct(kb, spec, isWide).emitTile(firstRow, wait);
  std::unique_ptr<PanelProduct> product = PanelProduct::create(kb, spec);
  Values first = product->loadFirst();
  wait([&](Value rows) { product->emitTile(firstRow, rows, first); });
}

Value codegen::addBias(GpuBuilder &kb, Value bias,
                       const ProductOutput &output) {
  if (!bias)
    return output.value;
  Value from = kb.at(bias, output.column, 4);
  return kb.add(output.value, kb.loadOwn(kb.f32Type(), from, output.mask));
}

static GpuLaunch linearLaunch(exec::LinearKernelAttr kernel) {
  return tileLaunch(ProductParams(kernel), /*isWide=*/false);
}

/// Emits linear. Buffers: x, (norm weight), W, (bias), (residual), y. Params:
/// M.
static void emitLinear(GpuBuilder &kb, exec::LinearKernelAttr kernel) {
  ProductParams params(kernel);
  int64_t outputs = kernel.getOutputs();
  int64_t yStride = strideOr(kernel.getYStride(), outputs);
  int64_t residualStride = strideOr(kernel.getResidualStride(), outputs);

  ProjectionBuffers buffers(kb, params);
  int64_t next = buffers.next;
  Value residual = kernel.getResidual() ? kb.buffer(next++) : Value();
  Value y = kb.buffer(next);

  PanelProductSpec spec = productSpec(buffers, params);
  spec.rows = kb.param(0);
  BlockTile tile(kb, params, spec.rows);
  spec.panel = tile.panel;
  auto rowPointer = [&](Value row) {
    return kb.at(buffers.x, row, params.xStride * 4);
  };
  auto store = [&](const ProductOutput &output) {
    auto at = [&](Value base, int64_t stride) {
      return kb.at(kb.at(base, output.row, stride * 4), output.column, 4);
    };
    Value result = addBias(kb, buffers.bias, output);
    if (residual)
      result =
          kb.add(result, kb.loadOwn(kb.f32Type(), at(residual, residualStride),
                                    output.mask));
    kb.storeOwn(result, at(y, yStride), output.mask);
  };
  spec.rowPointer = rowPointer;
  spec.store = store;
  emitTileProduct(kb, params, spec, tile.firstRow);
}

static GpuLaunch headLinearLaunch(exec::HeadLinearKernelAttr kernel) {
  GpuLaunch launch =
      tileLaunch(ProductParams(kernel), /*isWide=*/false, kernel.getHeads());
  // In addition to its sums, a block keeps the values that it rotates.
  launch.blocksPerProcessor = 2;
  return launch;
}

/// Emits head_linear. Buffers: x, W (heads stacked), [table, positions], y.
/// Params: M.
static void emitHeadLinear(GpuBuilder &kb, exec::HeadLinearKernelAttr kernel) {
  ProductParams params(kernel);
  int64_t panels = matrixBlocks(params, /*isWide=*/false);
  HeadStrides in{kernel.getXRow(), kernel.getXHead()};
  HeadStrides out{kernel.getYRow(), kernel.getYHead()};
  Value x = kb.at(kb.buffer(0), kernel.getXOffset() * 4);
  Value y =
      kb.at(kb.buffer(kernel.getRotation() ? 4 : 2), kernel.getYOffset() * 4);

  PanelProductSpec spec = productSpec(params);
  spec.rows = kb.param(0);
  BlockTile tile(kb, params, spec.rows);
  Value head = kb.div(tile.panel, panels);
  spec.panel = kb.rem(tile.panel, kb.integer(panels));
  auto rowPointer = [&](Value row) { return in.at(kb, x, head, row); };
  auto store = [&](const ProductOutput &output) {
    kb.storeOwn(output.value,
                kb.at(out.at(kb, y, head, output.row), output.column, 4),
                output.mask);
  };
  spec.rowPointer = rowPointer;
  spec.store = store;
  spec.weights = kb.at(kb.buffer(1), head, productMatrixBytes(spec));
  emitTileProduct(kb, params, spec, tile.firstRow);

  // The block of a head's first panel also copies the columns after the head's
  // outputs.
  if (kernel.getKeepWidth() > 0)
    kb.ifThen(kb.cmp(Cmp::EQ, spec.panel, 0), [&] {
      // Each form of the product has its own wait, and reads the number of rows
      // after it.
      Value rows = kb.loadRows();
      Value end = kb.min(kb.add(tile.firstRow, tileRows(params)), rows);
      kb.forRange(tile.firstRow, end, 1, [&](Value row) {
        Value from = in.at(kb, kb.buffer(0), head, row);
        Value to = kb.at(out.at(kb, y, head, row), spec.n * 4);
        emitKeptColumns(kb, kernel, kb.at(from, kernel.getKeepOffset() * 4), to,
                        row);
      });
    });
}

static const GpuEmitter kinds[] = {
    gpuEmitter(linearLaunch, emitLinear, verifyOnGpu),
    gpuEmitter(headLinearLaunch, emitHeadLinear, verifyOnGpu)};

llvm::ArrayRef<GpuEmitter> codegen::gpuLinearKernels() { return kinds; }
