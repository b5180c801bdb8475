//===- ProgramState.cpp - What rounds hand on to rounds -------------------===//

#include "passes/ProgramState.h"
#include "passes/Envelope.h"
#include "runtime/schema/SamplingWords.h"

using namespace mlir;
using namespace mlir::exec;

namespace {
/// Slot, start, count and total of a prefill chunk.
constexpr int64_t kPrefillWords = 4;
/// The smallest chunk: no prompt computes more rows than this for nothing.
constexpr int64_t kSmallestChunk = 8;
} // namespace

llvm::SmallVector<int64_t> mlir::mtp::ProgramShape::prefillChunks() const {
  llvm::SmallVector<int64_t> chunks{envelope.getPrefillChunk()};
  while (chunks.back() > kSmallestChunk) {
    chunks.push_back(std::max(chunks.back() / 4, kSmallestChunk));
  }
  return chunks;
}

void mlir::mtp::declareStates(OpBuilder &builder, Location loc,
                              const ProgramShape &shape) {
  Type i32 = builder.getI32Type();
  Type f32 = builder.getF32Type();
  int64_t slots = shape.envelope.getMaxBatch();
  auto declare = [&](const llvm::Twine &name, llvm::ArrayRef<int64_t> dims,
                     Type element) {
    return exec::StateOp::create(builder, loc, name.str(),
                                 MemRefType::get(dims, element));
  };
  auto declareShared = [&](llvm::StringRef name, llvm::ArrayRef<int64_t> dims) {
    exec::StateOp::create(builder, loc, name, MemRefType::get(dims, i32),
                          /*shared=*/true);
  };
  declareShared("active", {slots});
  declare("length", {slots}, i32);
  declare("accepted", {slots}, i32);
  declare("window", {slots, shape.windowRows()}, i32);
  // By rows of the round.
  declareShared("drafts", {slots, shape.draftColumns()});
  declare("hidden", {slots, shape.windowRows(), shape.hidden}, f32);
  for (int64_t module = 2; module <= shape.modules; ++module)
    // The hidden state of so many rows before the end of the prompt.
    declare("carry_" + llvm::Twine(module), {slots, shape.hidden}, f32)
        .setRebuildRows(module);
  declare("page_table", {slots, mtp::pagesPerSlot(shape.envelope)}, i32);
  declare("sampling", {slots, ::mtp::kSamplingWords}, i32);
  declare("out_tokens", {slots, shape.windowRows()}, i32);
  declare("out_count", {slots}, i32);
  declareShared("prefill_info", {kPrefillWords});
  declareShared("prefill_tokens",
                {shape.envelope.getPrefillChunk() + shape.modules});
}

exec::StateOp mlir::mtp::declareState(OpBuilder &builder, StateOp state,
                                      EnvelopeAttr envelope) {
  SmallVector<int64_t> shape = state.getShape(envelope);
  if (!state.getShared())
    shape.insert(shape.begin(), envelope.getMaxBatch());
  auto declared = exec::StateOp::create(
      builder, state.getLoc(), state.getSymName(),
      MemRefType::get(shape, state.getElementType()), state.getShared());
  declared.setInitAttr(state.getInitAttr());
  declared.setRebuild(state.getRebuild());
  declared.setRebuildRows(state.getRebuildRows());
  return declared;
}

Value mlir::mtp::refState(OpBuilder &builder, Location loc, ModuleOp module,
                          llvm::StringRef name) {
  auto state = module.lookupSymbol<exec::StateOp>(name);
  return RefOp::create(builder, loc, state.getType(),
                       state.getSymName(), /*layer=*/0);
}
