//===- ExecDialect.cpp - The exec dialect ---------------------------------===//

#include "dialects/Exec/IR/ExecDialect.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/AsmDirectives.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::exec;

#include "dialects/Exec/IR/ExecDialect.cpp.inc"
#include "dialects/Exec/IR/ExecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/IR/ExecAttrs.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Exec/IR/ExecAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Exec/IR/ExecOps.cpp.inc"
      >();
}

int64_t mlir::exec::moduleNumber(Operation *module, llvm::StringRef attribute,
                                 llvm::StringRef key) {
  auto entries = module->getAttrOfType<DictionaryAttr>(attribute);
  auto value = entries ? entries.getAs<IntegerAttr>(key) : IntegerAttr();
  return value ? value.getInt() : 0;
}

LogicalResult
RotationAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                     int64_t dim, int64_t offset, mlir::mtp::RopeLayout) {
  if (dim < 2 || dim % 2 != 0 || offset < 0) // C1
    return emitError()
           << "expected an even number of columns from 2 on, and an "
              "offset from 0 on, got "
           << dim << " and " << offset;
  return success();
}

LogicalResult
SourceAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   llvm::StringRef, int64_t, int64_t, int64_t, int64_t, int64_t,
                   bool, DenseI64ArrayAttr shape) {
  if (shape && shape.size() != 1 && shape.size() != 2) // C1
    return emitError() << "expected a shape of one or two dimensions, got "
                       << shape.size();
  return success();
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

/// `8`, `n`, `3 * n` or `1 + 3 * n`.
static ParseResult parseCount(AsmParser &parser, Count &count) {
  auto parseTerm = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("n"))) {
      count.step = 1;
      return success();
    }
    int64_t number;
    if (parser.parseInteger(number))
      return failure();
    if (failed(parser.parseOptionalStar())) {
      count.base = number;
      return success();
    }
    count.step = number;
    return parser.parseKeyword("n");
  };
  if (parseTerm())
    return failure();
  if (!count.isFixed() || failed(parser.parseOptionalPlus()))
    return success();
  return parseTerm();
}

Attribute CountAttr::parse(AsmParser &parser, Type) {
  Count count;
  if (parser.parseLess() || parseCount(parser, count) || parser.parseGreater())
    return {};
  return CountAttr::get(parser.getContext(), count);
}

void CountAttr::print(AsmPrinter &printer) const {
  printer.getStream() << "<" << getCount() << ">";
}

LogicalResult CountAttr::verifyEncoding(
    llvm::ArrayRef<int64_t> shape, Type,
    llvm::function_ref<InFlightDiagnostic()> emitError) const {
  constexpr int64_t kMost = int64_t(1) << 31;
  bool hasRows = !shape.empty() && ShapedType::isDynamic(shape.front()) &&
                 !llvm::is_contained(shape.drop_front(), ShapedType::kDynamic);
  if (hasRows && getStep() > 0 && getStep() < kMost && getBase() >= 0 &&
      getBase() < kMost) // C1
    return success();
  return emitError() << "expected a count of a first extent that alone is "
                        "dynamic, growing from 0 on, got "
                     << getCount();
}

static ParseResult parseCount(OpAsmParser &parser, CountAttr &attr) {
  Count count;
  if (parseCount(static_cast<AsmParser &>(parser), count))
    return failure();
  attr = CountAttr::get(parser.getContext(), count);
  return success();
}

static void printCount(OpAsmPrinter &printer, Operation *, CountAttr attr) {
  printer.getStream() << attr.getCount();
}

/// The clause ` KEYWORD count`, which may be absent.
static ParseResult parseClause(OpAsmParser &parser, llvm::StringRef keyword,
                               CountAttr &attr) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return parseCount(parser, attr);
}

static void printClause(OpAsmPrinter &printer, llvm::StringRef keyword,
                        CountAttr attr) {
  if (attr)
    printer.getStream() << " " << keyword << " " << attr.getCount();
}

/// What ` at 64 + 128 * n rows n` says of an alloc.
static ParseResult parsePlace(OpAsmParser &parser, CountAttr &offset,
                              CountAttr &rows) {
  return failure(parseClause(parser, "at", offset) ||
                 parseClause(parser, "rows", rows));
}

static void printPlace(OpAsmPrinter &printer, Operation *, CountAttr offset,
                       CountAttr rows) {
  printClause(printer, "at", offset);
  printClause(printer, "rows", rows);
}

/// What ` first n` says of a reference.
static ParseResult parseFirst(OpAsmParser &parser, CountAttr &first) {
  return parseClause(parser, "first", first);
}

static void printFirst(OpAsmPrinter &printer, Operation *, CountAttr first) {
  printClause(printer, "first", first);
}

/// `[3 * n, 8]`
static ParseResult parseCounts(OpAsmParser &parser, ArrayAttr &counts) {
  SmallVector<Attribute> list;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&]() -> ParseResult {
                                       CountAttr count;
                                       if (parseCount(parser, count))
                                         return failure();
                                       list.push_back(count);
                                       return success();
                                     }))
    return failure();
  counts = ArrayAttr::get(parser.getContext(), list);
  return success();
}

static void printCounts(OpAsmPrinter &printer, Operation *, ArrayAttr counts) {
  printer << "[";
  llvm::interleaveComma(
      counts.getAsRange<CountAttr>(), printer.getStream(),
      [&](CountAttr count) { printer.getStream() << count.getCount(); });
  printer << "]";
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// What `k 2 n 1 to 256` says of a program, and nothing of a function.
static ParseResult parsePoints(OpAsmParser &parser, IntegerAttr &k,
                               IntegerAttr &least, IntegerAttr &most) {
  int64_t drafts = 0, first = 0, last = 0;
  if (succeeded(parser.parseOptionalKeyword("k")) &&
      (parser.parseInteger(drafts) || parser.parseKeyword("n") ||
       parser.parseInteger(first) || parser.parseKeyword("to") ||
       parser.parseInteger(last)))
    return failure();
  Builder &builder = parser.getBuilder();
  k = builder.getI64IntegerAttr(drafts);
  least = builder.getI64IntegerAttr(first);
  most = builder.getI64IntegerAttr(last);
  return success();
}

static void printPoints(OpAsmPrinter &printer, ProgramOp program, IntegerAttr,
                        IntegerAttr, IntegerAttr) {
  int64_t k = program.getK();
  Points points = program.getPoints();
  if (k != 0 || points.least != 0 || points.most != 0)
    printer << " k " << k << " n " << points.least << " to " << points.most;
}

/// `[[solo, all], [all]]`, stage by stage.
static ParseResult parseStages(OpAsmParser &parser, DenseI8ArrayAttr &steps) {
  SmallVector<int8_t> list;
  auto parseStage = [&]() -> ParseResult {
    int8_t joined = 0;
    return parser.parseCommaSeparatedList(
        AsmParser::Delimiter::Square, [&]() -> ParseResult {
          bool isSolo = succeeded(parser.parseOptionalKeyword("solo"));
          if (!isSolo && parser.parseKeyword("all"))
            return failure();
          list.push_back((isSolo ? ScheduleOp::kSolo : 0) | joined);
          joined = ScheduleOp::kJoined;
          return success();
        });
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseStage))
    return failure();
  steps = DenseI8ArrayAttr::get(parser.getContext(), list);
  return success();
}

static void printStages(OpAsmPrinter &printer, Operation *,
                        DenseI8ArrayAttr steps) {
  printer << "[";
  for (auto [i, step] : llvm::enumerate(steps.asArrayRef())) {
    if (i != 0)
      printer << ((step & ScheduleOp::kJoined) ? ", " : "], ");
    if (i == 0 || !(step & ScheduleOp::kJoined))
      printer << "[";
    printer << ((step & ScheduleOp::kSolo) ? "solo" : "all");
  }
  printer << (steps.empty() ? "]" : "]]");
}

//===----------------------------------------------------------------------===//
// Bytes and states
//===----------------------------------------------------------------------===//

std::optional<Count> mlir::exec::bufferBytes(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  Type element = type.getElementType();
  std::optional<Count> bytes = elementsOf(buffer);
  if (!element.isIntOrFloat() || !bytes ||
      (type.getRank() > 0 && type.isDynamicDim(0) && *bytes == Count()))
    return std::nullopt;
  int64_t size = (element.getIntOrFloatBitWidth() + 7) / 8;
  if (__builtin_mul_overflow(bytes->base, size, &bytes->base) ||
      __builtin_mul_overflow(bytes->step, size, &bytes->step))
    return std::nullopt;
  return bytes;
}

Points mlir::exec::pointsOf(Operation *op) {
  auto program = op->getParentOfType<ProgramOp>();
  return program ? program.getPoints() : Points();
}

std::optional<int64_t> mlir::exec::bufferBytes(MemRefType type) {
  Type element = type.getElementType();
  if (!element.isIntOrFloat())
    return std::nullopt;
  int64_t bytes = (element.getIntOrFloatBitWidth() + 7) / 8;
  for (int64_t dim : type.getShape()) {
    if (ShapedType::isDynamic(dim) ||
        __builtin_mul_overflow(bytes, dim, &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

/// The clause ` init -1` of a state, whose elements are those of its type.
static ParseResult parseBufferInit(OpAsmParser &parser, TypedAttr &init,
                                   TypeAttr type) {
  auto buffer = dyn_cast<MemRefType>(type.getValue());
  if (!buffer)
    return success(); // the verifier has something to say about it
  return mlir::mtp::parseStateInit(parser, init,
                                   TypeAttr::get(buffer.getElementType()));
}

static void printBufferInit(OpAsmPrinter &printer, Operation *op,
                            TypedAttr init, TypeAttr type) {
  mlir::mtp::printStateInit(printer, op, init, type);
}

#define GET_OP_CLASSES
#include "dialects/Exec/IR/ExecOps.cpp.inc"
