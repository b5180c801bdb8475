//===- Elementwise.cpp - Sums, gates and copies of rows -------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/MathApprox.h"

using namespace mtp::codegen;

/// y[r] = combine(a[r], b[r]). buffers: a, b, y. params: M.
static void emitBinary(KernelBuilder &kb, const KernelConfig &config,
                       llvm::function_ref<Value(Value, Value)> combine) {
  int64_t width = config.integer("width");
  auto rowOf = [&](int64_t buffer, llvm::StringRef stride, Value row) {
    return kb.at(kb.buffer(buffer), row, config.integer(stride, width) * 4);
  };
  kb.forTasks([&](Value row) {
    Value a = rowOf(0, "a_stride", row), b = rowOf(1, "b_stride", row);
    Value y = rowOf(2, "y_stride", row);
    kb.mapChunks(
        width,
        [&](Value first, Value mask) {
          Value left = kb.loadLanes(kb.f32Type(), kb.at(a, first, 4), mask);
          Value right = kb.loadLanes(kb.f32Type(), kb.at(b, first, 4), mask);
          return Values{left, right};
        },
        [&](Value first, Value mask, ValueRange loaded) {
          kb.storeLanes(combine(loaded[0], loaded[1]), kb.at(y, first, 4),
                        mask);
        });
  });
}

static void emitAdd(KernelBuilder &kb, const KernelConfig &config) {
  emitBinary(kb, config, [&](Value a, Value b) { return kb.add(a, b); });
}

/// y = silu(gate) * up. buffers: gate, up, y. params: M.
static void emitSwiglu(KernelBuilder &kb, const KernelConfig &config) {
  emitBinary(kb, config, [&](Value gate, Value up) {
    return kb.mul(emitSilu(kb, gate), up);
  });
}

/// y[r] = x[r] + bias. buffers: x, bias, y. params: M.
static void emitAddBias(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width");
  int64_t xStride = config.integer("x_stride", width);
  int64_t yStride = config.integer("y_stride", width);
  kb.forTasks([&](Value row) {
    Value x = kb.at(kb.buffer(0), row, xStride * 4);
    Value y = kb.at(kb.buffer(2), row, yStride * 4);
    kb.mapChunks(
        width,
        [&](Value first, Value mask) {
          Value value = kb.loadLanes(kb.f32Type(), kb.at(x, first, 4), mask);
          Value bias =
              kb.loadLanes(kb.f32Type(), kb.at(kb.buffer(1), first, 4), mask);
          return Values{value, bias};
        },
        [&](Value first, Value mask, ValueRange loaded) {
          kb.storeLanes(kb.add(loaded[0], loaded[1]), kb.at(y, first, 4), mask);
        });
  });
}

/// y[r] = a[r] followed by b[r]. buffers: a, b, y. params: M.
static void emitConcat(KernelBuilder &kb, const KernelConfig &config) {
  int64_t aWidth = config.integer("a_width"),
          bWidth = config.integer("b_width");
  int64_t aStride = config.integer("a_stride", aWidth);
  int64_t bStride = config.integer("b_stride", bWidth);
  int64_t yStride = config.integer("y_stride", aWidth + bWidth);
  kb.forTasks([&](Value row) {
    Value y = kb.at(kb.buffer(2), row, yStride * 4);
    kb.copy(kb.at(kb.buffer(0), row, aStride * 4), y, aWidth);
    kb.copy(kb.at(kb.buffer(1), row, bStride * 4), kb.at(y, aWidth * 4),
            bWidth);
  });
}

/// buffers: x, y. params: M.
static void emitCopyCols(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width");
  int64_t xStride = config.integer("x_stride", width);
  int64_t yStride = config.integer("y_stride", width);
  Value x = kb.at(kb.buffer(0), config.integer("x_offset") * 4);
  Value y = kb.at(kb.buffer(1), config.integer("y_offset") * 4);
  kb.forTasks([&](Value row) {
    kb.copy(kb.at(x, row, xStride * 4), kb.at(y, row, yStride * 4), width);
  });
}

/// out[i] = x[index[i]], of the row nearest to it where x has no such row.
/// buffers: x, index, out. params: M, rows of x.
static void emitTakeRows(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width");
  int64_t stride = config.integer("x_stride", width);
  kb.forTasks([&](Value row) {
    Value from = kb.clampIndex(kb.loadI32(kb.buffer(1), row), kb.param(1));
    kb.copy(kb.at(kb.buffer(0), from, stride * 4),
            kb.at(kb.buffer(2), row, width * 4), width);
  });
}

static constexpr ConfigKey binaryKeys[] = {{"width", ConfigKey::Int, true},
                                           {"a_stride", ConfigKey::Int, false},
                                           {"b_stride", ConfigKey::Int, false},
                                           {"y_stride", ConfigKey::Int, false}};

static constexpr ConfigKey addBiasKeys[] = {
    {"width", ConfigKey::Int, true},
    {"x_stride", ConfigKey::Int, false},
    {"y_stride", ConfigKey::Int, false}};

static constexpr ConfigKey concatKeys[] = {{"a_width", ConfigKey::Int, true},
                                           {"b_width", ConfigKey::Int, true},
                                           {"a_stride", ConfigKey::Int, false},
                                           {"b_stride", ConfigKey::Int, false},
                                           {"y_stride", ConfigKey::Int, false}};

static constexpr ConfigKey copyColsKeys[] = {
    {"width", ConfigKey::Int, true},
    {"x_stride", ConfigKey::Int, false},
    {"y_stride", ConfigKey::Int, false},
    {"x_offset", ConfigKey::Int, false},
    {"y_offset", ConfigKey::Int, false}};

static constexpr ConfigKey takeRowsKeys[] = {
    {"width", ConfigKey::Int, true}, {"x_stride", ConfigKey::Int, false}};

static TaskItems widthItems(const KernelConfig &config) {
  return TaskItems::elements(config.integer("width"));
}

static TaskItems concatItems(const KernelConfig &config) {
  return TaskItems::elements(
      std::max(config.integer("a_width"), config.integer("b_width")));
}

static const RowKernel kinds[] = {
    {{"add", binaryKeys}, emitAdd, /*scratch=*/nullptr, widthItems},
    {{"add_bias", addBiasKeys}, emitAddBias, /*scratch=*/nullptr, widthItems},
    {{"swiglu", binaryKeys}, emitSwiglu, /*scratch=*/nullptr, widthItems},
    {{"concat", concatKeys}, emitConcat, /*scratch=*/nullptr, concatItems},
    {{"copy_cols", copyColsKeys},
     emitCopyCols,
     /*scratch=*/nullptr,
     widthItems},
    {{"take_rows", takeRowsKeys},
     emitTakeRows,
     /*scratch=*/nullptr,
     widthItems}};

llvm::ArrayRef<RowKernel> mtp::codegen::elementwiseKernels() { return kinds; }
