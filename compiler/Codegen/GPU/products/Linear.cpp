//===- Linear.cpp - Projections -------------------------------------------===//

#include "compiler/Codegen/GPU/products/Linear.h"

#include "compiler/Codegen/Rows/Rope.h"

using namespace mtp::codegen;
using namespace mlir;

static bool isGated(const KernelConfig &config) {
  return config.text("activation") == "swiglu";
}

ProductBuffers::ProductBuffers(GpuBuilder &kb, const KernelConfig &config) {
  x = kb.buffer(next++);
  if (config.flag("norm"))
    normWeight = kb.buffer(next++);
  weights = kb.buffer(next++);
  if (config.flag("bias"))
    bias = kb.buffer(next++);
}

PanelProductSpec mtp::codegen::productSpec(const ProductBuffers &buffers,
                                           const KernelConfig &config) {
  PanelProductSpec spec;
  spec.k = config.integer("k");
  spec.n = config.integer("n");
  spec.format = config.weightFormat();
  spec.weights = buffers.weights;
  spec.normWeight = buffers.normWeight;
  spec.eps = config.real("eps");
  spec.normOffset = config.integer("offset");
  return spec;
}

int64_t mtp::codegen::matrixBlocks(const KernelConfig &config, bool gated,
                                   bool isWide) {
  int64_t n = config.integer("n");
  return hasFragments(config) ? fragmentBlocks(n, gated, isWide)
                              : productPanels(n, gated);
}

GpuLaunch mtp::codegen::tileLaunch(const KernelConfig &config, bool gated,
                                   bool isWide, int64_t heads) {
  return {heads * matrixBlocks(config, gated, isWide), tileRows(config),
          productThreads(config)};
}

int64_t mtp::codegen::tileRows(const KernelConfig &config) {
  return hasFragments(config) ? kFragmentRows : kTileRows;
}

/// Tiles of a panel are neighbours, so that all but the first find its weights
/// in the L2 cache.
BlockTile::BlockTile(GpuBuilder &kb, const KernelConfig &config, Value rows) {
  int64_t ofTile = tileRows(config);
  Value tiles = kb.div(kb.add(rows, ofTile - 1), ofTile);
  // Blocks are numbered in 32 bits, which a GPU divides faster, and so are
  // rows, whose numbers are kept while tiles are multiplied.
  auto narrow = [&](Value value) { return kb.truncate(value, kb.i32Type()); };
  auto wide = [&](Value value) { return kb.extend(value, kb.i64Type()); };
  Value block = narrow(kb.block()), perPanel = narrow(tiles);
  panel = wide(kb.div(block, perPanel));
  Value tileRows = kb.constant(kb.i32Type(), double(ofTile));
  firstRow = wide(kb.mul(kb.rem(block, perPanel), tileRows));
}

void mtp::codegen::emitTileProduct(GpuBuilder &kb, const KernelConfig &config,
                                   const PanelProductSpec &spec, Value firstRow,
                                   bool isWide) {
  auto wait = [&] {
    kb.letSuccessorIn();
    kb.waitForPredecessor();
  };
  if (hasFragments(config))
    return FragmentProduct(kb, spec, isWide).emitTile(firstRow, wait);
  std::unique_ptr<PanelProduct> product = PanelProduct::create(kb, spec);
  Values first = product->loadFirst();
  wait();
  product->emitTile(firstRow, first);
}

Value mtp::codegen::addBias(GpuBuilder &kb, Value bias,
                            const ProductOutput &output) {
  if (!bias)
    return output.value;
  Value from = kb.at(bias, output.column, 4);
  return kb.add(output.value, kb.loadOwn(kb.f32Type(), from, output.mask));
}

static GpuLaunch linearLaunch(const KernelConfig &config) {
  return tileLaunch(config, isGated(config), /*isWide=*/false);
}

/// buffers: x, (norm weight), W, (bias), (residual), y. params: M.
static void emitLinear(GpuBuilder &kb, const KernelConfig &config) {
  int64_t k = config.integer("k"), n = config.integer("n");
  int64_t outputs = isGated(config) ? n / 2 : n;
  int64_t xStride = config.integer("x_stride", k);
  int64_t yStride = config.integer("y_stride", outputs);
  int64_t residualStride = config.integer("residual_stride", outputs);

  ProductBuffers buffers(kb, config);
  int64_t next = buffers.next;
  Value residual = config.flag("residual") ? kb.buffer(next++) : Value();
  Value y = kb.buffer(next);

  PanelProductSpec spec = productSpec(buffers, config);
  spec.gated = isGated(config);
  spec.rows = kb.param(0);
  BlockTile tile(kb, config, spec.rows);
  spec.panel = tile.panel;
  auto rowPointer = [&](Value row) {
    return kb.at(buffers.x, row, xStride * 4);
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
  emitTileProduct(kb, config, spec, tile.firstRow);
}

namespace {
/// How far apart rows and heads lie, in f32.
struct HeadStrides {
  int64_t row;
  int64_t head;

  Value at(GpuBuilder &kb, Value base, Value headIndex, Value rowIndex) const {
    return kb.at(kb.at(base, rowIndex, row * 4), headIndex, head * 4);
  }
};
} // namespace

static GpuLaunch headLinearLaunch(const KernelConfig &config) {
  GpuLaunch launch = tileLaunch(config, /*gated=*/false, /*isWide=*/false,
                                config.integer("heads"));
  // Beside its sums a block keeps what it rotates; fragments say for themselves
  // what they leave to others.
  if (!hasFragments(config))
    launch.blocksPerProcessor = 2;
  return launch;
}

/// The columns of a row that a head has behind its outputs, at `to`; the block
/// of the head's first panel has them, too. `from` is the head's input.
static void keepColumns(GpuBuilder &kb, const KernelConfig &config, Value from,
                        Value to, Value row) {
  int64_t width = config.integer("keep_width");
  from = kb.at(from, config.integer("keep_offset") * 4);
  if (!config.flag("rotate"))
    return kb.copy(from, to, width);
  RopeSpec rope = ropeSpec(config, width);
  Value angles = emitAngles(kb, rope, kb.buffer(2), kb.buffer(3), row);
  emitRotatedHead(kb, rope, from, to, angles);
}

/// buffers: x, W (heads stacked), [table, positions], y. params: M.
static void emitHeadLinear(GpuBuilder &kb, const KernelConfig &config) {
  int64_t heads = config.integer("heads");
  int64_t k = config.integer("k"), n = config.integer("n");
  int64_t panels = matrixBlocks(config, /*gated=*/false, /*isWide=*/false);
  HeadStrides in, out;
  in.head = config.integer("x_head_stride", k);
  in.row = config.integer("x_stride", heads * in.head);
  out.head = config.integer("y_head_stride", n);
  out.row = config.integer("y_stride", heads * out.head);
  Value x = kb.at(kb.buffer(0), config.integer("x_offset") * 4);
  bool rotate = config.flag("rotate");
  Value y = kb.at(kb.buffer(rotate ? 4 : 2), config.integer("y_offset") * 4);

  PanelProductSpec spec;
  spec.k = k;
  spec.n = n;
  spec.format = config.weightFormat();
  spec.rows = kb.param(0);
  BlockTile tile(kb, config, spec.rows);
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
  emitTileProduct(kb, config, spec, tile.firstRow);

  if (config.integer("keep_width") > 0)
    kb.ifThen(kb.cmp(Cmp::EQ, spec.panel, 0), [&] {
      Value end = kb.min(kb.add(tile.firstRow, tileRows(config)), spec.rows);
      kb.forRange(tile.firstRow, end, 1, [&](Value row) {
        keepColumns(kb, config, in.at(kb, kb.buffer(0), head, row),
                    kb.at(out.at(kb, y, head, row), n * 4), row);
      });
    });
}

static const GpuEmitter kinds[] = {
    {"linear", linearLaunch, emitLinear, verifyRowStrides},
    {"head_linear", headLinearLaunch, emitHeadLinear, verifyRowStrides}};

llvm::ArrayRef<GpuEmitter> mtp::codegen::gpuLinearKernels() { return kinds; }
