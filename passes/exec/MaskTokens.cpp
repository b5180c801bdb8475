//===- MaskTokens.cpp - Mask ids without a token --------------------------===//
//
// Models pad their vocabularies, and a padded row of zeros has the logit 0. So
// an id that the tokenizer does not know could be picked. This pass makes the
// logits of such ids -infinity at their head, for all readers: picks of any
// kind, siblings of trees, distributions and rules in code.
//
//   linear(x, head role head)   becomes
//   linear(x, head bias @mask role head)
//
// The mask is -infinity for masked columns and -0.0 for all others, since x +
// (-0.0) is x to the bit. A head over a part of the vocabulary has one column
// per token in the table of its picks. A head with a bias keeps it, and a later
// call masks its logits.
//
// Functions stay unchanged: they pick nothing, and scoring a text uses the
// model's logits.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "passes/support/Logits.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>
#include <limits>

namespace mlir::mtp {
#define GEN_PASS_DEF_MASKTOKENSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {

struct MaskTokensPass
    : public mlir::mtp::impl::MaskTokensPassBase<MaskTokensPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  void maskHead(LinearOp head);
  ConstantOp tokensOf(Value logits);
  ConstantOp maskOf(LinearOp head);
  void mask(Value logits, ConstantOp tokens, int64_t begin,
            MutableArrayRef<float> values);

  std::optional<SymbolTable> symbols;
  llvm::SmallDenseSet<int32_t> masked;
  int64_t vocabulary = 0;
  llvm::DenseMap<Attribute, ConstantOp> masks;
};

} // namespace

/// Returns the constant to which `value` refers, if it has one row per column.
static ConstantOp findTable(Value value, int64_t columns,
                            const SymbolTable &symbols) {
  auto ref = value ? value.getDefiningOp<RefOp>() : RefOp();
  auto table =
      ref ? symbols.lookup<ConstantOp>(ref.getResource()) : ConstantOp();
  bool isWhole =
      table && table.getValue().getShapedType().getDimSize(0) == columns;
  return isWhole ? table : ConstantOp();
}

/// Finds the constant in which picked columns are looked up, one by one or as
/// one list.
static ConstantOp findLookUp(Value picks, int64_t columns,
                             const SymbolTable &symbols) {
  for (Operation *user : picks.getUsers()) {
    ConstantOp table;
    if (auto gather = dyn_cast<exec::GatherRowsOp>(user))
      table = findTable(gather.getX(), columns, symbols);
    else if (auto reshape = dyn_cast<ReshapeOp>(user))
      table = findLookUp(reshape.getResult(), columns, symbols);
    if (table)
      return table;
  }
  return ConstantOp();
}

/// Returns the tokens of the columns of `logits`; null if each column stands
/// for its own number.
ConstantOp MaskTokensPass::tokensOf(Value logits) {
  int64_t columns = columnsOf(logits);
  llvm::SetVector<Value> pending;
  pending.insert(logits);
  for (size_t i = 0; i < pending.size(); ++i)
    for (Operation *user : pending[i].getUsers()) {
      Value tokens;
      if (auto sample = dyn_cast<SampleOp>(user))
        tokens = sample.getTokens();
      else if (auto keys = dyn_cast<SampleKeysOp>(user))
        tokens = keys.getTokens();
      if (ConstantOp table = findTable(tokens, columns, *symbols))
        return table;
      for (OpResult result : user->getResults()) {
        if (ConstantOp table = findLookUp(result, columns, *symbols))
          return table;
        if (mlir::mtp::passesLogits(pending[i], result))
          pending.insert(result);
      }
    }
  return ConstantOp();
}

/// Masks the columns of `logits`, which are a head's columns from `begin` on.
/// Merged projections are handled one by one.
void MaskTokensPass::mask(Value logits, ConstantOp tokens, int64_t begin,
                          MutableArrayRef<float> values) {
  auto isPart = llvm::IsaPred<ColumnsOp>;
  if (!tokens && !logits.use_empty() &&
      llvm::all_of(logits.getUsers(), isPart)) {
    for (Operation *user : logits.getUsers()) {
      auto part = cast<ColumnsOp>(user);
      mask(part.getResult(), tokens, begin + int64_t(part.getBegin()), values);
    }
    return;
  }
  if (!tokens)
    tokens = tokensOf(logits);
  // Columns merged with logits may hold another number.
  if (!tokens && logits.getDefiningOp<ColumnsOp>() &&
      columnsOf(logits) != vocabulary)
    return;
  SmallVector<int32_t> table;
  if (tokens)
    llvm::append_range(
        table, cast<DenseElementsAttr>(tokens.getValue()).getValues<int32_t>());
  for (int64_t column = 0; column < columnsOf(logits); ++column)
    if (masked.contains(tokens ? table[column] : int32_t(column)))
      values[begin + column] = -std::numeric_limits<float>::infinity();
}

/// Creates the bias to add to the logits of `head`; null if no token is masked.
ConstantOp MaskTokensPass::maskOf(LinearOp head) {
  SmallVector<float> values(columnsOf(head.getY()), -0.0f);
  auto ref = head.getWeight().getDefiningOp<RefOp>();
  auto weight =
      ref ? symbols->lookup<exec::WeightOp>(ref.getResource()) : WeightOp();
  ConstantOp picks;
  if (weight && weight.getPicks())
    picks = symbols->lookup<ConstantOp>(*weight.getPicks());
  mask(head.getY(), picks, /*begin=*/0, values);
  if (llvm::none_of(values, [](float value) { return std::isinf(value); }))
    return ConstantOp();
  OpBuilder builder(&getContext());
  auto type =
      RankedTensorType::get({1, int64_t(values.size())}, builder.getF32Type());
  auto elements = DenseElementsAttr::get(type, ArrayRef<float>(values));
  ConstantOp &made = masks[elements];
  if (!made) {
    builder.setInsertionPointToStart(getOperation().getBody());
    made = ConstantOp::create(builder, head.getLoc(), "token_mask", elements);
    symbols->insert(made);
  }
  return made;
}

void MaskTokensPass::maskHead(LinearOp head) {
  ConstantOp mask = maskOf(head);
  if (!mask)
    return;
  OpBuilder builder(head);
  Location loc = head.getLoc();
  auto shape = cast<RankedTensorType>(mask.getValue().getType());
  Value ref = RefOp::create(
      builder, loc, MemRefType::get(shape.getShape(), builder.getF32Type()),
      mask.getSymName(), /*layer=*/0);
  ++numHeads;
  if (!head.getBias()) {
    head.getBiasMutable().assign(ref);
    return;
  }
  builder.setInsertionPointAfter(head);
  auto all =
      AddBiasOp::create(builder, loc, head.getY().getType(), head.getY(), ref);
  head.getY().replaceAllUsesExcept(all.getY(), all);
}

void MaskTokensPass::runOnOperation() {
  masked.insert(tokens.begin(), tokens.end());
  vocabulary = moduleNumber(getOperation(), kModelAttr, kVocab);
  if (masked.empty())
    return markAllAnalysesPreserved();
  symbols.emplace(getOperation());
  for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
    if (program.getKind() == ProgramKind::Function)
      continue;
    for (auto linear : llvm::to_vector(program.getBody().getOps<LinearOp>()))
      if (linear.isHead() && !linear.isGated())
        maskHead(linear);
  }
}
