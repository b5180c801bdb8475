//===- AsmDirectives.cpp - Custom parts of the assembly -------------------===//

#include "dialects/Exec/IR/AsmDirectives.h"

#include "dialects/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace mlir::exec;

ParseResult exec::parseCount(AsmParser &parser, Count &count) {
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

ParseResult exec::parseCount(OpAsmParser &parser, CountAttr &attr) {
  Count count;
  if (parseCount(static_cast<AsmParser &>(parser), count))
    return failure();
  attr = CountAttr::get(parser.getContext(), count);
  return success();
}

void exec::printCount(OpAsmPrinter &printer, Operation *, CountAttr attr) {
  printer.getStream() << attr.getCount();
}

/// Parses the optional clause ` KEYWORD count`.
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

ParseResult exec::parsePlace(OpAsmParser &parser, CountAttr &offset,
                             CountAttr &rows) {
  return failure(parseClause(parser, "at", offset) ||
                 parseClause(parser, "rows", rows));
}

void exec::printPlace(OpAsmPrinter &printer, Operation *, CountAttr offset,
                      CountAttr rows) {
  printClause(printer, "at", offset);
  printClause(printer, "rows", rows);
}

ParseResult exec::parseFirst(OpAsmParser &parser, CountAttr &first) {
  return parseClause(parser, "first", first);
}

void exec::printFirst(OpAsmPrinter &printer, Operation *, CountAttr first) {
  printClause(printer, "first", first);
}

ParseResult exec::parseCounts(OpAsmParser &parser, ArrayAttr &counts) {
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

void exec::printCounts(OpAsmPrinter &printer, Operation *, ArrayAttr counts) {
  printer << "[";
  llvm::interleaveComma(
      counts.getAsRange<CountAttr>(), printer.getStream(),
      [&](CountAttr count) { printer.getStream() << count.getCount(); });
  printer << "]";
}

ParseResult exec::parsePoints(OpAsmParser &parser, IntegerAttr &k,
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

void exec::printPoints(OpAsmPrinter &printer, ProgramOp program, IntegerAttr,
                       IntegerAttr, IntegerAttr) {
  int64_t k = program.getK();
  Points points = program.getPoints();
  if (k != 0 || points.least != 0 || points.most != 0)
    printer << " k " << k << " n " << points.least << " to " << points.most;
}

ParseResult exec::parseStages(OpAsmParser &parser, DenseI8ArrayAttr &steps) {
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

void exec::printStages(OpAsmPrinter &printer, Operation *,
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

ParseResult exec::parseBufferInit(OpAsmParser &parser, TypedAttr &init,
                                  TypeAttr type) {
  auto buffer = dyn_cast<MemRefType>(type.getValue());
  if (!buffer)
    return success(); // the verifier reports it
  return mlir::mtp::parseStateInit(parser, init,
                                   TypeAttr::get(buffer.getElementType()));
}

void exec::printBufferInit(OpAsmPrinter &printer, Operation *op, TypedAttr init,
                           TypeAttr type) {
  mlir::mtp::printStateInit(printer, op, init, type);
}
