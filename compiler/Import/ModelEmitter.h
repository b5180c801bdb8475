//===- ModelEmitter.h - Writing a model in the mtp dialect ------*- C++ -*-===//
//
// Private to the importer. Every function of the module is written once and
// applied per layer, with the layer's prefix for the keys of its weights.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_MODELEMITTER_H
#define MTP_COMPILER_IMPORT_MODELEMITTER_H

#include "compiler/Import/AcceptSpec.h"
#include "compiler/Import/DraftTree.h"
#include "compiler/Import/DrafterFolder.h"
#include "compiler/Import/DrafterSpec.h"
#include "compiler/Import/Importer.h"
#include "compiler/Import/ModelConfig.h"
#include "compiler/Import/WeightTable.h"

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

#include <functional>

namespace mtp::importer {

/// The names of the module's functions and caches.
inline constexpr llvm::StringLiteral kTarget = "target";
inline constexpr llvm::StringLiteral kModule = "module";
inline constexpr llvm::StringLiteral kTargetCache = "target_cache";
inline constexpr llvm::StringLiteral kDrafterCache = "drafter_cache";
/// What the target's recurrent layers carry.
inline constexpr llvm::StringLiteral kTargetMemory = "target_memory";
/// The tokens of a drafter's head that has few columns.
inline constexpr llvm::StringLiteral kDrafterVocabulary = "drafter_tokens";
/// In front of the keys of a drafter in a folder of its own.
inline constexpr llvm::StringLiteral kDrafterRoot = "drafter.";

/// The matrices that the target and the modules share; one key where they are
/// tied.
struct SharedKeys {
  std::string embedding, head;
};

/// What drafts, how many of the model's modules, and how many drafts a round
/// has.
struct DraftPlan {
  DrafterSpec drafter;
  /// A lookup whose drafts come before the drafter's.
  std::optional<LookupSizes> before;
  AcceptSpec accept;
  int64_t maxK = 0;
  int64_t modules = 0;
  /// Nodes of a tree; 0 for those of a chain.
  int64_t maxNodes = 0;
  /// Of a drafter in a folder of its own; else null.
  const DrafterFolder *folder = nullptr;
  DraftTree tree;
  /// The least confidence of a draft, if one ends the drafts of a round.
  std::optional<double> confidence;
  /// Rounds may stop behind drafts.
  bool showsDrafts = false;
  int64_t maxContext = 0;
};

/// What the functions of one module share.
struct ModelContext {
  const ModelConfig &config;
  DraftPlan draft;
  SharedKeys keys;
  WeightTable &weights;
  mlir::OpBuilder builder;
  /// The first failure. Emission goes on after it, and its result is dropped.
  Status failure;
  /// In front of the names of functions, and of the keys of weights that are
  /// not those of the embedding and the head.
  std::string functions, root;
  /// In front of each layer's keys, behind the root; empty for a model's own.
  std::vector<std::string> layerPrefixes;
  llvm::StringRef cache = kTargetCache;
  /// The slots of the round that is written, and what emitNumbers() has made.
  mlir::Value slots;
  llvm::StringMap<mlir::Value> numbers;

  /// Keeps the first failure.
  void fail(const Status &status) {
    if (failure.isOk())
      failure = status;
  }

  mlir::Type tokens() { return vector(builder.getI32Type()); }
  mlir::Type grid();
  mlir::Type activation(int64_t width);
  mlir::Type hidden() { return activation(config.hidden); }
  /// What @target hands on: its last state, or the taps of a drafter in a row.
  mlir::Type handedOn();
  mlir::Type logits() { return activation(config.vocab); }
  mlir::Type rows();
  mlir::Location name(llvm::StringRef text);

  /// The prefix of a layer's keys behind the root.
  std::string prefixOf(size_t layer) const;
  /// The prefixes of all layers of a kind with the root, those of MTP modules
  /// included.
  std::vector<std::string>
      prefixesOf(llvm::function_ref<bool(LayerKind)>) const;

private:
  mlir::Type vector(mlir::Type element);
};

/// A number that a round has for every slot: its name, the type of one, and
/// what makes one in a body.
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

/// Rows of a matrix, or of each of a stack's matrices in one tensor.
struct RowRange {
  int64_t begin, end;
  /// Of a matrix: the same again so many rows further on, to its end. 0: once.
  int64_t every = 0;
};

/// Writes one function, from the first operation to the last.
class FunctionEmitter {
public:
  /// Begins a private function. Relative weights are looked for under each of
  /// `prefixes`.
  FunctionEmitter(ModelContext &context, llvm::StringRef name,
                  llvm::ArrayRef<Argument> arguments,
                  llvm::ArrayRef<mlir::Type> results,
                  std::vector<std::string> prefixes);

  mlir::func::FuncOp function() { return func; }
  mlir::Value argument(unsigned index) { return func.getArgument(index); }
  void finish(mlir::ValueRange results);

  /// By the shared embedding, or by that of a key.
  mlir::Value embed(mlir::Value tokens, const std::string &key = "");
  /// Multiplies by `KEY.weight`, and adds `KEY.bias`.
  mlir::Value linear(mlir::Value x, llvm::StringRef key, int64_t outputs,
                     bool hasBias = false);
  /// Multiplies by some rows of a `KEY.weight` of `outputs` rows in all.
  mlir::Value linearPart(mlir::Value x, llvm::StringRef key, int64_t outputs,
                         RowRange rows, llvm::StringRef name);
  /// Normalises each of `groups` groups of columns with `KEY.weight`, to which
  /// `offset` is added; absent: the config's.
  mlir::Value norm(mlir::Value x, llvm::StringRef key, double eps,
                   int64_t groups = 1, std::optional<int64_t> offset = {});
  /// Logits that are not rounded, whatever the model's weights are.
  mlir::Value router(mlir::Value x, llvm::StringRef key, int64_t outputs);
  mlir::Value rope(mlir::Value x, mlir::Value rows, int64_t heads,
                   int64_t headDim, int64_t offset);
  mlir::Value slice(mlir::Value x, int64_t begin, int64_t end,
                    llvm::StringRef name);
  mlir::Value add(mlir::Value a, mlir::Value b, llvm::StringRef name);
  /// down(silu(gate x) * up x), of the weights `KEYgate_proj` and so on.
  mlir::Value gated(mlir::Value x, llvm::StringRef key, int64_t width);
  /// Logits of normalised hidden states, of so many columns if not one for each
  /// token, by the shared head or by that of a key.
  mlir::Value head(mlir::Value x, int64_t columns = 0,
                   const std::string &key = "");
  /// A weight of `shape`, or `stack` of them for the "{}" in the key.
  mlir::Value weight(llvm::StringRef key, llvm::ArrayRef<int64_t> shape,
                     int64_t stack = 0);
  /// Some rows of a weight of `shape`; all of it, where it is of three
  /// dimensions and `rows` is absent.
  mlir::Value part(llvm::StringRef key, llvm::ArrayRef<int64_t> shape,
                   std::optional<RowRange> rows, llvm::StringRef name);

  mlir::OpBuilder &builder() { return context.builder; }
  const ModelConfig &config() const { return context.config; }
  mlir::Location name(llvm::StringRef text) { return context.name(text); }
  mlir::Type activation(int64_t width) { return context.activation(width); }

private:
  /// What elements a weight is kept in.
  mlir::Type elementOf(llvm::StringRef key, llvm::ArrayRef<int64_t> shape,
                       int64_t stack);

  ModelContext &context;
  mlir::func::FuncOp func;
  std::vector<std::string> prefixes;
};

/// Attention with its norm and its residual: @attention, or with a window
/// @attention_window.
void emitAttention(ModelContext &context, int64_t window);
/// What attention makes of normalised rows, of any width, with the projections
/// around it. `window` 0: it sees all earlier positions.
mlir::Value emitAttended(FunctionEmitter &emitter, mlir::Value normed,
                         mlir::Value rows, int64_t window);
/// What stands in place of attention in recurrent layers: @recurrence.
void emitRecurrence(ModelContext &context);
/// The feed-forward part with its norm and its residual: @mlp.
void emitMlp(ModelContext &context);
/// The same as a mixture of experts: @experts, or @experts_stacked where they
/// are in one tensor each.
void emitExperts(ModelContext &context, bool isStacked);
/// A layer: attention, then the feed-forward part.
void emitLayer(ModelContext &context, LayerKind kind);
/// The name of the function that emitLayer() makes.
std::string layerFunction(LayerKind kind);
/// @target: tokens to logits and the hidden state for the drafter.
void emitTarget(ModelContext &context);
/// @target, and the functions that it applies; those of MTP modules' layers,
/// too.
void emitModelFunctions(ModelContext &context);
/// @module: MTP modules; those with matrices of their own in functions of their
/// own.
void emitModules(ModelContext &context);
/// The function of a module.
std::string moduleFunction(const ModelContext &context, int64_t module);
/// The round that drafts, verifies, accepts and commits.
void emitRound(ModelContext &context);

/// What a drafter gives to a round: its drafts, of a tree whose shape it
/// computes the parents, and of another tree its shape; the logits that drafts
/// were drawn from, where a rule wants them.
struct Drafts {
  mlir::Value drafts, parents;
  mlir::DenseI64ArrayAttr tree;
  mlir::Value logits;

  bool isTree() const { return parents || tree; }
};

/// Runs the target on the rows of the drafts, or of a prompt where there are
/// none.
mlir::mtp::VerifyOp emitVerify(ModelContext &context, const Drafts &drafted);

// How each kind of drafter takes part: what it imports from the library stands
// in front of the round, and its drafts are the first thing in it.
Drafts emitModuleDrafts(ModelContext &context);
/// What lookup, suffix, lookahead and --before take from the library.
void importTokenDrafters(ModelContext &context);
/// Whether a drafter reads the tokens so far.
bool readsTokens(const ModelContext &context);
/// Keeps these in the body of a slot, if one does.
void emitRemember(ModelContext &context);
Drafts emitLookup(ModelContext &context, mlir::Value slots);
Drafts emitSuffix(ModelContext &context, mlir::Value slots);
Drafts emitLookahead(ModelContext &context, mlir::Value slots);
/// What ends a chain that is drafted step by step; null where nothing does.
mlir::FloatAttr leastProbability(ModelContext &context);
/// Of a slot the nodes of a static tree that the round has, in a body.
mlir::Value emitParents(ModelContext &context, mlir::DenseI64ArrayAttr tree);
/// Puts a lookup's drafts in place of a drafter's, where it has some; of a tree
/// a chain of these.
Drafts emitBefore(ModelContext &context, mlir::Value slots, Drafts drafted);
/// What a drafter learns of the logits of all rows that were verified.
void emitLearning(ModelContext &context, mlir::Value slots, Drafts drafted,
                  mlir::Value logits);
/// What a drafter in a folder takes from the library, and functions that its
/// part of the round calls.
void importFolder(ModelContext &context);
Drafts emitFolderDrafts(ModelContext &context);
/// What a prompt does, where the round of such a drafter does not say it.
void emitFolderPrefill(ModelContext &context);
/// The functions, the cache and the vocabulary of a drafter in a folder.
void emitFolderFunctions(ModelContext &context);
/// What the verified rows hand on to a drafter, and how it is made of what
/// @target hands on.
mlir::Type verifiedHidden(ModelContext &context);
mlir::Value emitHandedOn(ModelContext &context, mlir::Value hidden);

/// The same number for every slot.
RoundNumber constantNumber(ModelContext &context, llvm::StringRef name,
                           mlir::TypedAttr value);
/// What the drafter and the rule of the plan want to know of every slot.
std::vector<RoundNumber> roundNumbers(ModelContext &context);
/// Makes them, for `ModelContext::numbers`, and keeps the tokens so far.
void emitNumbers(ModelContext &context,
                 const std::vector<RoundNumber> &numbers);
void addRuleNumbers(ModelContext &context, std::vector<RoundNumber> &numbers);

/// Accepts the drafts by the rule of the plan, which the module takes from the
/// library; fails where it does not take them.
mlir::mtp::AcceptOp emitAccept(ModelContext &context, const Drafts &drafted,
                               mlir::Value logits);

/// Takes functions from a file of the drafter library.
void emitImport(ModelContext &context, llvm::StringRef file,
                llvm::ArrayRef<llvm::StringRef> functions);
/// Gives a region one block with named arguments and goes into it.
mlir::Block *enterRegion(ModelContext &context, mlir::Region &region,
                         llvm::ArrayRef<Argument> arguments);
void emitYield(ModelContext &context, mlir::ValueRange values);
/// The slots of a round, which stand once in it, in front of all that asks.
mlir::Value emitSlots(ModelContext &context);
mlir::Value emitIndex(ModelContext &context, int64_t value,
                      llvm::StringRef name);
/// Runs `body` for every slot, which gives what the slot has of `results`.
mlir::mtp::PerSlotOp emitPerSlot(
    ModelContext &context, llvm::StringRef name, mlir::Value slots,
    mlir::ValueRange inputs, mlir::TypeRange results,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> body);
/// Calls a function in a body.
mlir::Operation *emitCall(ModelContext &context, llvm::StringRef callee,
                          mlir::ValueRange inputs, mlir::TypeRange results,
                          llvm::StringRef name);

/// The apply of a layer of the model, with its layer of the cache or of what
/// recurrent layers carry.
mlir::Value applyLayer(ModelContext &context, size_t layer, mlir::Value x,
                       mlir::Value rows);
/// An apply of a function of the module, with a prefix and a cache's layer.
mlir::Operation *emitApply(ModelContext &context, llvm::StringRef callee,
                           mlir::ValueRange inputs, mlir::TypeRange results,
                           llvm::StringRef name, llvm::StringRef prefix = "",
                           llvm::StringRef cache = "", int64_t layer = 0);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_MODELEMITTER_H
