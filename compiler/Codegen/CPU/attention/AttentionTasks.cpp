//===- AttentionTasks.cpp - Division of attention into tasks --------------===//

#include "compiler/Codegen/CPU/attention/AttentionRuns.h"
#include "compiler/Codegen/CPU/builder/KernelTable.h"

#include <deque>

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

/// Semantic: `getTasks` of the kernel kinds has the number, too.
static constexpr int64_t rowsPerTask = 8;

namespace {

/// The caller's share of the tasks, and the division of positions. The caller
/// counts `division.tasksPerTile` tasks for each group of rows and tile: the
/// number of workers. With several groups, fewer tasks of the kernel's own
/// numbering share the splits of one group. Several of the caller's tasks then
/// map to one of them.
class TaskShare {
public:
  TaskShare(CpuBuilder &kb, const AttentionDivision &division, int64_t splits)
      : begin(kb.taskBegin()), end(kb.taskEnd()) {
    groups = kb.div(kb.add(kb.param(0), division.rowsPerTask - 1),
                    division.rowsPerTask);
    groups = kb.max(groups, kb.integer(1));
    if (division.tasksPerTile <= 1)
      return;
    Value most = kb.integer(division.tasksPerTile),
          wanted = kb.div(most, groups);
    tasksPerTile = kb.min(kb.max(wanted, kb.integer(2)), kb.integer(splits));
    // With less than two workers for a task, two tasks that read the same keys
    // are halved together: each worker gets one half of both.
    Value together = kb.integer(1);
    if (division.tasksPerGroup % 2 == 0)
      together = kb.select(kb.cmp(Cmp::LT, wanted, 2), kb.integer(2), together);
    begin = firstAt(kb, begin, most, together);
    end = firstAt(kb, end, most, together);
  }

  Value begin, end;
  /// Number of row groups and, if the context is split, number of tasks that
  /// share the splits of each group.
  Value groups, tasksPerTile;

private:
  /// Returns the first of the kernel's own tasks that begins at or after `task`
  /// of the caller, rounded up to a multiple of `together`.
  Value firstAt(CpuBuilder &kb, Value task, Value most, Value together) {
    auto divideUp = [&](Value a, Value b) {
      return kb.div(kb.sub(kb.add(a, b), 1), b);
    };
    Value first = divideUp(kb.mul(task, tasksPerTile), most);
    return kb.mul(divideUp(first, together), together);
  }
};

/// A task, and the caller's next tasks with the same rows and key head.
struct TaskGroup {
  TaskGroup(CpuBuilder &kb, const AttentionDivision &division,
            const TaskShare &share, Value task) {
    Value ofKeyHead = kb.integer(division.tasksPerGroup);
    Value tile = kb.rem(task, ofKeyHead), group, keyHead;
    if (share.tasksPerTile) {
      // Neighbouring tasks take the same splits, so that they may share keys.
      Value row = kb.div(task, division.tasksPerRow);
      splitShare = kb.div(row, share.groups);
      group = kb.rem(row, share.groups);
      keyHead = kb.div(kb.rem(task, kb.integer(division.tasksPerRow)),
                       division.tasksPerGroup);
    } else {
      // Slots differ in rows and positions. A worker therefore has some key
      // heads of all groups, not all key heads of some groups.
      Value pair = kb.div(task, division.tasksPerGroup);
      splitShare = kb.integer(0);
      group = kb.rem(pair, share.groups);
      keyHead = kb.div(pair, share.groups);
    }
    firstRow = kb.mul(group, division.rowsPerTask);
    endRow = kb.min(kb.add(firstRow, division.rowsPerTask), kb.param(0));
    head = kb.mul(kb.add(kb.mul(keyHead, division.tasksPerGroup), tile),
                  division.headsPerTask);
    Value left = kb.sub(ofKeyHead, tile);
    tasks = kb.min(kb.min(kb.sub(share.end, task), left),
                   kb.integer(division.tasksAtOnce()));
  }

  Value firstRow, endRow, head, tasks, splitShare;
};

/// Code of a kernel for every tile in `division.tiles`.
class AttentionTiles {
public:
  AttentionTiles(CpuBuilder &kb, const AttentionParams &params)
      : kb(kb), division(params, rowsPerTask) {
    for (int64_t tile : division.tiles)
      layouts.emplace_back(params, kb.getTarget(), division, tile);
    for (const AttentionLayout &layout : layouts)
      runs.emplace_back(kb, params, layout);
  }

  /// Emits the caller's tasks, several at once if they can be taken together.
  void emit() {
    runs.back().begin();
    TaskShare share(kb, division, layouts.back().splits);
    Value tasksPerTile =
        share.tasksPerTile ? share.tasksPerTile : kb.integer(1);
    kb.whileLoop(
        Values{share.begin},
        [&](ValueRange state) { return kb.cmp(Cmp::LT, state[0], share.end); },
        [&](ValueRange state) {
          TaskGroup group(kb, division, share, state[0]);
          emitTile(group, tasksPerTile, 0);
          return Values{kb.add(state[0], group.tasks)};
        });
  }

private:
  /// Emits the group as one tile of the first layout from `index` on that it
  /// fills exactly. The last layout has one tile per task.
  void emitTile(const TaskGroup &group, Value tasksPerTile, size_t index) {
    auto take = [&](Value tiles) {
      runs[index].emit(group.firstRow, group.endRow, group.head, tiles,
                       {group.splitShare, tasksPerTile});
    };
    if (index + 1 == runs.size())
      return take(group.tasks);
    int64_t tasks = layouts[index].tile / division.headsPerTask;
    kb.ifElse(
        kb.cmp(Cmp::EQ, group.tasks, tasks), [&] { take(kb.integer(1)); },
        [&] { emitTile(group, tasksPerTile, index + 1); });
  }

  CpuBuilder &kb;
  AttentionDivision division;
  // Runs refer to their layouts, and elements of a deque never move.
  std::deque<AttentionLayout> layouts;
  std::deque<AttentionRuns> runs;
};

} // namespace

/// Emits attention or attention_tree.
/// Buffers of attention: q, slots, positions, page table, base of the layer's
/// pages, y. Params: M, maxPages.
/// Buffers of attention_tree: q, slots, roots, page table, base of the layer's
/// pages, masks, y. Params: M, maxPages.
template <typename KernelT>
static void emitAttention(CpuBuilder &kb, KernelT kernel) {
  AttentionTiles(kb, AttentionParams(kernel)).emit();
}

/// Emits attention_combine. Buffers: positions, splits, y. Params: M.
static void emitJoin(CpuBuilder &kb, exec::AttentionCombineKernelAttr kernel) {
  AttentionParams params(kernel);
  AttentionDivision division(params, /*rowsPerTask=*/1);
  AttentionLayout layout(params, kb.getTarget(), division,
                         division.headsPerTask);
  int64_t window = params.window;
  AttentionBlock block(kb, layout, /*scale=*/1, window != 0);
  kb.forRange(kb.taskBegin(), kb.taskEnd(), 1, [&](Value task) {
    Value row = kb.div(task, division.tasksPerRow);
    Value tile = kb.rem(task, division.tasksPerRow);
    Value end = kb.min(kb.add(kb.loadI32(kb.buffer(0), row), 1),
                       kb.integer(layout.splits * layout.split));
    Value begin =
        window ? kb.max(kb.sub(end, window), kb.integer(0)) : kb.integer(0);
    Value splits =
        kb.at(kb.at(kb.buffer(1), row, layout.splits * layout.splitStride * 4),
              tile, AttentionLayout::sumsFloats(layout.tile, layout.dv) * 4);
    Value first = kb.div(begin, layout.split);
    block.empty(kb.scratch());
    kb.forRange(first, kb.div(kb.add(end, layout.split - 1), layout.split), 1,
                [&](Value split) {
                  block.add(kb.scratch(),
                            kb.at(splits, split, layout.splitStride * 4),
                            kb.cmp(Cmp::EQ, split, first));
                });
    Value y = kb.at(kb.buffer(2), row, params.yStride * 4);
    block.close(kb.scratch(),
                kb.at(y, kb.mul(tile, layout.tile), layout.dv * 4));
  });
}

static int64_t joinScratch(exec::AttentionCombineKernelAttr kernel,
                           const TargetDesc &target) {
  AttentionParams params(kernel);
  AttentionDivision division(params, /*rowsPerTask=*/1);
  return AttentionLayout(params, target, division, division.headsPerTask)
      .sumsBytes();
}

template <typename KernelT>
static int64_t attentionScratch(KernelT kernel, const TargetDesc &target) {
  AttentionParams params(kernel);
  AttentionDivision division(params, rowsPerTask);
  int64_t bytes = 0;
  for (int64_t tile : division.tiles)
    bytes = std::max(
        bytes, AttentionLayout(params, target, division, tile).scratchBytes());
  return bytes;
}

/// Verifies that each split in a buffer has room for all tiles of a row.
template <typename KernelT>
static LogicalResult verifySplitStride(KernelT kernel, EmitError emitError) {
  AttentionParams params(kernel);
  if (params.splits == 0)
    return success();
  AttentionDivision division(params, /*rowsPerTask=*/1);
  int64_t room = division.tasksPerRow *
                 AttentionLayout::sumsFloats(division.headsPerTask, params.dv);
  if (params.splitStride < room)
    return emitError() << "expected split_stride to be at least " << room
                       << ", got " << params.splitStride;
  return success();
}

template <typename KernelT>
static KernelEmitter attentionEmitter() {
  return kernelEmitter(emitAttention<KernelT>, attentionScratch<KernelT>,
                       verifySplitStride<KernelT>);
}

static const KernelEmitter kinds[] = {
    attentionEmitter<exec::AttentionKernelAttr>(),
    attentionEmitter<exec::AttentionTreeKernelAttr>(),
    attentionEmitter<exec::AttentionSplitKvKernelAttr>(),
    kernelEmitter(emitJoin, joinScratch,
                  verifySplitStride<exec::AttentionCombineKernelAttr>)};

llvm::ArrayRef<KernelEmitter> codegen::attentionKernels() { return kinds; }
