//===- ExecLowering.h - From mtp ops to kernel calls ------------*- C++ -*-===//
//
// What the lowerings of all op families share: views of activations, packed
// weights, row contexts, and a builder of kernel calls.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_EXECLOWERING_H
#define MTP_PASSES_EXECLOWERING_H

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Columns of a buffer: a fused projection's result is not copied apart, its
/// consumers read their columns in place.
struct ActivationView {
  Value root;
  /// Element of the first column of row 0.
  int64_t offset = 0;
  /// Elements from row to row.
  int64_t stride = 0;
  int64_t width = 0;

  bool isWhole() const { return offset == 0 && stride == width; }
};

/// What an `!mtp.rows` value stands for.
struct RowContext {
  Value slots;
  Value positions;
  /// Trees only: each row's cache position less its node, the parents of the
  /// nodes, and each row's cache position, which is not its rotary position.
  Value base;
  llvm::ArrayRef<int64_t> parents;
  Value cachePositions;
};

/// A kernel call in the making.
class KernelCall;

/// Lowers the ops of one program at a time. Lowered values replace the mtp
/// values in the maps, the mtp ops are erased at the end.
class ExecLowering {
public:
  explicit ExecLowering(ModuleOp module);

  /// Lowers all mtp ops of `program`.
  LogicalResult lower(exec::ProgramOp program);

  int64_t numInvokes = 0;
  int64_t numWeights = 0;

private:
  friend class KernelCall;

  /// Checks what the lowerings take for granted: that weights are weights and
  /// activations are not.
  LogicalResult checkOperands(Operation *op);
  LogicalResult checkRows(Operation *op);
  LogicalResult lowerOp(Operation *op);
  // Row-wise ops (ExecLoweringModel.cpp).
  LogicalResult lowerEmbed(EmbedOp op);
  LogicalResult lowerMaskFirst(MaskFirstOp op);
  LogicalResult lowerNorm(RmsNormOp op);
  LogicalResult lowerConcat(ConcatOp op);
  LogicalResult lowerLinear(LinearOp op);
  LogicalResult lowerFusedLinear(FusedLinearOp op);
  LogicalResult lowerPair(Operation *op, llvm::StringRef kind);
  LogicalResult lowerArgmax(ArgmaxOp op);
  LogicalResult lowerTakeRows(TakeRowsOp op);
  LogicalResult lowerSample(SampleOp op);
  // Attention and rows (ExecLoweringAttention.cpp).
  LogicalResult lowerMakeRows(MakeRowsOp op);
  LogicalResult lowerTreeRows(TreeRowsOp op);
  LogicalResult lowerRope(RopeOp op);
  LogicalResult lowerHeadLinear(HeadLinearOp op);
  LogicalResult lowerAppend(CacheAppendOp op);
  LogicalResult lowerAttention(CachedAttentionOp op);
  // Experts and acceptance (ExecLoweringExperts.cpp).
  LogicalResult lowerRoute(MoeRouteOp op);
  LogicalResult lowerExperts(MoeExpertsOp op);
  LogicalResult lowerAcceptTokens(AcceptTokensOp op);
  LogicalResult lowerAcceptTree(AcceptTreeOp op);

  /// A projection of `x` by `weights` side by side.
  struct Projection {
    Operation *op;
    Value x;
    Value norm;
    double eps;
    int64_t offset;
    ValueRange weights;
    ValueRange biases;
    Value residual;
    bool swiglu;
  };
  LogicalResult lowerProjection(const Projection &projection);

  /// The columns that stand for an activation.
  ActivationView view(Value value);
  /// The same with consecutive rows; copies where they are not.
  Value whole(Value value);
  void mapResult(Value from, Value to);
  const RowContext &rowsOf(Value rows) { return rowContexts[rows]; }

  /// How a matrix product reads its weight.
  struct Packing {
    llvm::StringRef layout;
    Type dtype;
    int64_t k;
    int64_t n;
    int64_t stack = 1;
    llvm::SmallVector<Attribute> sources;
  };
  /// Returns a reference to a packed weight, declared at its first use.
  Value packed(const Packing &packing, Location loc);
  /// Packs 1-D or row-major weights as they are, as `dtype`.
  Value packedRaw(ValueRange weights, Type dtype, Location loc);
  /// The source entry of a whole weight value, or of its row blocks.
  DictionaryAttr source(WeightOp weight);

  Value refSymbol(Operation *symbol, Type type, int64_t layer, Location loc);
  Value ropeTable(RopeAttr rope, Location loc);
  Value constant(DenseElementsAttr value, Location loc);
  /// Null, and an error at `loc`, where the module has none.
  Value pageTable(Location loc);
  Value cacheLayer(llvm::StringRef cache, int64_t layer, Location loc);

  ModuleOp module;
  SymbolTable symbols;
  OpBuilder builder;
  EnvelopeAttr envelope;
  exec::ProgramOp program;
  llvm::DenseMap<Value, ActivationView> views;
  llvm::DenseMap<Value, RowContext> rowContexts;
  /// Packed weights, tables and constants by what they hold.
  llvm::DenseMap<Attribute, Operation *> declared;
};

/// Collects the buffers, scalars and configuration of one kernel call.
class KernelCall {
public:
  KernelCall(ExecLowering &lowering, llvm::StringRef kind, Location loc)
      : lowering(lowering), kind(kind), loc(loc) {}

  KernelCall &arg(Value value) { return arg(value, 0); }
  KernelCall &arg(const ActivationView &view) {
    return arg(view.root, view.offset);
  }
  KernelCall &param(int64_t value) {
    params.push_back(value);
    return *this;
  }
  KernelCall &config(llvm::StringRef key, int64_t value);
  KernelCall &config(llvm::StringRef key, llvm::StringRef value);
  /// Writes f32: a kernel computes in it.
  KernelCall &config(llvm::StringRef key, double value);
  KernelCall &flag(llvm::StringRef key, bool value);
  KernelCall &dtype(Type type);

  /// Writes the call; returns its results.
  ResultRange emit(TypeRange results);

private:
  KernelCall &arg(Value value, int64_t offset) {
    args.push_back(value);
    offsets.push_back(offset);
    return *this;
  }

  ExecLowering &lowering;
  llvm::StringRef kind;
  Location loc;
  llvm::SmallVector<Value> args;
  llvm::SmallVector<int64_t> offsets;
  llvm::SmallVector<int64_t> params;
  llvm::SmallVector<NamedAttribute> entries;
};

/// Rows and columns of an activation.
inline int64_t rowCount(Value value) {
  return cast<RankedTensorType>(value.getType()).getDimSize(0);
}
inline int64_t columnCount(Value value) {
  return cast<RankedTensorType>(value.getType()).getDimSize(1);
}

} // namespace mlir::mtp

#endif // MTP_PASSES_EXECLOWERING_H
