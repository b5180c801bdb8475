//===- Unpack.cpp - From fragments to rows of a matrix --------------------===//
//
// A warp takes a tile of 16 outputs and 32 inputs at a time. The two fragments
// of a lane are eight inputs of two outputs. The lane loads them with two
// accesses of 16 bytes, and stores them with two.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/Kernels.h"
#include "runtime/schema/FragmentOrder.h"

using namespace mtp::codegen;
using Order = mtp::FragmentOrder;

static constexpr int64_t kUnpackWarps = 8;
/// Bytes of a lane's inputs of an output.
static constexpr int64_t kPieceBytes = 16;

namespace {
/// Halves of the outputs that have panels of their own: gates and ups.
struct Halves {
  int64_t count, outputs, panels;

  explicit Halves(exec::UnpackKernelAttr kernel) {
    count = kernel.getGated() ? 2 : 1;
    outputs = kernel.getN() / count;
    panels = llvm::divideCeil(outputs, Order::kOutputs);
  }
};
} // namespace

/// Returns a launch with a block for each panel.
static GpuLaunch unpackLaunch(exec::UnpackKernelAttr kernel) {
  Halves halves(kernel);
  return {halves.count * halves.panels, /*rowsPerGroup=*/0,
          kUnpackWarps * kWarp};
}

/// Emits the unpacking of a weight to a matrix. Buffers: weight, matrix.
/// Params: n.
static void emitUnpack(GpuBuilder &kb, exec::UnpackKernelAttr kernel) {
  kb.begin();
  Halves halves(kernel);
  int64_t k = kernel.getK(), chunks = k / Order::kInputs;
  Value lane = kb.laneOfWarp(), panel = kb.block();
  Value from = kb.at(kb.at(kb.buffer(0), panel, chunks * Order::kBlockBytes),
                     lane, Order::kLaneBytes);
  // Panels of gates and of ups alternate.
  Value half = kb.rem(panel, kb.integer(halves.count));
  Value first = kb.mul(kb.div(panel, halves.count), Order::kOutputs);
  Value inTile = kb.div(lane, 4), piece = kb.rem(lane, kb.integer(4));
  auto words = kb.vectorType(kb.i32Type(), 4);
  kb.forRange(kb.warp(), kb.integer(2 * chunks), kUnpackWarps, [&](Value unit) {
    Value chunk = kb.div(unit, 2), tile = kb.rem(unit, kb.integer(2));
    Value source = kb.at(from, unit, Order::kTileBytes);
    Value low = kb.loadOwn(words, source);
    Value high = kb.loadOwn(words, kb.at(source, Order::kFragmentBytes));
    for (int64_t which = 0; which < 2; ++which) {
      Values bytes;
      for (Value fragment : {low, high})
        for (int64_t word : {which, which + 2})
          bytes.push_back(kb.element(fragment, word));
      Value output = kb.add(kb.add(first, kb.mul(tile, Order::kTileOutputs)),
                            kb.add(inTile, which * (Order::kTileOutputs / 2)));
      Value row = kb.add(kb.mul(half, halves.outputs), output);
      Value to =
          kb.at(kb.at(kb.buffer(1), row, k * 2), chunk, Order::kInputs * 2);
      kb.storeOwn(kb.vectorOf(bytes), kb.at(to, piece, kPieceBytes),
                  kb.cmp(Cmp::LT, output, halves.outputs));
    }
  });
}

static const GpuEmitter kinds[] = {gpuEmitter(unpackLaunch, emitUnpack)};

llvm::ArrayRef<GpuEmitter> mtp::codegen::gpuUnpackKernels() { return kinds; }
