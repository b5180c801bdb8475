//===- Verification.cpp - Code shared by the op verifiers -----------------===//

#include "dialects/MTP/IR/Verification.h"
#include "dialects/MTP/IR/StateTable.h"
#include "runtime/schema/Limits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::mtp;

/// More elements than any machine holds. The limit leaves room for strides in
/// bytes.
static constexpr int64_t kMaxElements = int64_t(1) << 46;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Checks one tensor type; other types pass.
static LogicalResult checkShape(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return success();
  int64_t count = 1;
  for (int64_t extent : tensor.getShape()) {
    if (ShapedType::isDynamic(extent))
      continue;
    if (extent == 0 && !isa<PerSlotOp, YieldOp>(op)) // shapes_c2
      return op->emitOpError("expected no extent of zero, got ") << type;
    if (llvm::MulOverflow(count, extent, count) || count > kMaxElements)
      return op->emitOpError("expected at most 2^46 elements, got ") << type;
  }
  return success();
}

LogicalResult mlir::mtp::verifyBoundedShapes(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (failed(checkShape(op, type)))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(checkShape(op, type)))
      return failure();
  for (Region &region : op->getRegions()) {
    for (Type type : region.getArgumentTypes())
      if (failed(checkShape(op, type)))
        return failure();
  }
  return success();
}

FailureOr<int64_t> mlir::mtp::staticWidth(Operation *op, StringRef what,
                                          Value value) {
  int64_t width = widthOf(value);
  if (width < 0) {
    op->emitOpError("expected a static width of ")
        << what << ", got " << value.getType();
    return failure();
  }
  return width;
}

bool mlir::mtp::hasOpenWidths(Operation *op) {
  auto func = op->getParentOfType<func::FuncOp>();
  auto isOpen = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa<FloatType>(tensor.getElementType()) &&
           tensor.getRank() > 0 &&
           ShapedType::isDynamic(tensor.getShape().back());
  };
  return func && func.isPrivate() &&
         (llvm::any_of(op->getOperandTypes(), isOpen) ||
          llvm::any_of(op->getResultTypes(), isOpen));
}

LogicalResult mlir::mtp::expectWidth(Operation *op, StringRef what, Value value,
                                     int64_t expected) {
  int64_t width = widthOf(value);
  if (width == expected)
    return success();
  return op->emitOpError("expected width ")
         << expected << " of " << what << ", got " << value.getType();
}

LogicalResult mlir::mtp::expectRows(Operation *op, StringRef what, Value value,
                                    Value reference) {
  auto rowsOf = [](Value v) {
    return cast<RankedTensorType>(v.getType()).getDimSize(0);
  };
  if (rowsOf(value) == rowsOf(reference))
    return success();
  return op->emitOpError("expected ")
         << what << " with the rows of " << reference.getType() << ", got "
         << value.getType();
}

LogicalResult mlir::mtp::expectMatrix(Operation *op, StringRef what,
                                      Value weight, int64_t rows,
                                      int64_t cols) {
  auto type = cast<RankedTensorType>(weight.getType());
  if (type.getDimSize(0) == rows && type.getDimSize(1) == cols)
    return success();
  return op->emitOpError("expected ")
         << what << " of " << rows << "x" << cols << ", got " << type;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

LogicalResult mlir::mtp::expectPositive(Operation *op, StringRef what,
                                        int64_t value) {
  if (value >= 1)
    return success();
  return op->emitOpError("expected a positive ") << what << ", got " << value;
}

LogicalResult mlir::mtp::expectFinitePositive(Operation *op, StringRef what,
                                              const APFloat &value) {
  if (value.isFinite() && !value.isNegative() && !value.isZero())
    return success();
  return op->emitOpError("expected a finite positive ")
         << what << ", got " << value.convertToDouble();
}

LogicalResult mlir::mtp::expectRange(Operation *op, StringRef what,
                                     int64_t begin, int64_t end,
                                     int64_t limit) {
  if (begin >= 0 && begin < end && end <= limit)
    return success();
  return op->emitOpError("expected ")
         << what << " as a range within 0 to " << limit << ", got " << begin
         << " to " << end;
}

FailureOr<int64_t> mlir::mtp::product(Operation *op, StringRef what, int64_t a,
                                      int64_t b) {
  int64_t result;
  if (llvm::MulOverflow(a, b, result) || result > kMaxElements) {
    op->emitOpError("expected ") << what << " to fit, got " << a << " * " << b;
    return failure();
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Symbols, trees and regions
//===----------------------------------------------------------------------===//

LogicalResult mlir::mtp::verifyCacheUse(Operation *op,
                                        SymbolTableCollection &symbols,
                                        FlatSymbolRefAttr name,
                                        std::optional<int64_t> layer,
                                        int64_t width) {
  if (!name)
    return success();
  auto cache = symbols.lookupNearestSymbolFrom<CacheOp>(op, name);
  if (!cache)
    return op->emitOpError("expected ") << name << " to be an mtp.cache";
  int64_t layers = cache.getLayers();
  if (layer && (*layer < 0 || *layer >= layers)) {
    InFlightDiagnostic diag = op->emitOpError("expected a layer of ")
                              << name << " below " << layers << ", got "
                              << *layer;
    diag.attachNote(cache.getLoc()) << "the cache is declared here";
    return diag;
  }
  int64_t entry = cache.getEntry();
  if (width > entry) {
    InFlightDiagnostic diag = op->emitOpError("expected at most ")
                              << entry << " columns for an entry of " << name
                              << ", got " << width;
    diag.attachNote(cache.getLoc()) << "the cache is declared here";
    return diag;
  }
  return success();
}

LogicalResult mlir::mtp::verifyStateUse(Operation *op,
                                        SymbolTableCollection &symbols,
                                        FlatSymbolRefAttr name,
                                        Type elementType, int64_t rank) {
  auto state = symbols.lookupNearestSymbolFrom<SlotStateOpInterface>(op, name);
  if (!state)
    return op->emitOpError("expected ") << name << " to be an mtp.state";
  int64_t extents = state.getExtentSizes().size();
  if (state.getElementType() == elementType && extents == rank)
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected ")
                            << extents << " indices and elements of "
                            << state.getElementType() << " for " << name
                            << ", got " << rank << " and " << elementType;
  diag.attachNote(state.getLoc()) << "the state is declared here";
  return diag;
}

LogicalResult mlir::mtp::verifyWritten(Operation *op,
                                       SlotStateOpInterface state) {
  if (!state.getInput())
    return verifyWriter(op, SymbolTable::getSymbolName(state).getValue());
  InFlightDiagnostic diag =
      op->emitOpError("expected a state that programs write, got the input @")
      << SymbolTable::getSymbolName(state).getValue();
  diag.attachNote(state.getLoc()) << "the state is declared here";
  return diag;
}

LogicalResult mlir::mtp::verifyVocabularyUse(Operation *op,
                                             SymbolTableCollection &symbols,
                                             FlatSymbolRefAttr name,
                                             int64_t columns) {
  if (!name || hasOpenWidths(op))
    return success();
  auto vocabulary = symbols.lookupNearestSymbolFrom<VocabularyOp>(op, name);
  if (!vocabulary)
    return op->emitOpError("expected ") << name << " to be an mtp.vocabulary";
  if (vocabulary.getSize() != columns)
    return op->emitOpError("expected a token of ")
           << name << " for each of " << columns << " columns, got "
           << vocabulary.getSize();
  auto round = op->getParentOfType<RoundOp>();
  if (!round)
    return success();
  for (auto verify : round.getBody()->getOps<VerifyOp>())
    if (vocabulary.getLast() >= widthOf(verify.getLogits()))
      return op->emitOpError("expected tokens of ")
             << name << " below the target's " << widthOf(verify.getLogits())
             << ", got " << vocabulary.getLast();
  return success();
}

LogicalResult mlir::mtp::verifyParents(Operation *op,
                                       ArrayRef<int64_t> parents) {
  if (parents.size() < 2 || parents.size() > ::mtp::kMostNodes) {
    return op->emitOpError("expected 2 to ")
           << ::mtp::kMostNodes << " tree nodes, got " << parents.size();
  }
  if (parents.front() != -1) {
    return op->emitOpError("expected -1 as the parent of node 0, got ")
           << parents.front();
  }
  for (size_t node = 1; node < parents.size(); ++node) {
    int64_t parent = parents[node];
    if (parent < 0 || parent >= static_cast<int64_t>(node)) {
      return op->emitOpError("expected the parent of node ")
             << node << " before it, got " << parent;
    }
  }
  return success();
}

LogicalResult mlir::mtp::verifyTree(Operation *op,
                                    std::optional<ArrayRef<int64_t>> tree,
                                    Value parents) {
  if (tree && parents)
    return op->emitOpError("expected a tree or parents, got both");
  if (tree)
    return verifyParents(op, *tree);
  if (parents && widthOf(parents) > ::mtp::kMostNodes)
    return op->emitOpError("expected parents of at most ")
           << ::mtp::kMostNodes << " nodes, got " << parents.getType();
  return success();
}

bool mlir::mtp::isContainedPath(StringRef path) {
  namespace fs = llvm::sys::path;
  return !path.empty() && !fs::is_absolute(path) &&
         !llvm::is_contained(llvm::make_range(fs::begin(path), fs::end(path)),
                             "..");
}

LogicalResult mlir::mtp::expectArguments(Operation *op, Region &region,
                                         TypeRange types, StringRef what) {
  if (llvm::equal(region.getArgumentTypes(), types))
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected ")
                            << what << " to take (" << types << "), got ("
                            << TypeRange(region.getArgumentTypes()) << ")";
  return diag;
}
