//===- KernelKinds.cpp - The catalogue of kernels -------------------------===//

#include "dialects/Exec/IR/KernelKinds.h"
#include "dialects/Exec/IR/WeightLayout.h"
#include "runtime/schema/SamplingWords.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::exec;

namespace {

/// How a kind's work divides.
enum class Tasks {
  One,
  /// One task per row: the first param. A task reads and writes its own row of
  /// every activation.
  Rows,
  /// One task per row, which reads other rows, too.
  GatheredRows,
  /// One task per slot of the batch: the first param.
  Slots,
  /// Output panels of one matrix.
  Panels,
  /// Output panels of every head.
  HeadPanels,
  /// Output panels, each of all experts: which experts have rows is not known
  /// beforehand, so that no worker may own experts.
  ExpertPanels,
  /// Rows times tiles of query heads that share a key head.
  RowHeads,
  /// Groups of eight rows times such tiles, times the splits of positions.
  RowGroupHeads,
  /// Rows times the stretches of the vocabulary, which is the second param.
  RowStretches,
};

struct KindEntry {
  llvm::StringLiteral name;
  int64_t buffers;
  int64_t outputs;
  int64_t params;
  Tasks tasks;
  /// The buffers from this one to the results are updated in place; none where
  /// it is `buffers`.
  int64_t firstUpdate = buffers;
};

// `buffers` counts those that are always there; optional ones (a norm's weight,
// a bias, a residual, a shared expert's output, a head's logits, a table and
// positions) are counted by their flags.
constexpr KindEntry kKinds[] = {
    {"embed", 3, 1, 1, Tasks::Rows},
    {"mask_first", 3, 1, 1, Tasks::Rows},
    {"rms_norm", 3, 1, 1, Tasks::Rows},
    {"linear", 3, 1, 1, Tasks::Panels},
    {"linear_argmax", 4, 2, 1, Tasks::Panels},
    {"head_linear", 3, 1, 1, Tasks::HeadPanels},
    {"rope", 4, 1, 1, Tasks::Rows},
    {"kv_append", 5, 0, 2, Tasks::Rows, 4},
    {"rope_kv_append", 8, 0, 2, Tasks::Rows, 7},
    {"rope_qkv_append", 10, 1, 2, Tasks::Rows, 8},
    {"attention", 6, 1, 2, Tasks::RowGroupHeads},
    {"attention_tree", 7, 1, 3, Tasks::RowHeads},
    {"attention_parts", 6, 1, 2, Tasks::RowGroupHeads},
    {"attention_join", 3, 1, 1, Tasks::RowHeads},
    {"moe_route", 3, 2, 1, Tasks::Rows},
    {"moe_plan", 4, 2, 1, Tasks::One},
    {"moe_gate_up", 5, 1, 1, Tasks::ExpertPanels},
    {"moe_down", 5, 1, 1, Tasks::ExpertPanels},
    {"moe_combine", 4, 1, 1, Tasks::Rows},
    {"add", 3, 1, 1, Tasks::Rows},
    {"swiglu", 3, 1, 1, Tasks::Rows},
    {"concat", 3, 1, 1, Tasks::Rows},
    {"copy_cols", 2, 1, 1, Tasks::Rows},
    {"argmax", 2, 1, 1, Tasks::Rows},
    {"argmax_parts", 3, 1, 1, Tasks::Rows},
    {"take_rows", 3, 1, 2, Tasks::GatheredRows},
    {"read_state", 3, 1, 2, Tasks::Slots},
    {"write_state", 3, 0, 2, Tasks::Slots, 2},
    {"write_state_at", 4, 0, 3, Tasks::Slots, 3},
    {"concat_rows", 3, 1, 3, Tasks::Slots},
    {"kv_move", 5, 0, 3, Tasks::Slots, 4},
    {"exclude", 3, 1, 1, Tasks::Rows},
    {"mtp.sample", 5, 1, 3, Tasks::Rows},
    {"mtp.sample_parts", 7, 1, 3, Tasks::Rows},
    {"mtp.sample_mapped", 6, 1, 3, Tasks::Rows},
    {"mtp.sample_parts_mapped", 8, 1, 3, Tasks::Rows},
    {"mtp.sample_scan", 7, 1, 3, Tasks::RowStretches},
    {"mtp.sample_scan_mapped", 8, 1, 3, Tasks::RowStretches},
    {"mtp.sample_join", 8, 1, 3, Tasks::Rows},
    {"mtp.sample_join_mapped", 9, 1, 3, Tasks::Rows},
};

const KindEntry *findKind(llvm::StringRef kind) {
  for (const KindEntry &entry : kKinds)
    if (entry.name == kind)
      return &entry;
  return nullptr;
}

/// Tiles of query heads of one row of an attention. A tile has the most heads,
/// up to four, that divide a group, so that a task reads each key once for all
/// of them, but half of four that would be a row's only task.
int64_t attentionTiles(DictionaryAttr config) {
  int64_t heads = configInt(config, "q_heads");
  int64_t keyHeads = std::max<int64_t>(configInt(config, "kv_heads"), 1);
  int64_t group = std::max<int64_t>(heads / keyHeads, 1);
  int64_t tile = std::min<int64_t>(group, 4);
  while (group % tile != 0)
    --tile;
  if (heads == 4 && tile == 4)
    tile = 2;
  return heads / tile;
}

/// A flag of a configuration that adds buffers.
struct OptionalBuffers {
  llvm::StringLiteral flag;
  int64_t inputs;
  int64_t outputs;
};

// A head that keeps its logits for some slots reads which: slots and sampling.
constexpr OptionalBuffers kOptionalBuffers[] = {
    {"norm", 1, 0},   {"bias", 1, 0},   {"residual", 1, 0},
    {"shared", 1, 0}, {"logits", 2, 1}, {"rotate", 2, 0},
};

/// A buffer whose rows are found by numbers that the kernel reads, and the key
/// that says how many it has. Negative buffers count from the last one.
struct IndexLimit {
  llvm::StringLiteral kind;
  llvm::StringLiteral key;
  int64_t buffer;
};

constexpr IndexLimit kIndexLimits[] = {
    {"linear_argmax", "slots", -4},  {"head_linear", "positions", 2},
    {"rope", "positions", 1},        {"kv_append", "slots", 3},
    {"rope_kv_append", "slots", 6},  {"rope_kv_append", "positions", 2},
    {"rope_qkv_append", "slots", 7}, {"rope_qkv_append", "positions", 3},
    {"attention", "slots", 3},       {"attention_tree", "slots", 3},
    {"attention_parts", "slots", 3}, {"read_state", "slots", 1},
    {"write_state", "slots", 2},     {"write_state_at", "slots", 3},
    {"kv_move", "slots", 3},
};

} // namespace

DictionaryAttr mlir::exec::addIndexLimits(llvm::StringRef kind,
                                          DictionaryAttr config,
                                          llvm::ArrayRef<Type> buffers) {
  NamedAttrList entries(config);
  bool rotates = kind != "head_linear" || configInt(config, "rotate") != 0;
  bool picks = kind != "linear_argmax" || configInt(config, "logits") != 0;
  for (const IndexLimit &limit : kIndexLimits) {
    if (limit.kind != kind || config.contains(limit.key) || !rotates || !picks)
      continue;
    int64_t buffer = limit.buffer + (limit.buffer < 0 ? buffers.size() : 0);
    auto type = dyn_cast<ShapedType>(buffers[buffer]);
    if (type && type.getRank() > 0 && !type.isDynamicDim(0)) {
      entries.set(limit.key,
                  IntegerAttr::get(IntegerType::get(config.getContext(), 64),
                                   type.getDimSize(0)));
    }
  }
  return entries.getDictionary(config.getContext());
}

std::vector<llvm::StringRef> mlir::exec::allKernelKinds() {
  std::vector<llvm::StringRef> names;
  for (const KindEntry &entry : kKinds)
    names.push_back(entry.name);
  return names;
}

int64_t mlir::exec::configInt(DictionaryAttr config, llvm::StringRef key) {
  Attribute value = config ? config.get(key) : Attribute();
  if (auto flag = llvm::dyn_cast_or_null<BoolAttr>(value))
    return flag.getValue();
  if (auto number = llvm::dyn_cast_or_null<IntegerAttr>(value))
    return number.getInt();
  return 0;
}

int64_t mlir::exec::configPanelWidth(DictionaryAttr config) {
  int64_t width = configInt(config, "panel");
  return width > 0 ? width : formatPanelWidth();
}

int64_t mlir::exec::configPanels(DictionaryAttr config, int64_t n) {
  return panelCount(n, configPanelWidth(config));
}

std::optional<KernelSignature>
mlir::exec::kernelSignature(llvm::StringRef kind, DictionaryAttr config) {
  if (kind == kControlKind) {
    int64_t outputs = configInt(config, "outputs");
    return KernelSignature{configInt(config, "reads") +
                               configInt(config, "updates") + outputs,
                           outputs, /*params=*/1};
  }
  const KindEntry *entry = findKind(kind);
  if (!entry)
    return std::nullopt;
  KernelSignature signature{entry->buffers, entry->outputs, entry->params};
  for (const OptionalBuffers &optional : kOptionalBuffers) {
    if (configInt(config, optional.flag) != 0) {
      signature.buffers += optional.inputs + optional.outputs;
      signature.outputs += optional.outputs;
    }
  }
  return signature;
}

bool mlir::exec::updatesBuffer(llvm::StringRef kind, int64_t buffer) {
  const KindEntry *entry = findKind(kind);
  // No kind has both updates and optional buffers, which would move them.
  return entry && buffer >= entry->firstUpdate &&
         buffer < entry->buffers - entry->outputs;
}

bool mlir::exec::isRowLocal(llvm::StringRef kind) {
  const KindEntry *entry = findKind(kind);
  return entry && entry->tasks == Tasks::Rows;
}

bool mlir::exec::dividesByRow(llvm::StringRef kind) {
  const KindEntry *entry = findKind(kind);
  return entry &&
         (entry->tasks == Tasks::Rows || entry->tasks == Tasks::GatheredRows ||
          entry->tasks == Tasks::Slots);
}

TaskShape mlir::exec::taskShape(llvm::StringRef kind, DictionaryAttr config) {
  if (kind == kControlKind)
    return {1, 1};
  const KindEntry *entry = findKind(kind);
  if (!entry)
    return {0, 0};
  switch (entry->tasks) {
  case Tasks::One:
    return {0, 1};
  case Tasks::Rows:
  case Tasks::GatheredRows:
  case Tasks::Slots:
    return {1, 1};
  case Tasks::Panels: {
    auto activation = config.getAs<StringAttr>("activation");
    bool paired = activation && activation.getValue() == "swiglu";
    return {0, configPanels(config, configInt(config, "n") / (paired ? 2 : 1))};
  }
  case Tasks::HeadPanels:
    return {0, configInt(config, "heads") *
                   configPanels(config, configInt(config, "n"))};
  case Tasks::ExpertPanels:
    return {0, configPanels(config,
                            configInt(config, config.contains("inter") ? "inter"
                                                                       : "n"))};
  case Tasks::RowHeads:
    return {1, attentionTiles(config)};
  case Tasks::RowGroupHeads:
    return {8, attentionTiles(config) *
                   std::max<int64_t>(configInt(config, "splits"), 1)};
  case Tasks::RowStretches:
    break; // A builtin's, see kernelTasks.
  }
  return {0, 0};
}

int64_t mlir::exec::kernelTasks(llvm::StringRef kind, DictionaryAttr config,
                                llvm::ArrayRef<int64_t> params) {
  const KindEntry *entry = findKind(kind);
  if (entry && entry->tasks == Tasks::RowStretches)
    return params[0] * ::mtp::sampleStretches(params[1]);
  TaskShape shape = taskShape(kind, config);
  if (shape.rowsPerGroup == 0)
    return shape.tasks;
  return (params[0] + shape.rowsPerGroup - 1) / shape.rowsPerGroup *
         shape.tasks;
}
