//===- AttentionTasks.cpp - How attention divides into tasks --------------===//

#include "compiler/Codegen/CPU/AttentionRuns.h"
#include "compiler/Codegen/CPU/KernelTable.h"

using namespace mtp::codegen;
using namespace mlir;

/// Rows of a task; of a tree it is one, because each row has its own path.
static int64_t rowsPerTask(bool tree) { return tree ? 1 : 8; }

namespace {

/// A task and those behind it that share its rows and key head.
struct Together {
  Together(KernelBuilder &kb, const AttentionDivision &division, Value task)
      : firstRow(
            kb.mul(kb.div(task, division.tilesPerRow), division.rowsPerTask)),
        endRow(kb.min(kb.add(firstRow, division.rowsPerTask), kb.param(0))) {
    Value tile = kb.rem(task, kb.integer(division.tilesPerRow));
    Value share = kb.integer(division.tilesPerGroup);
    Value left = kb.sub(share, kb.rem(tile, share));
    head = kb.mul(tile, division.tile);
    tiles = kb.min(kb.min(kb.sub(kb.taskEnd(), task), left),
                   kb.integer(division.tilesAtOnce()));
  }

  Value firstRow, endRow, head, tiles;
};

} // namespace

/// attention: buffers: q, slots, positions, page table, base of the layer's
/// pages, y. params: M, maxPages.
/// attention_tree: buffers: q, slots, base, page table, base of the layer's
/// pages, mask, y. params: M, maxPages, N.
template <bool tree>
static void emitAttention(KernelBuilder &kb, const KernelConfig &config) {
  AttentionDivision division(config, rowsPerTask(tree));
  AttentionLayout narrow(config, kb.getTarget(), division, /*wide=*/false);
  AttentionLayout wide(config, kb.getTarget(), division, /*wide=*/true);
  AttentionRuns narrowRuns(kb, config, narrow, tree);
  AttentionRuns wideRuns(kb, config, wide, tree);
  narrowRuns.begin();
  kb.whileLoop(
      Values{kb.taskBegin()},
      [&](ValueRange state) { return kb.cmp(Cmp::LT, state[0], kb.taskEnd()); },
      [&](ValueRange state) {
        Together together(kb, division, state[0]);
        auto emit = [&](AttentionRuns &runs, Value tiles) {
          runs.emit(together.firstRow, together.endRow, together.head, tiles);
        };
        int64_t pair = division.wideTile / division.tile;
        if (pair == 1)
          emit(narrowRuns, together.tiles);
        else
          kb.ifElse(
              kb.cmp(Cmp::EQ, together.tiles, pair),
              [&] { emit(wideRuns, kb.integer(1)); },
              [&] { emit(narrowRuns, together.tiles); });
        return Values{kb.add(state[0], together.tiles)};
      });
}

template <bool tree>
static int64_t attentionTasks(const KernelConfig &config, int64_t rows) {
  return AttentionDivision(config, rowsPerTask(tree)).tasks(rows);
}

template <bool tree>
static int64_t attentionScratch(const KernelConfig &config,
                                const TargetDesc &target) {
  AttentionDivision division(config, rowsPerTask(tree));
  auto bytes = [&](bool wide) {
    return AttentionLayout(config, target, division, wide).scratchBytes();
  };
  return std::max(bytes(false), bytes(true));
}

static LogicalResult verifyAttention(const KernelConfig &config,
                                     EmitError emitError) {
  int64_t qHeads = config.integer("q_heads");
  int64_t kvHeads = config.integer("kv_heads");
  if (qHeads % kvHeads != 0)
    return emitError() << "expected q_heads to be a multiple of kv_heads "
                       << kvHeads << ", got " << qHeads;
  if (config.integer("page") > 64)
    return emitError() << "expected a page of at most 64 positions, got "
                       << config.integer("page");
  int64_t entry = config.integer("entry_width");
  for (auto [offset, width] :
       {std::pair("k_offset", "dk"), std::pair("v_offset", "dv")}) {
    int64_t end = config.integer(offset) + kvHeads * config.integer(width);
    if (config.integer(offset) < 0 || end > entry)
      return emitError() << "expected " << offset << " + kv_heads * " << width
                         << " to be at most entry_width " << entry << ", got "
                         << end;
  }
  return success();
}

// A tree has no window, so the window stands last.
static constexpr ConfigKey attentionKeys[] = {
    {"q_heads", ConfigKey::Int, true},
    {"kv_heads", ConfigKey::Int, true},
    {"dk", ConfigKey::Int, true},
    {"dv", ConfigKey::Int, true},
    {"page", ConfigKey::Int, true},
    {"entry_width", ConfigKey::Int, true},
    {"k_offset", ConfigKey::Int, false},
    {"v_offset", ConfigKey::Int, false},
    {"dtype", ConfigKey::Text, true, "f32|bf16"},
    {"scale", ConfigKey::Float, true},
    {"q_stride", ConfigKey::Int, false},
    {"y_stride", ConfigKey::Int, false},
    {"window", ConfigKey::Int, false}};

static const KernelKind kinds[] = {
    {"attention", attentionKeys, emitAttention<false>, attentionTasks<false>,
     attentionScratch<false>, verifyAttention},
    {"attention_tree", llvm::ArrayRef<ConfigKey>(attentionKeys).drop_back(),
     emitAttention<true>, attentionTasks<true>, attentionScratch<true>,
     verifyAttention}};

llvm::ArrayRef<KernelKind> mtp::codegen::attentionKernels() { return kinds; }
