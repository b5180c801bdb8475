//===- ExecLowering.h - Lower mtp ops to kernel calls -----------*- C++ -*-===//
//
// Each op has a lowering, registered by family (`add...Lowerings`). The
// lowerings share the lowered values, row contexts and the resources that calls
// refer to.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_LOWER_EXECLOWERING_H
#define MTP_PASSES_LOWER_EXECLOWERING_H

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// The lowered form of an `!mtp.rows` value.
struct RowContext {
  Value slots;
  Value positions;
  /// Only for rows with a window: the place of the window's first row, each
  /// row's place (which differs from its rotary position), and the mask of the
  /// window's rows that the row sees.
  Value roots, places, masks;
  /// Only for runs: the number of rows that a recurrence folds before a slot's
  /// rows, and the number of folded rows that it keeps.
  Value pending, keeps;
};

/// How a matrix product reads its weight.
struct Packing {
  exec::WeightLayoutAttrInterface layout;
  exec::FormatAttr format;
  int64_t k;
  int64_t n;
  int64_t stack = 1;
  llvm::SmallVector<Attribute> sources;
};

/// State that the lowerings of one program share.
class LoweringContext {
public:
  /// `panelWidth` is the number of outputs per panel that the target's products
  /// stream.
  LoweringContext(ModuleOp module, int64_t panelWidth);

  void enter(exec::ProgramOp program);
  /// Erases views without users.
  void leave();

  /// Creates a kernel call.
  template <typename OpT, typename... Args>
  OpT call(Location loc, Args &&...args) {
    ++numCalls;
    return OpT::create(builder, loc, std::forward<Args>(args)...);
  }

  /// Returns the lowered form of an activation: a call's result, or a view.
  Value lookup(Value value) const { return values.lookup_or(value, value); }
  /// Returns the lowered value with consecutive rows; copies it if they are not
  /// consecutive.
  Value whole(Value value);
  /// Returns a view of columns of the lowered `value`.
  Value columns(Value value, int64_t begin, int64_t end, Location loc);
  void map(Value from, Value to) { values[from] = to; }

  /// Returns null if no op made these rows.
  const RowContext *findRows(Value rows) const;
  const RowContext &rowsOf(Value rows) const { return *findRows(rows); }
  void mapRows(Value rows, const RowContext &context) {
    rowContexts[rows] = context;
  }

  /// Returns the layouts in which kernels read weights.
  exec::PanelsAttr panels();
  exec::GatedPanelsAttr gatedPanels();
  exec::RawLayoutAttr rawLayout();
  /// Returns a reference to a packed weight, declared at its first use.
  Value packed(const Packing &packing, Location loc);
  /// Packs 1-D or row-major weights unchanged.
  Value packedRaw(ValueRange weights, exec::FormatAttr format, Location loc);
  /// Returns the format of norms, biases and other weights that are never
  /// rounded.
  exec::FormatAttr singles();
  /// Returns the element format of a weight of the model.
  static exec::FormatAttr formatOf(Value weight);
  /// Returns the source entry of a weight, or of the first of its blocks of
  /// rows.
  exec::SourceAttr source(Value weight);
  /// Appends the entries of all blocks.
  void addSources(Value weight, SmallVectorImpl<Attribute> &sources);
  Value ropeTable(RopeAttr rope, Location loc);
  Value constant(DenseElementsAttr value, Location loc);
  /// Returns null and reports an error at `loc` if the module has none.
  Value pageTable(Location loc);
  Value cacheLayer(exec::CacheOp cache, int64_t layer, Location loc);
  /// Returns null if the module has no state of that name.
  Value state(llvm::StringRef name, Location loc);
  /// Returns the first `count` numbers of a state, or of its row. Returns null
  /// and reports an error at `loc` if the module has no state of that name.
  Value numbers(llvm::StringRef name, std::optional<int64_t> row,
                exec::Count count, Location loc);
  bool isDecode() { return program.getKind() == exec::ProgramKind::Decode; }
  bool isFunction() { return program.getKind() == exec::ProgramKind::Function; }
  VocabularyOp findVocabulary(llvm::StringRef name) {
    return symbols.lookup<VocabularyOp>(name);
  }
  exec::CacheOp findCache(llvm::StringRef name) {
    return symbols.lookup<exec::CacheOp>(name);
  }

  OpBuilder builder;
  const EnvelopeAttr envelope;
  int64_t numCalls = 0;
  int64_t numWeights = 0;

private:
  Value refSymbol(Operation *symbol, Type type, int64_t layer, Location loc);

  const int64_t panelWidth;
  SymbolTable symbols;
  exec::ProgramOp program;
  /// The lowered forms of mtp values.
  llvm::DenseMap<Value, Value> values;
  llvm::DenseMap<Value, RowContext> rowContexts;
  /// Packed weights, tables and constants by their contents.
  llvm::DenseMap<Attribute, Operation *> declared;
};

/// The lowerings of ops by op name.
class Lowerings {
public:
  template <typename OpT>
  void add(LogicalResult (*lower)(OpT, LoweringContext &)) {
    table[OpT::getOperationName()] = [lower](Operation *op,
                                             LoweringContext &context) {
      return lower(cast<OpT>(op), context);
    };
  }

  /// Lowers `op`; reports an error if it has no lowering.
  LogicalResult lower(Operation *op, LoweringContext &context) const;

private:
  llvm::StringMap<std::function<LogicalResult(Operation *, LoweringContext &)>>
      table;
};

/// The keys by which sampling picks, column by column, and per row the sum to
/// subtract for log probabilities. Computed from logits, which may be in
/// groups, at `rows`; `number` may be null.
struct SampleKeys {
  Value keys, sums;
};
FailureOr<SampleKeys> lowerSampleKeys(Operation *op, Value logits, Value rows,
                                      Value number,
                                      std::optional<llvm::StringRef> tokens,
                                      LoweringContext &context);
/// Applies the rules of the rows' slots to logits that `op` picks from, if the
/// module has rules. Later ops read the result in place of `logits`.
void lowerLogitRules(Operation *op, Value logits, const RowContext &rows,
                     std::optional<llvm::StringRef> tokens,
                     LoweringContext &context);
/// Returns the table of the tokens that columns stand for; null if each column
/// stands for its own number.
Value tokenTable(std::optional<llvm::StringRef> name, Location loc,
                 LoweringContext &context);

void addAttentionLowerings(Lowerings &lowerings);
void addExpertLowerings(Lowerings &lowerings);
void addProductLowerings(Lowerings &lowerings);
void addRecurrenceLowerings(Lowerings &lowerings);
void addRoundLowerings(Lowerings &lowerings);
void addRowLowerings(Lowerings &lowerings);
void addSampleLowerings(Lowerings &lowerings);
void addVocabularyLowerings(Lowerings &lowerings);

/// Declares the states of every mtp.recurrence of `module`, separately for each
/// layer, and erases the recurrences.
LogicalResult convertRecurrences(ModuleOp module);

/// Lowers all mtp ops of `program` and erases them.
LogicalResult lowerProgram(exec::ProgramOp program, const Lowerings &lowerings,
                           LoweringContext &context);

/// Converts `value` to f32, in which kernels compute.
inline llvm::APFloat toSingle(const llvm::APFloat &value) {
  return llvm::APFloat(static_cast<float>(value.convertToDouble()));
}

} // namespace mlir::mtp

#endif // MTP_PASSES_LOWER_EXECLOWERING_H
