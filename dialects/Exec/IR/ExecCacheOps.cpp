//===- ExecCacheOps.cpp - Kernels of rotations and appends ----------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelConfig.h"

using namespace mlir;
using namespace mlir::exec;

/// Whether `heads` divide the columns of `x`, and a head has the rotation's.
static LogicalResult verifyRotation(Operation *op, Value x, int64_t heads,
                                    RotationAttr rotation) {
  int64_t width = columnsOf(x);
  if (heads < 1 || width % heads != 0 ||
      rotation.getOffset() + rotation.getDim() > width / heads)
    return op->emitOpError("expected heads that divide ")
           << x.getType() << " and have the columns of " << rotation << ", got "
           << heads;
  return success();
}

static void addRotation(KernelConfig &config, RotationAttr rotation) {
  config.number("dim", rotation.getDim())
      .number("offset", rotation.getOffset())
      .text("layout", mtp::stringifyRopeLayout(rotation.getLayout()));
}

/// How entries lie in the pages of `op`'s layer.
template <typename OpT>
static void addEntries(KernelConfig &config, OpT op) {
  auto pages = cast<MemRefType>(op.getPages().getType());
  config.number("page", pages.getDimSize(1))
      .number("entry_width", pages.getDimSize(2))
      .elements(pages.getElementType());
  if (int64_t heads = op.getCacheHeads(); heads > 1)
    config.number("cache_heads", heads);
}

/// Whether `width` columns from `at` on lie in an entry of `op`'s layer.
template <typename OpT>
static LogicalResult verifyColumns(OpT op, int64_t at, int64_t width) {
  int64_t entry = columnsOf(op.getPages());
  if (at < 0 || at + width > entry)
    return op.emitOpError("expected columns of an entry of ")
           << entry << ", got " << at << " to " << at + width;
  return success();
}

//===----------------------------------------------------------------------===//
// RopeOp
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  return verifyRotation(*this, getX(), getHeads(), getRotation()); // C3
}

DictionaryAttr RopeOp::getKernelConfig() {
  ColumnView x = viewOf(getX());
  int64_t heads = getHeads(), head = x.width / heads;
  KernelConfig config(getContext());
  addRotation(config, getRotation());
  return config.number("heads", heads)
      .number("head_stride", head)
      .number("x_stride", x.stride)
      .number("y_stride", x.width)
      .number("copy_width", head)
      .get();
}

bool RopeOp::readsAnyRow(size_t index) {
  return getOperand(index) == getTable();
}

//===----------------------------------------------------------------------===//
// KvAppendOp
//===----------------------------------------------------------------------===//

LogicalResult KvAppendOp::verify() {
  return verifyColumns(*this, getAt(), columnsOf(getX())); // C2
}

DictionaryAttr KvAppendOp::getKernelConfig() {
  ColumnView x = viewOf(getX());
  KernelConfig config(getContext());
  addEntries(config, *this);
  return config.number("width", x.width)
      .number("entry_offset", int64_t(getAt()))
      .number("x_stride", x.stride)
      .get();
}

llvm::SmallVector<Count> KvAppendOp::getKernelParams() {
  return {rowsOf(getX()), columnsOf(getPageTable())};
}

bool KvAppendOp::readsAnyRow(size_t index) {
  return getOperand(index) == getPageTable();
}

//===----------------------------------------------------------------------===//
// RopeAppendOp
//===----------------------------------------------------------------------===//

LogicalResult RopeAppendOp::verify() {
  if (failed(verifyRotation(*this, getKeys(), getHeads(), getRotation())) ||
      failed(verifyColumns(*this, getKeysAt(), columnsOf(getKeys()))))
    return failure(); // C4
  return verifyColumns(*this, getValuesAt(), columnsOf(getValues()));
}

llvm::StringRef RopeAppendOp::getKernelKind() {
  return getQueries() ? "rope_qkv_append" : "rope_kv_append";
}

DictionaryAttr RopeAppendOp::getKernelConfig() {
  ColumnView keys = viewOf(getKeys()), values = viewOf(getValues());
  int64_t heads = getHeads(), head = keys.width / heads;
  KernelConfig config(getContext());
  if (Value queries = getQueries()) {
    ColumnView view = viewOf(queries);
    config.number("q_heads", view.width / head)
        .number("q_stride", view.stride)
        .number("y_stride", view.width);
  }
  addRotation(config, getRotation());
  addEntries(config, *this);
  return config.number("k_heads", heads)
      .number("head_stride", head)
      .number("v_width", values.width)
      .number("k_stride", keys.stride)
      .number("v_stride", values.stride)
      .number("k_offset", int64_t(getKeysAt()))
      .number("v_offset", int64_t(getValuesAt()))
      .get();
}

llvm::SmallVector<Count> RopeAppendOp::getKernelParams() {
  return {rowsOf(getKeys()), columnsOf(getPageTable())};
}

bool RopeAppendOp::readsAnyRow(size_t index) {
  Value operand = getOperand(index);
  return operand == getTable() || operand == getPageTable();
}
