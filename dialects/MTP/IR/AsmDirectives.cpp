//===- AsmDirectives.cpp - Custom parts of the assembly -------------------===//

#include "dialects/MTP/IR/AsmDirectives.h"
#include "dialects/MTP/IR/MTPOps.h"

using namespace mlir;
using namespace mlir::mtp;

ParseResult mlir::mtp::parseAttentionOperands(
    OpAsmParser &parser, UnresolvedOperand &q, UnresolvedOperand &k,
    std::optional<UnresolvedOperand> &v, UnresolvedOperand &rows) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<UnresolvedOperand> operands;
  if (parser.parseOperandList(operands))
    return failure();
  if (operands.size() != 3 && operands.size() != 4) {
    return parser.emitError(loc,
                            "expected query, key, optional value and rows, "
                            "got ")
           << operands.size() << " operands";
  }
  q = operands[0];
  k = operands[1];
  if (operands.size() == 4)
    v = operands[2];
  rows = operands.back();
  return success();
}

void mlir::mtp::printAttentionOperands(OpAsmPrinter &printer, Operation *,
                                       Value q, Value k, Value v, Value rows) {
  printer << q << ", " << k << ", ";
  if (v)
    printer << v << ", ";
  printer << rows;
}

ParseResult
mlir::mtp::parseOptionalFirst(OpAsmParser &parser,
                              std::optional<UnresolvedOperand> &first,
                              UnresolvedOperand &second) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<UnresolvedOperand> operands;
  if (parser.parseOperandList(operands))
    return failure();
  if (operands.empty() || operands.size() > 2) {
    return parser.emitError(loc, "expected one or two operands, got ")
           << operands.size();
  }
  if (operands.size() == 2)
    first = operands.front();
  second = operands.back();
  return success();
}

void mlir::mtp::printOptionalFirst(OpAsmPrinter &printer, Operation *,
                                   Value first, Value second) {
  if (first)
    printer << first << ", ";
  printer << second;
}

ParseResult mlir::mtp::parseStaticTree(OpAsmParser &parser,
                                       DenseI64ArrayAttr &tree) {
  SmallVector<int64_t> parents;
  if (parser.parseCommaSeparatedList(
          OpAsmParser::Delimiter::OptionalSquare,
          [&] { return parser.parseInteger(parents.emplace_back()); }))
    return failure();
  if (!parents.empty())
    tree = parser.getBuilder().getDenseI64ArrayAttr(parents);
  return success();
}

void mlir::mtp::printStaticTree(OpAsmPrinter &printer, Operation *,
                                DenseI64ArrayAttr tree) {
  if (!tree)
    return;
  printer << " [";
  llvm::interleaveComma(tree.asArrayRef(), printer);
  printer << "]";
}

ParseResult mlir::mtp::parseExtents(OpAsmParser &parser, ArrayAttr &extents) {
  SmallVector<Attribute> sizes;
  auto parseExtent = [&]() -> ParseResult {
    FailureOr<ExtentAttr> extent = ExtentAttr::parseSize(parser);
    if (failed(extent))
      return failure();
    sizes.push_back(*extent);
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::OptionalSquare,
                                     parseExtent))
    return failure();
  extents = parser.getBuilder().getArrayAttr(sizes);
  return success();
}

void mlir::mtp::printExtents(OpAsmPrinter &printer, Operation *,
                             ArrayAttr extents) {
  if (extents.empty())
    return;
  printer << "[";
  llvm::interleaveComma(extents.getAsRange<ExtentAttr>(), printer,
                        [&](ExtentAttr extent) { extent.printSize(printer); });
  printer << "]";
}

ParseResult mlir::mtp::parseStateInit(OpAsmParser &parser, TypedAttr &init,
                                      TypeAttr elementType) {
  if (failed(parser.parseOptionalKeyword("init")))
    return success();
  return parser.parseAttribute(init, elementType.getValue());
}

void mlir::mtp::printStateInit(OpAsmPrinter &printer, Operation *,
                               TypedAttr init, TypeAttr) {
  if (!init)
    return;
  printer << " init ";
  printer.printAttributeWithoutType(init);
}

ParseResult mlir::mtp::parseRebuild(OpAsmParser &parser, RebuildAttr &rebuild,
                                    IntegerAttr &rows) {
  Builder &builder = parser.getBuilder();
  auto how = Rebuild::Rows;
  int64_t count = 1;
  if (succeeded(parser.parseOptionalKeyword("rebuild"))) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return failure();
    std::optional<Rebuild> named = symbolizeRebuild(keyword);
    if (!named)
      return parser.emitError(loc,
                              "expected rows, tokens, never or save, got '")
             << keyword << "'";
    how = *named;
    if (how == Rebuild::Rows && parser.parseInteger(count))
      return failure();
  }
  rebuild = RebuildAttr::get(builder.getContext(), how);
  rows = builder.getI64IntegerAttr(count);
  return success();
}

void mlir::mtp::printRebuild(OpAsmPrinter &printer, Operation *,
                             RebuildAttr rebuild, IntegerAttr rows) {
  if (rebuild.getValue() != Rebuild::Rows)
    printer << " rebuild " << stringifyRebuild(rebuild.getValue());
  else if (rows.getInt() != 1)
    printer << " rebuild rows " << rows.getInt();
}

ParseResult mlir::mtp::parseRuleArguments(OpAsmParser &parser,
                                          ArrayAttr &arguments) {
  SmallVector<Attribute> names;
  auto parseName = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return failure();
    std::optional<RuleArgument> argument = symbolizeRuleArgument(keyword);
    if (!argument)
      return parser.emitError(loc, "expected slots, rows, positions, picks, "
                                   "drafts, logits or draft_logits, got '")
             << keyword << "'";
    names.push_back(RuleArgumentAttr::get(parser.getContext(), *argument));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseName))
    return failure();
  arguments = parser.getBuilder().getArrayAttr(names);
  return success();
}

void mlir::mtp::printRuleArguments(OpAsmPrinter &printer, Operation *,
                                   ArrayAttr arguments) {
  printer << "(";
  if (arguments)
    llvm::interleaveComma(arguments.getAsRange<RuleArgumentAttr>(), printer,
                          [&](RuleArgumentAttr name) {
                            printer << stringifyRuleArgument(name.getValue());
                          });
  printer << ")";
}

ParseResult mlir::mtp::parseRowCount(OpAsmParser &parser, IntegerAttr &rows,
                                     std::optional<UnresolvedOperand> &count) {
  rows = parser.getBuilder().getI64IntegerAttr(1);
  if (failed(parser.parseOptionalKeyword("rows")))
    return success();
  UnresolvedOperand operand;
  OptionalParseResult isOperand = parser.parseOptionalOperand(operand);
  if (isOperand.has_value()) {
    count = operand;
    return *isOperand;
  }
  int64_t number = 0;
  if (parser.parseInteger(number))
    return failure();
  rows = parser.getBuilder().getI64IntegerAttr(number);
  return success();
}

void mlir::mtp::printRowCount(OpAsmPrinter &printer, Operation *,
                              IntegerAttr rows, Value count) {
  if (count)
    printer << " rows " << count;
  else if (rows.getInt() != 1)
    printer << " rows " << rows.getInt();
}

/// Parses `keyword %operand`. If an older form of the op had something else at
/// this place, the error shows the current form.
static ParseResult parseClause(OpAsmParser &parser, StringRef keyword,
                               UnresolvedOperand &operand, StringRef what,
                               StringRef example) {
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(keyword)))
    return parser.parseOperand(operand);
  return parser.emitError(loc, "expected '")
         << keyword << "' and " << what << ", as in: " << example;
}

ParseResult mlir::mtp::parseSeenMasks(OpAsmParser &parser,
                                      UnresolvedOperand &masks) {
  return parseClause(
      parser, "seeing", masks,
      "a mask of 64 bits for each row, which says what the row sees",
      "%rows = mtp.make_tree_rows %slots, %positions from %roots at %places "
      "seeing %masks : tensor<?xi32>, tensor<?xi64>");
}

void mlir::mtp::printSeenMasks(OpAsmPrinter &printer, Operation *,
                               Value masks) {
  printer << "seeing " << masks;
}

ParseResult mlir::mtp::parseMovedTo(OpAsmParser &parser,
                                    UnresolvedOperand &to) {
  return parseClause(parser, "to", to,
                     "the positions that entries go to, of each slot",
                     "mtp.cache_move %from to %to of %slots in @cache : "
                     "tensor<?x4xi32>, tensor<?xi32>");
}

void mlir::mtp::printMovedTo(OpAsmPrinter &printer, Operation *, Value to) {
  printer << "to " << to;
}

ParseResult mlir::mtp::parseOwnNames(OpAsmParser &parser, Region &region) {
  return parser.parseRegion(region, /*arguments=*/{},
                            /*enableNameShadowing=*/true);
}

void mlir::mtp::printOwnNames(OpAsmPrinter &printer, Operation *,
                              Region &region) {
  printer.printRegion(region);
}

ParseResult mlir::mtp::parseGateTypes(OpAsmParser &parser, Type &decay,
                                      Type &beta) {
  if (parser.parseType(decay))
    return failure();
  beta = decay;
  return succeeded(parser.parseOptionalComma()) ? parser.parseType(beta)
                                                : ParseResult(success());
}

void mlir::mtp::printGateTypes(OpAsmPrinter &printer, Operation *, Type decay,
                               Type beta) {
  printer << decay;
  if (beta != decay)
    printer << ", " << beta;
}

ParseResult mlir::mtp::parsePackTypes(OpAsmParser &parser, Type &tokens,
                                      Type &promptRows, Type &promptTokens,
                                      Type &packed, Type &places,
                                      Type &promptPlaces) {
  if (parser.parseType(tokens))
    return failure();
  packed = places = tokens;
  if (failed(parser.parseOptionalComma()))
    return failed(parser.parseOptionalArrow()) ? ParseResult(success())
                                               : parser.parseType(packed);
  promptRows = RowsType::get(parser.getContext());
  if (parser.parseType(promptTokens) || parser.parseArrow() ||
      parser.parseType(packed))
    return failure();
  promptPlaces = promptTokens;
  return success();
}

void mlir::mtp::printPackTypes(OpAsmPrinter &printer, Operation *, Type tokens,
                               Type, Type promptTokens, Type packed, Type,
                               Type) {
  printer << tokens;
  if (promptTokens)
    printer << ", " << promptTokens;
  if (promptTokens || packed != tokens)
    printer << " -> " << packed;
}

/// Makes a head that applies a function to the arguments of its region.
static std::unique_ptr<Region> makeHead(Location loc, FlatSymbolRefAttr callee,
                                        FunctionType type) {
  auto head = std::make_unique<Region>();
  Block &block = head->emplaceBlock();
  for (Type input : type.getInputs())
    block.addArgument(input, loc);
  OpBuilder builder(loc.getContext());
  builder.setInsertionPointToEnd(&block);
  auto apply =
      ApplyOp::create(builder, loc, type.getResults(), callee.getValue(),
                      block.getArguments(), /*prefix=*/"",
                      /*cache=*/nullptr, /*layer=*/nullptr,
                      /*memory=*/nullptr, /*memoryLayer=*/nullptr);
  YieldOp::create(builder, loc, apply.getOutputs());
  return head;
}

/// Returns the apply of a head that a list can hold, or null.
static ApplyOp applyOf(Region &head) {
  Block &block = head.front();
  if (!llvm::hasNItems(block, 2))
    return {};
  auto apply = dyn_cast<ApplyOp>(block.front());
  auto yield = dyn_cast<YieldOp>(block.back());
  bool isAll = apply && yield && apply.getPrefix().empty() &&
               !apply.getCache() && !apply.getMemory() &&
               apply->getDiscardableAttrs().empty() &&
               llvm::equal(apply.getInputs(), block.getArguments()) &&
               llvm::equal(yield.getValues(), apply.getOutputs());
  return isAll ? apply : ApplyOp();
}

static FunctionType typeOf(ApplyOp apply) {
  return FunctionType::get(apply.getContext(), apply->getOperandTypes(),
                           apply->getResultTypes());
}

ParseResult
mlir::mtp::parseHeads(OpAsmParser &parser,
                      SmallVectorImpl<std::unique_ptr<Region>> &heads) {
  SmallVector<std::pair<FlatSymbolRefAttr, Location>> names;
  auto parseName = [&]() -> ParseResult {
    Location loc = parser.getEncodedSourceLoc(parser.getCurrentLocation());
    StringAttr name;
    if (parser.parseSymbolName(name))
      return failure();
    names.push_back({FlatSymbolRefAttr::get(name), loc});
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::OptionalSquare,
                                     parseName))
    return failure();
  if (names.empty())
    return parser.parseCommaSeparatedList([&] {
      return parser.parseRegion(
          *heads.emplace_back(std::make_unique<Region>()));
    });
  FunctionType type;
  if (parser.parseType(type))
    return failure();
  for (auto [name, loc] : names)
    heads.push_back(makeHead(loc, name, type));
  return success();
}

void mlir::mtp::printHeads(OpAsmPrinter &printer, Operation *,
                           RegionRange heads) {
  SmallVector<ApplyOp> applies;
  for (Region *head : heads)
    applies.push_back(applyOf(*head));
  bool isList = llvm::all_of(applies, [&](ApplyOp apply) {
    return apply && applies.front() && typeOf(apply) == typeOf(applies.front());
  });
  if (!isList) {
    llvm::interleaveComma(heads, printer,
                          [&](Region *head) { printer.printRegion(*head); });
    return;
  }
  printer << "[";
  llvm::interleaveComma(applies, printer, [&](ApplyOp apply) {
    printer << apply.getCalleeAttr();
  });
  printer << "] " << typeOf(applies.front());
}
