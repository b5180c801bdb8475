//===- MTPModelOps.cpp - Verifiers of the model operations ----------------===//
//
// Every check carries the label of its constraint in the .td file.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::mtp;

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

LogicalResult WeightsOp::verify() {
  auto module = cast<ModuleOp>((*this)->getParentOp());
  if (*module.getOps<WeightsOp>().begin() != *this) // weights_c1
    return emitOpError("expected at most once in a module");
  for (StringRef file : getFiles().getAsValueRange<StringAttr>()) {
    if (!isContainedPath(file)) {
      return emitOpError("expected a relative path that does not climb, got '")
             << file << "'"; // weights_c2
    }
  }
  if (getPrefixes() && getPrefixes()->size() != getFiles().size()) {
    return emitOpError("expected a prefix for each of ")
           << getFiles().size() << " files, got " << getPrefixes()->size();
  } // weights_c3
  return success();
}

std::optional<StringRef> ImportOp::getLibraryName() {
  StringRef name = getFile();
  if (!name.consume_front("<") || !name.consume_back(">"))
    return std::nullopt;
  return name;
}

LogicalResult ImportOp::verify() {
  std::optional<StringRef> name = getLibraryName();
  if (name && (name->empty() || name->contains('/'))) { // import_c1
    return emitOpError("expected the name of a file in angle brackets, got '")
           << getFile() << "'";
  }
  if (!name && !isContainedPath(getFile())) { // import_c1
    return emitOpError("expected a relative path that does not climb, got '")
           << getFile() << "'";
  }
  if (getFunctions().empty()) // import_c2
    return emitOpError("expected a function at least");
  llvm::SmallDenseSet<Attribute> names;
  for (Attribute name : getFunctions())
    if (!names.insert(name).second) // import_c2
      return emitOpError("expected every function once, got ")
             << name << " again";
  return success();
}

/// Checks that 0 <= begin < end and that the range is as wide as `extent`. If
/// the tensor has several blocks, each block has the range.
static LogicalResult verifyWeightRange(WeightOp op, StringRef what,
                                       std::optional<int64_t> begin,
                                       std::optional<int64_t> end,
                                       std::optional<int64_t> count,
                                       int64_t extent, bool mayRepeat) {
  if (count && (!end || *count < *end)) { // weight_c6
    return op.emitOpError("expected a range within the ")
           << what << " of the tensor, got " << *count;
  }
  if (!begin && !end)
    return success();
  if (!begin || !end || *begin < 0 || *begin >= *end) // weight_c3
    return op.emitOpError("expected ") << what << " as an ascending range";
  int64_t width = *end - *begin, blocks = extent / width;
  bool isKnown = blocks == 1 || (blocks > 1 && mayRepeat && count);
  if (extent % width != 0 || !isKnown) {
    return op.emitOpError("expected ") << width << " " << what << ", got "
                                       << op.getResult().getType(); // weight_c4
  }
  if (blocks > 1 && (*count % blocks != 0 || *end > *count / blocks)) {
    return op.emitOpError("expected ")
           << what << " within the first of " << blocks << " equal blocks, got "
           << *count << " of which " << *begin << " to " << *end
           << " are taken"; // weight_c4
  }
  return success();
}

LogicalResult WeightOp::verify() {
  RankedTensorType type = cast<RankedTensorType>(getResult().getType());
  if (getKey().empty() || getKey() == "/") // weight_c1
    return emitOpError("expected a key, got '") << getKey() << "'";
  if (!type.hasStaticShape()) // weight_c2
    return emitOpError("expected a static weight, got ") << type;
  int64_t rank = type.getRank();
  bool matrix = rank >= 2;
  if ((getRowBegin() || getColBegin() || getRowCount() || getColCount()) &&
      !matrix) { // weight_c4
    return emitOpError("expected a matrix with rows or cols, got ") << type;
  }
  if (matrix &&
      (failed(verifyWeightRange(*this, "rows", getRowBegin(), getRowEnd(),
                                getRowCount(), type.getDimSize(rank - 2),
                                /*mayRepeat=*/!getStack())) ||
       failed(verifyWeightRange(*this, "cols", getColBegin(), getColEnd(),
                                getColCount(), type.getDimSize(rank - 1),
                                /*mayRepeat=*/false)))) {
    return failure();
  }
  size_t holes = getKey().count("{}"); // weight_c5
  if (!getStack()) {
    if (rank > 2 || holes != 0)
      return emitOpError("expected a stack with a third dimension or '{}'");
    return success();
  }
  if (static_cast<int64_t>(*getStack()) < 1 || rank != 3 ||
      type.getDimSize(0) != static_cast<int64_t>(*getStack())) {
    return emitOpError("expected a stack of ")
           << static_cast<int64_t>(*getStack()) << " matrices, got " << type;
  }
  if (holes > 1) {
    return emitOpError("expected '{}' once in the key of a stack, got '")
           << getKey() << "'";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Rows one by one
//===----------------------------------------------------------------------===//

LogicalResult EmbedOp::verify() {
  if (std::optional<APFloat> scale = getScale()) // embed_c3
    if (failed(expectFinitePositive(*this, "scale", *scale)))
      return failure();
  if (hasOpenWidths(*this))
    return success();
  auto table = cast<RankedTensorType>(getTable().getType());
  if (!table.hasStaticShape()) // embed_c2
    return emitOpError("expected a static table, got ") << table;
  if (failed(expectRows(*this, "a result", getResult(), getTokens())))
    return failure(); // embed_c1
  return expectWidth(*this, "the result", getResult(), table.getDimSize(1));
}

LogicalResult MaskFirstOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  return success(succeeded(staticWidth(*this, "the rows", getX())));
}

LogicalResult AddOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  return success(succeeded(staticWidth(*this, "the rows", getResult())));
}

LogicalResult SwigluOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  return success(succeeded(staticWidth(*this, "the rows", getResult())));
}

LogicalResult GegluTanhOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  return success(succeeded(staticWidth(*this, "the rows", getResult())));
}

LogicalResult SiluOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  return success(succeeded(staticWidth(*this, "the rows", getResult())));
}

LogicalResult RmsNormOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  if (failed(expectFinitePositive(*this, "eps", getEps()))) // rms_norm_c1
    return failure();
  int64_t offset = getOffset();
  if (offset != 0 && offset != 1) // rms_norm_c1
    return emitOpError("expected offset 0 or 1, got ") << offset;
  int64_t groups = getGroups();
  if (failed(expectPositive(*this, "groups", groups))) // rms_norm_c2
    return failure();
  FailureOr<int64_t> group = staticWidth(*this, "the weight", getWeight());
  if (failed(group))
    return failure();
  FailureOr<int64_t> width = product(*this, "groups", groups, *group);
  if (failed(width))
    return failure();
  return expectWidth(*this, "the rows", getX(), *width);
}

LogicalResult ConcatOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  if (getInputs().size() < 2) { // concat_c1
    return emitOpError("expected at least two operands, got ")
           << getInputs().size();
  }
  int64_t width = 0;
  for (Value input : getInputs()) {
    FailureOr<int64_t> part = staticWidth(*this, "an operand", input);
    if (failed(part) ||
        failed(expectRows(*this, "an operand", input, getResult()))) {
      return failure();
    }
    width += *part; // each is bounded by shapes_c1
  }
  return expectWidth(*this, "the result", getResult(), width); // concat_c2
}

LogicalResult SliceOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  FailureOr<int64_t> width = staticWidth(*this, "the operand", getX());
  int64_t begin = getBegin(), end = getEnd();
  if (failed(width) ||
      failed(expectRange(*this, "cols", begin, end, *width)) || // slice_c1
      failed(expectRows(*this, "a result", getResult(), getX()))) {
    return failure();
  }
  return expectWidth(*this, "the result", getResult(), end - begin);
}

LogicalResult LinearOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  auto weight = cast<RankedTensorType>(getWeight().getType());
  if (!weight.hasStaticShape()) // linear_c1
    return emitOpError("expected a static weight, got ") << weight;
  int64_t n = weight.getDimSize(0), k = weight.getDimSize(1);
  if (failed(expectWidth(*this, "the operand", getX(), k)) ||
      failed(expectRows(*this, "a result", getResult(), getX())) ||
      failed(expectWidth(*this, "the result", getResult(), n))) { // linear_c2
    return failure();
  }
  return getBias() ? expectWidth(*this, "the bias", getBias(), n) // linear_c3
                   : success();
}

LogicalResult ArgmaxOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  if (failed(staticWidth(*this, "the operand", getX())))
    return failure();
  return expectRows(*this, "a result", getResult(), getX()); // argmax_c1
}

LogicalResult ArgmaxOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVocabularyUse(*this, symbols, getTokensAttr(), // argmax_c2
                             widthOf(getX()));
}

LogicalResult MaskTokensOp::verify() {
  return expectRows(*this, "the tokens", getExcluded(),
                    getLogits()); // mask_tokens_c1
}

LogicalResult MaskTokensOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVocabularyUse(*this, symbols, getTokensAttr(), // mask_tokens_c2
                             widthOf(getLogits()));
}

LogicalResult SampleOp::verify() {
  if (getNumber() && getAnchored()) // sample_c3
    return emitOpError("expected a number or anchored, got both");
  if (getNumber() && failed(expectRows(*this, "a number", getNumber(),
                                       getLogits()))) // sample_c3
    return failure();
  if (hasOpenWidths(*this))
    return success();
  if (failed(staticWidth(*this, "the logits", getLogits())))
    return failure();
  return expectRows(*this, "a result", getResult(), getLogits()); // sample_c1
}

LogicalResult SampleOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVocabularyUse(*this, symbols, getTokensAttr(), // sample_c2
                             widthOf(getLogits()));
}

LogicalResult GatherRowsOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  FailureOr<int64_t> width = staticWidth(*this, "the operand", getX());
  if (failed(width) ||
      failed(expectRows(*this, "a result", getResult(), getIndex()))) {
    return failure();
  }
  return expectWidth(*this, "the result", getResult(),
                     *width); // gather_rows_c1
}

//===----------------------------------------------------------------------===//
// Apply
//===----------------------------------------------------------------------===//

/// Returns whether a call may use the type `actual` for the callee's type
/// `expected`: both are equal, except for extents that the callee leaves open.
static bool fits(TypeRange expected, TypeRange actual) {
  if (expected.size() != actual.size())
    return false;
  return llvm::all_of(llvm::zip_equal(expected, actual), [](auto pair) {
    auto [want, got] = pair;
    auto open = dyn_cast<RankedTensorType>(want);
    auto known = dyn_cast<RankedTensorType>(got);
    return want == got ||
           (open && known && open.getElementType() == known.getElementType() &&
            open.getRank() == known.getRank() &&
            llvm::all_of(llvm::zip_equal(open.getShape(), known.getShape()),
                         [](auto extents) {
                           auto [a, b] = extents;
                           return a == b || ShapedType::isDynamic(a);
                         }));
  });
}

LogicalResult ApplyOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getCalleeAttr());
  if (!callee) { // apply_c1
    return emitOpError("expected ")
           << getCalleeAttr() << " to be a func.func of this module";
  }
  FunctionType expected = callee.getFunctionType();
  auto actual =
      FunctionType::get(getContext(), getOperandTypes(), getResultTypes());
  if (!fits(expected.getInputs(), actual.getInputs()) ||
      !fits(expected.getResults(), actual.getResults())) { // apply_c2
    InFlightDiagnostic diag = emitOpError("expected type ")
                              << expected << ", got " << actual;
    diag.attachNote(callee.getLoc()) << "the callee is here";
    return diag;
  }
  if (failed(verifyCacheUse(*this, symbols, getCacheAttr(), getLayer(), 0)) ||
      failed(findRecurrence(*this, symbols, getMemoryAttr(),
                            getMemoryLayer()))) // apply_c4
    return failure();
  return success();
}
