//===- Rope.cpp - Rotation of heads ---------------------------------------===//

#include "compiler/Codegen/Rows/Rope.h"

#include "compiler/Codegen/KernelCatalogue.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

static Pair rotate(KernelBuilder &kb, Pair x, Value cosine, Value sine) {
  return {kb.fma(x.first, cosine, kb.neg(kb.mul(x.second, sine))),
          kb.fma(x.second, cosine, kb.mul(x.first, sine))};
}

/// Rotates the pairs (i, i + dim / 2).
static void rotateHalves(KernelBuilder &kb, Value from, Value to, Value table,
                         int64_t dim, DType dtype) {
  int64_t half = dim / 2, bytes = byteWidth(dtype);
  kb.mapChunks(
      half,
      [&](Value first, Value mask) {
        auto load = [&](Value base, int64_t offset) {
          return kb.loadLanes(kb.f32Type(),
                              kb.at(kb.at(base, offset * 4), first, 4), mask);
        };
        return Values{load(from, 0), load(from, half), load(table, 0),
                      load(table, half)};
      },
      [&](Value first, Value mask, ValueRange loaded) {
        Pair y = rotate(kb, {loaded[0], loaded[1]}, loaded[2], loaded[3]);
        kb.storeFloats(y.first, kb.at(to, first, bytes), dtype, mask);
        kb.storeFloats(y.second, kb.at(kb.at(to, half * bytes), first, bytes),
                       dtype, mask);
      });
}

/// Rotates the pairs (2i, 2i + 1).
static void rotateNeighbours(KernelBuilder &kb, Value from, Value to,
                             Value table, int64_t dim, DType dtype) {
  int64_t half = dim / 2;
  kb.mapNeighbours(from, to, half, dtype, {table, kb.at(table, half * 4)},
                   [&](Pair x, ValueRange angles) {
                     return rotate(kb, x, angles[0], angles[1]);
                   });
}

Value codegen::emitAngles(KernelBuilder &kb, const RopeSpec &spec, Value table,
                          Value positions, Value row) {
  Value position = kb.loadI32(positions, row);
  position = spec.positions ? kb.clampIndex(position, spec.positions)
                            : kb.max(position, kb.integer(0));
  return kb.at(table, position, spec.dim * 4);
}

void codegen::emitRotatedHead(KernelBuilder &kb, const RopeSpec &spec,
                              Value from, Value to, Value angles, DType dtype) {
  int64_t bytes = byteWidth(dtype), end = spec.offset + spec.dim;
  kb.copyFloats(from, to, spec.offset, dtype);
  (spec.interleaved ? rotateNeighbours : rotateHalves)(
      kb, kb.at(from, spec.offset * 4), kb.at(to, spec.offset * bytes), angles,
      spec.dim, dtype);
  kb.copyFloats(kb.at(from, end * 4), kb.at(to, end * bytes), spec.width - end,
                dtype);
}

void codegen::emitRotatedHeads(KernelBuilder &kb, const RopeSpec &spec,
                               int64_t heads, int64_t stride, Value from,
                               int64_t toStride, Value to, Value angles,
                               DType dtype) {
  kb.forItems(heads, [&](Value head) {
    emitRotatedHead(kb, spec, kb.at(from, head, stride * 4),
                    kb.at(to, head, toStride * byteWidth(dtype)), angles,
                    dtype);
  });
}

RopeSpec codegen::ropeSpec(exec::RotationAttr rotation, int64_t positions,
                           int64_t width) {
  return {rotation.getDim(), rotation.getOffset(), width,
          rotation.getLayout() == mlir::mtp::RopeLayout::Interleaved,
          positions};
}

/// Emits rope. Buffers: x, table, positions, y (may be x). Params: M.
static void emitRope(KernelBuilder &kb, exec::RopeKernelAttr kernel) {
  int64_t heads = kernel.getHeads();
  int64_t headStride = kernel.getHead();
  int64_t xStride = strideOr(kernel.getXStride(), heads * headStride);
  int64_t yStride = strideOr(kernel.getYStride(), heads * headStride);
  RopeSpec spec =
      ropeSpec(kernel.getRotation(), kernel.getPositions(), kernel.getCopied());
  kb.forTasks([&](Value row) {
    emitRotatedHeads(kb, spec, heads, headStride,
                     kb.at(kb.buffer(0), row, xStride * 4), headStride,
                     kb.at(kb.buffer(3), row, yStride * 4),
                     emitAngles(kb, spec, kb.buffer(1), kb.buffer(2), row));
  });
}

static TaskItems ropeItems(exec::RopeKernelAttr kernel) {
  return {kernel.getHeads(), /*areJoined=*/false};
}

static const RowKernel kinds[] = {
    rowKernel(emitRope, /*scratch=*/nullptr, ropeItems)};

llvm::ArrayRef<RowKernel> codegen::ropeKernels() { return kinds; }
