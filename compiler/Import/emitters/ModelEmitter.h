//===- ModelEmitter.h - Writing a model in the mtp dialect ------*- C++ -*-===//
//
// Private to the importer. Each function of the module is written once and
// applied per layer, with the layer's key prefix.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_EMITTERS_MODELEMITTER_H
#define MTP_COMPILER_IMPORT_EMITTERS_MODELEMITTER_H

#include "compiler/Import/config/ModelConfig.h"
#include "compiler/Import/config/WeightTable.h"
#include "compiler/Import/plan/DraftPlan.h"

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

#include <functional>

namespace mtp::importer {

/// Names of the module's functions and caches.
inline constexpr llvm::StringLiteral kTarget = "target";
inline constexpr llvm::StringLiteral kModule = "module";
inline constexpr llvm::StringLiteral kTargetCache = "target_cache";
inline constexpr llvm::StringLiteral kDrafterCache = "drafter_cache";
/// The states of the target's recurrent layers.
inline constexpr llvm::StringLiteral kTargetMemory = "target_memory";
/// The tokens of a drafter's head with a reduced vocabulary.
inline constexpr llvm::StringLiteral kDrafterVocabulary = "drafter_tokens";
/// Key prefix of a drafter in a folder of its own.
inline constexpr llvm::StringLiteral kDrafterRoot = "drafter.";

/// Keys of the matrices that the target and its modules share. Both are equal
/// if the matrices are tied.
struct SharedKeys {
  std::string embedding, head;
};

/// State that the emitters of one model share.
struct ModelContext {
  const ModelConfig &config;
  DraftPlan draft;
  SharedKeys keys;
  WeightTable &weights;
  mlir::OpBuilder builder;
  /// The first failure. Emission continues after it, and its result is dropped.
  Status failure;
  /// Prefix of the names of functions, and prefix of all keys except those of
  /// the embedding and the head.
  std::string functions, root;
  /// Key prefix of each layer after `root`. Empty for the target.
  std::vector<std::string> layerPrefixes;
  llvm::StringRef cache = kTargetCache;
  /// The slots of the round that is being written, and the results of
  /// emitNumbers() by name.
  mlir::Value slots;
  llvm::StringMap<mlir::Value> numbers;

  /// Records `status` if it is the first failure.
  void fail(const Status &status) {
    if (failure.isOk())
      failure = status;
  }

  mlir::Type tokens() { return vector(builder.getI32Type()); }
  mlir::Type grid();
  mlir::Type activation(int64_t width);
  mlir::Type hidden() { return activation(config.hidden); }
  /// Returns the type of @target's second result: its final state, or the taps
  /// of a drafter, concatenated per row.
  mlir::Type handedOn();
  mlir::Type logits() { return activation(config.vocab); }
  mlir::Type rows();
  mlir::Location name(llvm::StringRef text);

  /// Returns the key prefix of a layer after the root.
  std::string prefixOf(size_t layer) const;
  /// Returns the key prefixes, with the root, of all layers that have a part,
  /// including layers of MTP modules.
  std::vector<std::string> prefixesOf(const MixerConfig &mixer) const;
  std::vector<std::string> prefixesOf(const FeedForwardConfig &feed) const;

private:
  mlir::Type vector(mlir::Type element);
  std::vector<std::string>
  matching(llvm::function_ref<bool(const LayerConfig &)> matches) const;
};

/// A number per slot that a round computes: its name, its type, and a function
/// that emits it in a per-slot body.
struct RoundNumber {
  llvm::StringRef name;
  mlir::Type type;
  std::function<mlir::Value()> make;
};

/// An argument of a function or a region.
struct Argument {
  llvm::StringRef name;
  mlir::Type type;
};

/// Rows of a matrix, or of each matrix of a stack in one tensor.
struct RowRange {
  int64_t begin, end;
  /// Period in rows, for a matrix: the range repeats until its end. 0: once.
  int64_t every = 0;
};

/// Writes one function, from its first operation to its last.
class FunctionEmitter {
public:
  /// Begins a private function. Relative keys are resolved under each of
  /// `prefixes`.
  FunctionEmitter(ModelContext &context, llvm::StringRef name,
                  llvm::ArrayRef<Argument> arguments,
                  llvm::ArrayRef<mlir::Type> results,
                  std::vector<std::string> prefixes);

  mlir::func::FuncOp function() { return func; }
  mlir::Value argument(unsigned index) { return func.getArgument(index); }
  void finish(mlir::ValueRange results);

  /// Looks up tokens in the shared embedding, or in the embedding `key`.
  mlir::Value embed(mlir::Value tokens, const std::string &key = "");
  /// Multiplies by `KEY.weight`, and adds `KEY.bias` if `hasBias`.
  mlir::Value linear(mlir::Value x, llvm::StringRef key, int64_t outputs,
                     bool hasBias = false);
  /// Multiplies by some rows of `KEY.weight`, which has `outputs` rows in all.
  mlir::Value linearPart(mlir::Value x, llvm::StringRef key, int64_t outputs,
                         RowRange rows, llvm::StringRef name);
  /// Normalises each of `groups` groups of columns with `KEY.weight`.
  mlir::Value norm(mlir::Value x, llvm::StringRef key, const NormForm &form,
                   int64_t groups = 1);
  /// Normalises the input of a layer's part.
  mlir::Value norm(mlir::Value x, const PartNorms &norms) {
    return norm(x, norms.before, norms.form);
  }
  /// Emits router logits, which are not rounded to the type of the weights.
  mlir::Value router(mlir::Value x, llvm::StringRef key, int64_t outputs);
  mlir::Value rope(mlir::Value x, mlir::Value rows, const RopeConfig &rotation,
                   int64_t heads, int64_t headDim, int64_t offset);
  mlir::Value slice(mlir::Value x, int64_t begin, int64_t end,
                    llvm::StringRef name);
  mlir::Value add(mlir::Value a, mlir::Value b, llvm::StringRef name);
  /// Normalises the result of a layer's part, if the layer has such a norm.
  mlir::Value normResult(mlir::Value x, const PartNorms &norms) {
    return norms.after.empty() ? x : norm(x, norms.after, norms.form);
  }
  /// Emits down(activation(gate x) * up x) with the weights `KEYgate_proj` and
  /// so on.
  mlir::Value gated(mlir::Value x, llvm::StringRef key, int64_t width,
                    Activation activation = Activation::Silu);
  /// Emits logits of normalised hidden states, with the shared head or the head
  /// `key`. `columns` 0: one column for each token.
  mlir::Value head(mlir::Value x, int64_t columns = 0,
                   const std::string &key = "");
  /// Returns a weight of `shape`, or a stack of `stack` weights, one for each
  /// number in place of "{}" in the key.
  mlir::Value weight(llvm::StringRef key, llvm::ArrayRef<int64_t> shape,
                     int64_t stack = 0);
  /// Returns some rows of a weight of `shape`. Absent `rows`: all of a weight
  /// with three dimensions.
  mlir::Value part(llvm::StringRef key, llvm::ArrayRef<int64_t> shape,
                   std::optional<RowRange> rows, llvm::StringRef name);

  mlir::OpBuilder &builder() { return context.builder; }
  const ModelConfig &config() const { return context.config; }
  mlir::Location name(llvm::StringRef text) { return context.name(text); }
  mlir::Type activation(int64_t width) { return context.activation(width); }

private:
  /// Returns the element type in which a weight is kept.
  mlir::Type elementOf(llvm::StringRef key, llvm::ArrayRef<int64_t> shape,
                       int64_t stack);

  ModelContext &context;
  mlir::func::FuncOp func;
  std::vector<std::string> prefixes;
};

/// Emits the function of a layer's mixer, with its norm and residual:
/// attention, or the recurrence that replaces it.
void emitMixer(ModelContext &context, const MixerConfig &mixer);
/// Emits attention over normalised rows of any width, including its
/// projections.
mlir::Value emitAttended(FunctionEmitter &emitter, mlir::Value normed,
                         mlir::Value rows, const MixerConfig &mixer);
/// Emits a recurrence over normalised rows, including its projections.
mlir::Value emitRecalled(FunctionEmitter &emitter, mlir::Value normed,
                         mlir::Value rows, const MixerConfig &mixer);
/// Emits the function of a feed-forward part, with its norm and residual: a
/// dense part or a mixture of experts.
void emitFeedForward(ModelContext &context, const FeedForwardConfig &feed);
/// Emits a layer: its mixer, then its feed-forward part.
void emitLayer(ModelContext &context, const LayerConfig &layer);

/// Return the names of the functions that these emitters write. `config` has
/// the layer, or its modules have it. Different descriptions have different
/// names; a number ends the names after the first.
std::string layerFunction(const ModelConfig &config, const LayerConfig &layer);
std::string mixerFunction(const ModelConfig &config, const MixerConfig &mixer);
std::string feedFunction(const ModelConfig &config,
                         const FeedForwardConfig &feed);
/// Returns the descriptions of all layers without repetitions, in the order of
/// the layers.
std::vector<LayerConfig> distinctLayers(llvm::ArrayRef<LayerConfig> layers);
/// Emits @target, from tokens to logits and the hidden state for the drafter.
void emitTarget(ModelContext &context);
/// Emits @target and the functions that it applies, including functions of MTP
/// modules' layers.
void emitModelFunctions(ModelContext &context);
/// Emits @module, and a further function for each set of matrices of modules
/// that do not use the model's.
void emitModules(ModelContext &context);
/// Returns the name of a module's function.
std::string moduleFunction(const ModelContext &context, int64_t module);
/// Emits the round: draft, verify, accept and commit.
void emitRound(ModelContext &context);

/// The output of a drafter in a round. `parents` is set for a tree whose shape
/// the program computes, `tree` for a static one. `logits` are the logits that
/// drafts were drawn from, if the rule needs them.
struct Drafts {
  mlir::Value drafts, parents;
  mlir::DenseI64ArrayAttr tree;
  mlir::Value logits;

  bool isTree() const { return parents || tree; }
};

/// Runs the target over the rows of the drafts, or over a prompt if there are
/// no drafts.
mlir::mtp::VerifyOp emitVerify(ModelContext &context, const Drafts &drafted);

// Parts of a round by kind of drafter. Imports from the library precede the
// round; the drafts are the first ops in it.
Drafts emitModuleDrafts(ModelContext &context);
/// Imports what lookup, suffix, lookahead and --before need from the library.
void importTokenDrafters(ModelContext &context);
/// Returns true if a drafter reads the sequence so far.
bool readsTokens(const ModelContext &context);
/// Stores the sequence so far, in a per-slot body, if a drafter reads it.
void emitRemember(ModelContext &context);
Drafts emitLookup(ModelContext &context, mlir::Value slots);
Drafts emitSuffix(ModelContext &context, mlir::Value slots);
Drafts emitLookahead(ModelContext &context, mlir::Value slots);
/// Returns the probability that ends a step-by-step chain, or null.
mlir::FloatAttr leastProbability(ModelContext &context);
/// Returns the parents of a static tree's nodes that the round has, in a
/// per-slot body.
mlir::Value emitParents(ModelContext &context, mlir::DenseI64ArrayAttr tree);
/// Replaces a slot's drafts with a lookup's drafts if the lookup found any. In
/// a tree the lookup's drafts form a chain.
Drafts emitBefore(ModelContext &context, mlir::Value slots, Drafts drafted);
/// Updates a drafter's state from the logits of all verified rows.
void emitLearning(ModelContext &context, mlir::Value slots, Drafts drafted,
                  mlir::Value logits);
/// Imports what a drafter in a folder needs from the library, and emits the
/// functions that its part of the round calls.
void importFolder(ModelContext &context);
Drafts emitFolderDrafts(ModelContext &context);
/// Emits the prefill of a drafter, if its round does not imply one.
void emitFolderPrefill(ModelContext &context);
/// Emits the functions, cache and vocabulary of a drafter in a folder.
void emitFolderFunctions(ModelContext &context);
/// Return the type, and emit the value, of the state that verified rows hand to
/// a drafter. The value is computed from @target's second result.
mlir::Type verifiedHidden(ModelContext &context);
mlir::Value emitHandedOn(ModelContext &context, mlir::Value hidden);

/// Returns a number that is equal for all slots.
RoundNumber constantNumber(ModelContext &context, llvm::StringRef name,
                           mlir::TypedAttr value);
/// Returns the numbers per slot that the planned drafter and rule need.
std::vector<RoundNumber> roundNumbers(ModelContext &context);
/// Emits the numbers into `ModelContext::numbers`, and stores the sequence so
/// far.
void emitNumbers(ModelContext &context,
                 const std::vector<RoundNumber> &numbers);
void addRuleNumbers(ModelContext &context, std::vector<RoundNumber> &numbers);

/// Accepts drafts by the planned rule, which the module imports from the
/// library. Fails if the rule does not fit the drafts.
mlir::mtp::AcceptOp emitAccept(ModelContext &context, const Drafts &drafted,
                               mlir::Value logits);

/// Imports functions from a file of the drafter library.
void emitImport(ModelContext &context, llvm::StringRef file,
                llvm::ArrayRef<llvm::StringRef> functions);
/// Adds a block with named arguments to a region and moves the builder there.
mlir::Block *enterRegion(ModelContext &context, mlir::Region &region,
                         llvm::ArrayRef<Argument> arguments);
void emitYield(ModelContext &context, mlir::ValueRange values);
/// Returns the round's slots. They are emitted once, before their first use.
mlir::Value emitSlots(ModelContext &context);
mlir::Value emitIndex(ModelContext &context, int64_t value,
                      llvm::StringRef name);
/// Runs `body` for each slot. `body` returns the slot's element of each result.
mlir::mtp::PerSlotOp emitPerSlot(
    ModelContext &context, llvm::StringRef name, mlir::Value slots,
    mlir::ValueRange inputs, mlir::TypeRange results,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> body);
/// Calls a function in a per-slot body.
mlir::Operation *emitCall(ModelContext &context, llvm::StringRef callee,
                          mlir::ValueRange inputs, mlir::TypeRange results,
                          llvm::StringRef name);

/// Applies a layer of the model, with its layer of the KV cache or of the
/// recurrent state.
mlir::Value applyLayer(ModelContext &context, size_t layer, mlir::Value x,
                       mlir::Value rows);
/// Applies a function of the module, with a key prefix and a cache layer.
mlir::Operation *emitApply(ModelContext &context, llvm::StringRef callee,
                           mlir::ValueRange inputs, mlir::TypeRange results,
                           llvm::StringRef name, llvm::StringRef prefix = "",
                           llvm::StringRef cache = "", int64_t layer = 0);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_EMITTERS_MODELEMITTER_H
