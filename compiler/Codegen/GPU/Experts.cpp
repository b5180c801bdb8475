//===- Experts.cpp - Products of experts ----------------------------------===//
//
// A pair is (row, j): row's j-th expert, numbered row * top_k + j. A block has
// a panel of an expert and goes over the expert's pairs tile after tile, so
// that its weights come from memory once, and not at all where it has no pair.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/FragmentProduct.h"

using namespace mtp::codegen;

/// Blocks of one expert.
static int64_t expertBlocks(const KernelConfig &config, int64_t n, bool gated) {
  return hasFragments(config) ? fragmentBlocks(n, gated, /*isWide=*/false)
                              : productPanels(n, gated);
}

static GpuLaunch expertLaunch(const KernelConfig &config, int64_t n,
                              bool gated) {
  return {config.integer("experts") * expertBlocks(config, n, gated),
          /*rowsPerGroup=*/0, productThreads(config)};
}

/// The product of all rows of `spec`, tile after tile.
static void emitTiles(GpuBuilder &kb, const PanelProductSpec &spec,
                      int64_t tileRows,
                      llvm::function_ref<void(Value)> emitTile) {
  kb.forRange(kb.integer(0), spec.rows, tileRows, [&](Value firstRow) {
    emitTile(firstRow);
    // The tile's sums lie where the next one's will.
    kb.sync();
  });
}

/// The pairs of the block's expert as rows of a product. buffers: x, W, expert
/// start, pairs, y. params: M.
static void emitExperts(GpuBuilder &kb, const KernelConfig &config,
                        PanelProductSpec &spec,
                        llvm::function_ref<Value(Value)> rowOf,
                        int64_t yStride) {
  kb.letSuccessorIn();
  kb.waitForPredecessor();
  int64_t panels = expertBlocks(config, spec.n, spec.gated);
  Value expert = kb.div(kb.block(), panels);
  Value starts = kb.buffer(2), pairs = kb.buffer(3), y = kb.buffer(4);
  // Starts and pairs are numbers in memory: they stay among the pairs.
  Value count = kb.mul(kb.param(0), config.integer("top_k"));
  auto startAt = [&](Value index) {
    return kb.clampIndex(kb.loadI32(starts, index), kb.add(count, 1));
  };
  Value start = startAt(expert);
  auto pairAt = [&](Value row) {
    Value place = kb.clampIndex(kb.add(start, row), count);
    return kb.clampIndex(kb.loadI32(pairs, place), count);
  };
  auto rowPointer = [&](Value row) { return rowOf(pairAt(row)); };
  auto store = [&](const ProductOutput &output) {
    Value to = kb.at(y, pairAt(output.row), yStride * 4);
    kb.storeOwn(output.value, kb.at(to, output.column, 4), output.mask);
  };
  spec.weights = kb.at(kb.buffer(1), expert, productMatrixBytes(spec));
  spec.panel = kb.rem(kb.block(), kb.integer(panels));
  spec.rows = kb.sub(startAt(kb.add(expert, 1)), start);
  spec.rowPointer = rowPointer;
  spec.gathersRows = true;
  spec.store = store;
  if (hasFragments(config)) {
    FragmentProduct product(kb, spec, /*isWide=*/false);
    return emitTiles(kb, spec, kFragmentRows, [&](Value firstRow) {
      product.emitTile(firstRow, [] {});
    });
  }
  std::unique_ptr<PanelProduct> product = PanelProduct::create(kb, spec);
  emitTiles(kb, spec, kTileRows, [&](Value firstRow) {
    product->emitTile(firstRow, product->loadFirst());
  });
}

static PanelProductSpec expertSpec(const KernelConfig &config) {
  PanelProductSpec spec;
  spec.k = config.integer("k");
  spec.format = config.weightFormat();
  return spec;
}

static GpuLaunch gateUpLaunch(const KernelConfig &config) {
  return expertLaunch(config, 2 * config.integer("inter"), /*gated=*/true);
}

static void emitMoeGateUp(GpuBuilder &kb, const KernelConfig &config) {
  int64_t inter = config.integer("inter");
  int64_t xStride = config.integer("x_stride", config.integer("k"));
  PanelProductSpec spec = expertSpec(config);
  spec.n = 2 * inter;
  spec.gated = true;
  auto rowOf = [&](Value pair) {
    Value row = kb.div(pair, config.integer("top_k"));
    return kb.at(kb.buffer(0), row, xStride * 4);
  };
  emitExperts(kb, config, spec, rowOf, inter);
}

static GpuLaunch downLaunch(const KernelConfig &config) {
  return expertLaunch(config, config.integer("n"), /*gated=*/false);
}

static void emitMoeDown(GpuBuilder &kb, const KernelConfig &config) {
  PanelProductSpec spec = expertSpec(config);
  spec.n = config.integer("n");
  auto rowOf = [&](Value pair) {
    return kb.at(kb.buffer(0), pair, spec.k * 4);
  };
  emitExperts(kb, config, spec, rowOf, spec.n);
}

static const GpuEmitter kinds[] = {
    {"moe_gate_up", gateUpLaunch, emitMoeGateUp, verifyRowStrides},
    {"moe_down", downLaunch, emitMoeDown}};

llvm::ArrayRef<GpuEmitter> mtp::codegen::gpuExpertKernels() { return kinds; }
