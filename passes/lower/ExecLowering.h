//===- ExecLowering.h - From mtp ops to kernel calls ------------*- C++ -*-===//
//
// A lowering per op, registered family by family (`add...Lowerings`), and what
// they share: the values that stand for lowered ones, row contexts and the
// resources that calls refer to.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_LOWER_EXECLOWERING_H
#define MTP_PASSES_LOWER_EXECLOWERING_H

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// What an `!mtp.rows` value stands for.
struct RowContext {
  Value slots;
  Value positions;
  /// Rows with a window only: the place of its first row, each row's own, which
  /// is not its rotary position, and what it sees of the window.
  Value roots, places, masks;
  /// Of runs only: what a recurrence folds in front of a slot's rows, and how
  /// many of these it keeps.
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

/// What the lowerings of one program share.
class LoweringContext {
public:
  /// The target's products stream panels of `panelWidth` outputs.
  LoweringContext(ModuleOp module, int64_t panelWidth);

  void enter(exec::ProgramOp program);
  /// Erases views that nobody reads.
  void leave();

  /// Writes a kernel call.
  template <typename OpT, typename... Args>
  OpT call(Location loc, Args &&...args) {
    ++numCalls;
    return OpT::create(builder, loc, std::forward<Args>(args)...);
  }

  /// What stands for an activation: a call's result, or a view.
  Value lookup(Value value) const { return values.lookup_or(value, value); }
  /// The same with consecutive rows; copies where they are not.
  Value whole(Value value);
  /// Columns of what stands for `value`, in place.
  Value columns(Value value, int64_t begin, int64_t end, Location loc);
  void map(Value from, Value to) { values[from] = to; }

  /// Null where nothing made these rows.
  const RowContext *findRows(Value rows) const;
  const RowContext &rowsOf(Value rows) const { return *findRows(rows); }
  void mapRows(Value rows, const RowContext &context) {
    rowContexts[rows] = context;
  }

  /// The layouts in which kernels read weights.
  exec::PanelsAttr panels();
  exec::GatedPanelsAttr gatedPanels();
  exec::RawLayoutAttr rawLayout();
  /// Returns a reference to a packed weight, declared at its first use.
  Value packed(const Packing &packing, Location loc);
  /// Packs 1-D or row-major weights as they are.
  Value packedRaw(ValueRange weights, exec::FormatAttr format, Location loc);
  /// Of norms, biases and what else is never rounded.
  exec::FormatAttr singles();
  /// The elements that a weight of the model has.
  static exec::FormatAttr formatOf(Value weight);
  /// The source entry of a weight, or of the first of its blocks of rows.
  exec::SourceAttr source(Value weight);
  /// Appends the entries of all blocks.
  void addSources(Value weight, SmallVectorImpl<Attribute> &sources);
  Value ropeTable(RopeAttr rope, Location loc);
  Value constant(DenseElementsAttr value, Location loc);
  /// Null, and an error at `loc`, where the module has none.
  Value pageTable(Location loc);
  Value cacheLayer(exec::CacheOp cache, int64_t layer, Location loc);
  /// Null where the module has no state of that name.
  Value state(llvm::StringRef name, Location loc);
  /// The first `count` numbers of a state, or of its row; null, and an error at
  /// `loc`, where the module has no state of that name.
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
  /// What stands for mtp values that were lowered.
  llvm::DenseMap<Value, Value> values;
  llvm::DenseMap<Value, RowContext> rowContexts;
  /// Packed weights, tables and constants by what they hold.
  llvm::DenseMap<Attribute, Operation *> declared;
};

/// The lowerings of ops, by name.
class Lowerings {
public:
  template <typename OpT>
  void add(LogicalResult (*lower)(OpT, LoweringContext &)) {
    table[OpT::getOperationName()] = [lower](Operation *op,
                                             LoweringContext &context) {
      return lower(cast<OpT>(op), context);
    };
  }

  /// An op without a lowering is an error.
  LogicalResult lower(Operation *op, LoweringContext &context) const;

private:
  llvm::StringMap<std::function<LogicalResult(Operation *, LoweringContext &)>>
      table;
};

/// What sampling would pick the largest of, column by column, and what is taken
/// off for logarithms of probabilities: rows in a column. Of logits, which may
/// be in groups, at `rows`; `number` may be null.
struct SampleKeys {
  Value keys, sums;
};
FailureOr<SampleKeys> lowerSampleKeys(Operation *op, Value logits, Value rows,
                                      Value number,
                                      std::optional<llvm::StringRef> tokens,
                                      LoweringContext &context);
/// The table of what columns stand for; null where that is themselves.
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

/// Makes the states of every mtp.recurrence of `module`, a layer's by itself,
/// and erases the declarations.
LogicalResult convertRecurrences(ModuleOp module);

/// Lowers all mtp ops of `program` and erases them.
LogicalResult lowerProgram(exec::ProgramOp program, const Lowerings &lowerings,
                           LoweringContext &context);

/// `value` as kernels take it, which compute in f32.
inline llvm::APFloat toSingle(const llvm::APFloat &value) {
  return llvm::APFloat(static_cast<float>(value.convertToDouble()));
}

} // namespace mlir::mtp

#endif // MTP_PASSES_LOWER_EXECLOWERING_H
