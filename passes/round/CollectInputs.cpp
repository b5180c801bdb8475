//===- CollectInputs.cpp - Return the inputs of projections ---------------===//
//
// The target on given rows becomes a function that returns what its projections
// multiply, in place of logits. A result has the keys of all weights that
// multiply it, so that the statistics of a text can be found by a weight's key.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/PromptPrograms.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_COLLECTINPUTSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct CollectInputsPass
    : public mlir::mtp::impl::CollectInputsPassBase<CollectInputsPass> {
  using Base::Base;

  void runOnOperation() override;
};

/// The keys of the weights that multiply each value.
using Inputs = llvm::MapVector<Value, llvm::SmallSetVector<StringAttr, 3>>;
} // namespace

static constexpr llvm::StringLiteral kFunction = "projection_inputs";

/// Finds the inputs of all projections by whole tensors. A router stays
/// unquantised, so its input alone is not collected.
static Inputs findInputs(Block &body) {
  Inputs inputs;
  body.walk([&](LinearOp linear) {
    auto weight = linear.getWeight().getDefiningOp<WeightOp>();
    if (weight && linear.getRole() != ProjectionRole::Router)
      inputs[linear.getX()].insert(weight.getKeyAttr());
  });
  return inputs;
}

/// Replaces the results of `function` by `inputs`, and erases the ops that only
/// the old results needed.
static void returnInputs(func::FuncOp function, const Inputs &inputs) {
  Block &body = function.getBody().front();
  SmallVector<Value> values;
  for (const auto &[value, keys] : inputs)
    values.push_back(value);
  body.getTerminator()->setOperands(values);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  OpBuilder builder(function.getContext());
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           ValueRange(values).getTypes()));
  function.setAllResultAttrs(
      ArrayRef<DictionaryAttr>(SmallVector<DictionaryAttr>(
          values.size(), builder.getDictionaryAttr({}))));
  for (auto [i, entry] : llvm::enumerate(inputs)) {
    std::string name = llvm::join(
        llvm::map_range(entry.second,
                        [](StringAttr key) { return key.getValue(); }),
        " ");
    function.setResultAttr(unsigned(i), kNameAttr, builder.getStringAttr(name));
  }
}

void CollectInputsPass::runOnOperation() {
  auto envelope = getOperation()->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  for (auto round : llvm::to_vector(getOperation().getOps<RoundOp>()))
    for (auto verify : round.getBody()->getOps<VerifyOp>()) {
      FailureOr<func::FuncOp> function =
          makeTargetFunction(verify, kFunction, envelope.getPrefillChunk());
      if (failed(function))
        return signalPassFailure();
      if (!*function)
        continue;
      Inputs inputs = findInputs(function->getBody().front());
      numInputs += inputs.size();
      returnInputs(*function, inputs);
      return;
    }
  getOperation().emitError("expected a round whose target needs tokens and "
                           "rows only, to collect the inputs of projections");
  signalPassFailure();
}
