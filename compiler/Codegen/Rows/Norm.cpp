//===- Norm.cpp - Root-mean-square norm -----------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/RowNorm.h"

using namespace mtp::codegen;

Value mtp::codegen::emitInverseRms(KernelBuilder &kb, Value x, int64_t width,
                                   float eps) {
  Values squares = kb.forChunks(width, {kb.constant(kb.f32Lanes(), 0)},
                                [&](Value first, Value mask, ValueRange sums) {
                                  Value v = kb.loadLanes(
                                      kb.f32Type(), kb.at(x, first, 4), mask);
                                  return Values{kb.fma(v, v, sums[0])};
                                });
  return emitInverseOfSquares(kb, kb.reduceAdd(squares[0]), width, eps);
}

Value mtp::codegen::emitInverseOfSquares(KernelBuilder &kb, Value sum,
                                         int64_t width, float eps) {
  Value mean = kb.div(sum, kb.f32(width));
  return kb.div(kb.f32(1.0), kb.sqrt(kb.add(mean, kb.f32(eps))));
}

Value mtp::codegen::emitScaleByNorm(KernelBuilder &kb, Value x, Value inverse,
                                    Value weight, int64_t offset) {
  if (offset != 0)
    weight = kb.add(weight, kb.constant(kb.f32Lanes(), offset));
  return kb.mul(kb.mul(x, kb.splat(inverse)), weight);
}

/// buffers: x, weight, out. params: M.
static void emitRmsNorm(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width"), groups = config.integer("groups", 1);
  int64_t xStride = config.integer("x_stride", width * groups);
  int64_t yStride = config.integer("y_stride", width * groups);
  Value x = kb.buffer(0), weight = kb.buffer(1), y = kb.buffer(2);
  kb.forTasks([&](Value row) {
    Value xRow = kb.at(x, row, xStride * 4), yRow = kb.at(y, row, yStride * 4);
    kb.forItems(groups, [&](Value group) {
      Value from = kb.at(xRow, group, width * 4);
      Value to = kb.at(yRow, group, width * 4);
      Value inverse = emitInverseRms(kb, from, width, config.real("eps"));
      kb.mapChunks(
          width,
          [&](Value first, Value mask) {
            Value v = kb.loadLanes(kb.f32Type(), kb.at(from, first, 4), mask);
            Value w = kb.loadLanes(kb.f32Type(), kb.at(weight, first, 4), mask);
            return Values{v, w};
          },
          [&](Value first, Value mask, ValueRange loaded) {
            kb.storeLanes(emitScaleByNorm(kb, loaded[0], inverse, loaded[1],
                                          config.integer("offset")),
                          kb.at(to, first, 4), mask);
          });
    });
  });
}

/// buffers: x, (norm weight), y. params: M.
static void emitRoundRows(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width"), next = 0;
  int64_t xStride = config.integer("x_stride", width);
  Value x = kb.buffer(next++);
  Value norm = config.flag("norm") ? kb.buffer(next++) : Value();
  Value y = kb.buffer(next);
  kb.forTasks([&](Value row) {
    Value from = kb.at(x, row, xStride * 4), to = kb.at(y, row, width * 2);
    Value inverse;
    if (norm)
      inverse = emitInverseRms(kb, from, width, config.real("eps"));
    kb.mapChunks(
        width,
        [&](Value first, Value mask) {
          Values loaded{
              kb.loadLanes(kb.f32Type(), kb.at(from, first, 4), mask)};
          if (norm)
            loaded.push_back(
                kb.loadLanes(kb.f32Type(), kb.at(norm, first, 4), mask));
          return loaded;
        },
        [&](Value first, Value mask, ValueRange loaded) {
          Value v = loaded[0];
          if (norm)
            v = emitScaleByNorm(kb, v, inverse, loaded[1],
                                config.integer("offset"));
          kb.storeFloats(v, kb.at(to, first, 2), DType::BF16, mask);
        });
  });
}

/// A group each, whose lanes are joined.
static TaskItems rmsNormItems(const KernelConfig &config) {
  return {config.integer("groups", 1), /*areJoined=*/true};
}

static TaskItems roundRowsItems(const KernelConfig &config) {
  return config.flag("norm") ? TaskItems()
                             : TaskItems::elements(config.integer("width"));
}

static constexpr ConfigKey roundRowsKeys[] = {
    {"width", ConfigKey::Int, true},
    {"x_stride", ConfigKey::Int, false},
    {"norm", ConfigKey::Bool, false},
    {"eps", ConfigKey::Float, false},
    {"offset", ConfigKey::Int, false}};

static constexpr ConfigKey rmsNormKeys[] = {
    {"width", ConfigKey::Int, true},     {"groups", ConfigKey::Int, false},
    {"eps", ConfigKey::Float, true},     {"offset", ConfigKey::Int, false},
    {"x_stride", ConfigKey::Int, false}, {"y_stride", ConfigKey::Int, false}};

static const RowKernel kinds[] = {{{"rms_norm", rmsNormKeys},
                                   emitRmsNorm,
                                   /*scratch=*/nullptr,
                                   rmsNormItems},
                                  {{"round_rows", roundRowsKeys},
                                   emitRoundRows,
                                   /*scratch=*/nullptr,
                                   roundRowsItems}};

llvm::ArrayRef<RowKernel> mtp::codegen::normKernels() { return kinds; }
