//===- MTPAttrs.cpp - Attributes of the mtp dialect -----------------------===//

#include "dialects/MTP/IR/MTPAttrs.h"

#include "dialects/MTP/IR/MTPDialect.h"
#include "dialects/MTP/IR/Verification.h"
#include "mlir/IR/Builders.h"
#include "runtime/schema/KvPage.h"
#include "runtime/schema/Limits.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::mtp;

#include "dialects/MTP/IR/MTPEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/MTP/IR/MTPAttrs.cpp.inc"

void MTPDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/MTP/IR/MTPAttrs.cpp.inc"
      >();
}

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// Envelope
//===----------------------------------------------------------------------===//

/// Checks that `key` lies in [low, high].
static LogicalResult checkBounds(EmitError emitError, StringRef key,
                                 int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high)
    return success();
  return emitError() << "expected " << key << " in [" << low << ", " << high
                     << "], got " << value;
}

int64_t EnvelopeAttr::getPagesPerSlot() const {
  return ::mtp::pagesPerSlot(getMaxContext(), getPage());
}

int64_t EnvelopeAttr::getNodes(int64_t k) const {
  return ::mtp::mostNodes(k, getMaxK(), getMaxNodes());
}

int64_t
EnvelopeAttr::getNodes(int64_t k,
                       std::optional<llvm::ArrayRef<int64_t>> tree) const {
  int64_t most = getNodes(k);
  if (!tree)
    return most;
  SmallVector<int64_t> depths(tree->size(), 0);
  for (size_t node = 1; node < tree->size(); ++node) {
    depths[node] = depths[(*tree)[node]] + 1;
    if (depths[node] > k)
      return std::min<int64_t>(most, node);
  }
  return most;
}

LogicalResult EnvelopeAttr::verify(EmitError emitError, int64_t maxK,
                                   int64_t maxBatch, int64_t maxContext,
                                   int64_t prefillChunk, int64_t page,
                                   int64_t maxNodes, int64_t roundPromptRows,
                                   int64_t maxRows, int64_t catchUpRows) {
  if (failed(checkBounds(emitError, "max_k", maxK, 0, ::mtp::kMostK)) ||
      failed(checkBounds(emitError, "max_batch", maxBatch, 1,
                         ::mtp::kMostSlots)) ||
      failed(checkBounds(emitError, "max_context", maxContext,
                         ::mtp::kLeastContext, ::mtp::kMostContext)) ||
      failed(checkBounds(emitError, "prefill_chunk", prefillChunk, 1,
                         ::mtp::kMostChunk)) ||
      failed(checkBounds(emitError, "page", page, 1, ::mtp::kMostPageTokens)) ||
      failed(checkBounds(emitError, "round_prompt_rows", roundPromptRows, 0,
                         prefillChunk)) ||
      failed(checkBounds(emitError, "catch_up_rows", catchUpRows, 0,
                         ::mtp::kMostCatchUpRows))) {
    return failure();
  }
  if (!llvm::isPowerOf2_64(page))
    return emitError() << "expected page to be a power of two, got " << page;
  if (maxNodes != 0 && failed(checkBounds(emitError, "max_nodes", maxNodes,
                                          maxK + 1, ::mtp::kMostNodes)))
    return failure();
  if (maxRows != 0)
    return checkBounds(emitError, "max_rows", maxRows, maxBatch,
                       maxBatch * ::mtp::kMostNodes);
  return success();
}

//===----------------------------------------------------------------------===//
// Extent
//===----------------------------------------------------------------------===//

FailureOr<ExtentAttr> ExtentAttr::parseSize(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  auto unit = ExtentUnit::Fixed;
  int64_t offset = 0;
  StringRef keyword;
  if (succeeded(parser.parseOptionalKeyword(&keyword))) {
    std::optional<ExtentUnit> named = symbolizeExtentUnit(keyword);
    if (!named || named == ExtentUnit::Fixed) {
      return parser.emitError(loc, "expected an integer, max_k, max_batch, "
                                   "max_context, max_pages or prefill_chunk, "
                                   "got '")
             << keyword << "'";
    }
    unit = *named;
    if (succeeded(parser.parseOptionalPlus()) && parser.parseInteger(offset))
      return failure();
  } else if (parser.parseInteger(offset)) {
    return failure();
  }
  auto extent =
      parser.getChecked<ExtentAttr>(loc, parser.getContext(), unit, offset);
  if (!extent)
    return failure();
  return extent;
}

void ExtentAttr::printSize(AsmPrinter &printer) const {
  if (getUnit() == ExtentUnit::Fixed) {
    printer << getOffset();
    return;
  }
  printer << stringifyExtentUnit(getUnit());
  if (getOffset() != 0)
    printer << " + " << getOffset();
}

Attribute ExtentAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<ExtentAttr> extent = parseSize(parser);
  if (failed(extent) || parser.parseGreater())
    return {};
  return *extent;
}

void ExtentAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printSize(printer);
  printer << ">";
}

LogicalResult ExtentAttr::verify(EmitError emitError, ExtentUnit unit,
                                 int64_t offset) {
  // extent_c1, extent_c2
  return checkBounds(emitError, "the number of an extent", offset,
                     unit == ExtentUnit::Fixed ? 1 : 0, int64_t(1) << 30);
}

int64_t ExtentAttr::getSize(EnvelopeAttr envelope) const {
  switch (getUnit()) {
  case ExtentUnit::Fixed:
    return getOffset();
  case ExtentUnit::MaxK:
    return envelope.getMaxK() + getOffset();
  case ExtentUnit::MaxBatch:
    return envelope.getMaxBatch() + getOffset();
  case ExtentUnit::MaxContext:
    return envelope.getMaxContext() + getOffset();
  case ExtentUnit::MaxPages:
    return envelope.getPagesPerSlot() + getOffset();
  case ExtentUnit::PrefillChunk:
    return envelope.getPrefillChunk() + getOffset();
  }
  llvm_unreachable("expected one of the units");
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

namespace {
/// Parameters of a rope attribute, initially at their defaults.
struct RopeFields {
  int64_t dim = 0;
  double theta = 0;
  RopeLayout layout = RopeLayout::Half;
  RopeScaling scaling = RopeScaling::None;
  double factor = 1;
  double low = 1;
  double high = 4;
  double fast = 32;
  double slow = 1;
  double attention = 1;
  int64_t original = 0;
  bool truncate = true;
};
} // namespace

/// Parses the keyword of an enum into `value`.
template <typename EnumT>
static ParseResult parseKeywordEnum(AsmParser &parser, StringRef key,
                                    EnumT &value) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<EnumT> parsed = symbolizeEnum<EnumT>(keyword);
  if (!parsed)
    return parser.emitError(loc, "unknown ") << key << " '" << keyword << "'";
  value = *parsed;
  return success();
}

/// Parses true or false.
static ParseResult parseBool(AsmParser &parser, bool &value) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  if (keyword != "true" && keyword != "false") {
    return parser.emitError(loc, "expected true or false, got '")
           << keyword << "'";
  }
  value = keyword == "true";
  return success();
}

static ParseResult parseRopeField(AsmParser &parser, StringRef key, SMLoc loc,
                                  RopeFields &fields) {
  if (key == "dim")
    return parser.parseInteger(fields.dim);
  if (key == "original_max_position")
    return parser.parseInteger(fields.original);
  if (key == "layout")
    return parseKeywordEnum(parser, key, fields.layout);
  if (key == "scaling")
    return parseKeywordEnum(parser, key, fields.scaling);
  if (key == "truncate")
    return parseBool(parser, fields.truncate);
  double *number = llvm::StringSwitch<double *>(key)
                       .Case("theta", &fields.theta)
                       .Case("factor", &fields.factor)
                       .Case("low_freq_factor", &fields.low)
                       .Case("high_freq_factor", &fields.high)
                       .Case("beta_fast", &fields.fast)
                       .Case("beta_slow", &fields.slow)
                       .Case("attention_factor", &fields.attention)
                       .Default(nullptr);
  if (!number)
    return parser.emitError(loc, "unknown rope parameter '") << key << "'";
  return parser.parseFloat(*number);
}

Attribute RopeAttr::parse(AsmParser &parser, Type) {
  RopeFields fields;
  llvm::SmallVector<StringRef> seen;
  auto parseField = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return failure();
    if (llvm::is_contained(seen, key))
      return parser.emitError(loc, "rope parameter '") << key << "' repeats";
    seen.push_back(key);
    return parseRopeField(parser, key, loc, fields);
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseField)) {
    return {};
  }
  auto number = [](double value) { return llvm::APFloat(value); };
  return parser.getChecked<RopeAttr>(
      loc, parser.getContext(), fields.dim, number(fields.theta), fields.layout,
      fields.scaling, number(fields.factor), number(fields.low),
      number(fields.high), number(fields.fast), number(fields.slow),
      number(fields.attention), fields.original, fields.truncate);
}

/// Prints `, key = value` unless the value is the default.
static void printNumber(AsmPrinter &printer, StringRef key,
                        const llvm::APFloat &value, double omitted) {
  if (value.convertToDouble() == omitted)
    return;
  printer << ", " << key << " = ";
  printer.printFloat(value);
}

void RopeAttr::print(AsmPrinter &printer) const {
  const RopeFields omitted;
  printer << "<dim = " << getDim() << ", theta = ";
  printer.printFloat(getTheta());
  if (getLayout() != omitted.layout)
    printer << ", layout = " << stringifyRopeLayout(getLayout());
  if (getScaling() != omitted.scaling)
    printer << ", scaling = " << stringifyRopeScaling(getScaling());
  printNumber(printer, "factor", getFactor(), omitted.factor);
  printNumber(printer, "low_freq_factor", getLowFreqFactor(), omitted.low);
  printNumber(printer, "high_freq_factor", getHighFreqFactor(), omitted.high);
  printNumber(printer, "beta_fast", getBetaFast(), omitted.fast);
  printNumber(printer, "beta_slow", getBetaSlow(), omitted.slow);
  printNumber(printer, "attention_factor", getAttentionFactor(),
              omitted.attention);
  if (getOriginalMaxPosition() != omitted.original)
    printer << ", original_max_position = " << getOriginalMaxPosition();
  if (getTruncate() != omitted.truncate)
    printer << ", truncate = " << (getTruncate() ? "true" : "false");
  printer << ">";
}

/// Checks which parameters each scaling needs, and that the others have their
/// defaults (rope_c3 to rope_c6).
static LogicalResult verifyScaling(EmitError emitError, RopeScaling scaling,
                                   const RopeFields &fields) {
  const RopeFields omitted;
  bool llama = scaling == RopeScaling::Llama3;
  bool yarn = scaling == RopeScaling::Yarn;
  if ((llama || yarn) && fields.original < 1) {
    return emitError() << "expected a positive original_max_position with "
                       << stringifyRopeScaling(scaling) << " scaling, got "
                       << fields.original;
  }
  if (llama && fields.low >= fields.high)
    return emitError() << "expected low_freq_factor below high_freq_factor";
  if (yarn && fields.slow > fields.fast)
    return emitError() << "expected beta_slow of beta_fast at most";
  bool strayLlama =
      !llama && (fields.low != omitted.low || fields.high != omitted.high);
  bool strayYarn =
      !yarn && (fields.fast != omitted.fast || fields.slow != omitted.slow ||
                fields.attention != omitted.attention || !fields.truncate);
  bool strayFactor =
      scaling == RopeScaling::None && fields.factor != omitted.factor;
  bool strayOriginal = !llama && !yarn && fields.original != 0;
  if (strayLlama || strayYarn || strayFactor || strayOriginal) {
    return emitError() << "expected no parameters of another scaling with "
                       << stringifyRopeScaling(scaling) << " scaling";
  }
  return success();
}

LogicalResult RopeAttr::verify(EmitError emitError, int64_t dim,
                               llvm::APFloat theta, RopeLayout layout,
                               RopeScaling scaling, llvm::APFloat factor,
                               llvm::APFloat low, llvm::APFloat high,
                               llvm::APFloat fast, llvm::APFloat slow,
                               llvm::APFloat attention, int64_t original,
                               bool truncate) {
  if (dim < 2 || dim > 4096 || dim % 2 != 0)
    return emitError() << "expected an even dim in [2, 4096], got " << dim;
  std::pair<StringRef, const llvm::APFloat *> numbers[] = {
      {"theta", &theta},
      {"factor", &factor},
      {"low_freq_factor", &low},
      {"high_freq_factor", &high},
      {"beta_fast", &fast},
      {"beta_slow", &slow},
      {"attention_factor", &attention}};
  for (auto [key, value] : numbers) {
    double number = value->convertToDouble();
    if (!std::isfinite(number) || number <= 0) {
      return emitError() << "expected a finite positive " << key << ", got "
                         << number;
    }
  }
  RopeFields fields;
  fields.factor = factor.convertToDouble();
  fields.low = low.convertToDouble();
  fields.high = high.convertToDouble();
  fields.fast = fast.convertToDouble();
  fields.slow = slow.convertToDouble();
  fields.attention = attention.convertToDouble();
  fields.original = original;
  fields.truncate = truncate;
  return verifyScaling(emitError, scaling, fields);
}
