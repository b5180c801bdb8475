//===- QuantizeFlags.cpp - Values of --quantize flags ---------------------===//

#include "compiler/Driver/QuantizeFlags.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/WeightFormat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

using namespace mtp;
using namespace mtp::compiler;

namespace {

/// Smallest and largest mean bits: of K4, and above K6.
constexpr double kLeastBits = 4.5, kMostBits = 6.5;

/// A flag that is parsed.
struct Flag {
  QuantizeFlag kind;
  std::string_view name;
  WeightFormats &formats;
  /// Destination of the format and its group.
  std::string &format;
  int64_t &group;
  /// Parts that were given.
  bool hasGroup = false, isSymmetric = false;

  /// Returns whether the flag has this format.
  bool takes(llvm::StringRef text) const {
    if (text == "none")
      return kind != QuantizeFlag::All;
    if (text == llvm::StringRef(mlir::mtp::kSixBits.name()))
      return kind == QuantizeFlag::Head;
    return text == "int8" || text == "int4";
  }
  Status wrong(llvm::StringRef part) const {
    return invalidArgument(strCat("expected ", name, "=", quantizeUsage(kind),
                                  ", got '", std::string_view(part), "'"));
  }
  Status parse(std::string_view value);

private:
  Status parseGroup(llvm::StringRef text);
  Status parseBits(llvm::StringRef text);
  Status parsePart(llvm::StringRef part);
};

} // namespace

std::string_view compiler::quantizeUsage(QuantizeFlag flag) {
  switch (flag) {
  case QuantizeFlag::All:
    return "int8|int4[,bits=N][,group=N][,symmetric][,keep=PATTERN]...";
  case QuantizeFlag::Head:
    return "int8|int6|int4|none[,group=N]";
  case QuantizeFlag::Embedding:
    return "int8|int4|none[,group=N]";
  }
  return "";
}

Status Flag::parseGroup(llvm::StringRef text) {
  if (text.getAsInteger(10, group) || !isQuantGroup(group) ||
      group % kQuantGroupStep != 0) {
    return invalidArgument(strCat(
        "expected a multiple of ", kQuantGroupStep, " up to ", kMaxQuantGroup,
        " for group of ", name, ", got '", std::string_view(text), "'"));
  }
  hasGroup = true;
  return okStatus();
}

Status Flag::parseBits(llvm::StringRef text) {
  double bits;
  if (format != "int4" || text.getAsDouble(bits) || !(bits >= kLeastBits) ||
      !(bits <= kMostBits))
    return invalidArgument(strCat("expected int4 and a number of 4.5 to 6.5 "
                                  "for bits of ",
                                  name, ", got '", std::string_view(text),
                                  "'"));
  formats.bits = bits;
  return okStatus();
}

Status Flag::parsePart(llvm::StringRef part) {
  auto [key, argument] = part.split('=');
  bool isAll = kind == QuantizeFlag::All;
  if (key == "group" && !hasGroup && format != mlir::mtp::kSixBits.name())
    return parseGroup(argument);
  if (key == "bits" && isAll && !formats.bits)
    return parseBits(argument);
  if (part == "symmetric" && format == "int4" && !isSymmetric) {
    isSymmetric = true;
    return okStatus();
  }
  if (key == "keep" && isAll && !argument.empty()) {
    formats.keep.push_back(argument.str());
    return okStatus();
  }
  return wrong(part);
}

Status Flag::parse(std::string_view value) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(value).split(parts, ',');
  if (!takes(parts.front()))
    return wrong(parts.front());
  format = parts.front().str();
  // Tables have f32 scales, and so has int4.
  bool isChosenLater = format == "int8" && kind != QuantizeFlag::Embedding;
  group = isChosenLater ? 0 : kDefaultQuantGroup;
  for (llvm::StringRef part : llvm::ArrayRef(parts).drop_front())
    MTP_RETURN_IF_ERROR(parsePart(part));
  if (kind != QuantizeFlag::All || format != "int4")
    return okStatus();
  if (isSymmetric && formats.bits)
    return invalidArgument(
        strCat("expected bits or symmetric for ", name, ", got '", value, "'"));
  if (hasGroup && !isSymmetric)
    return invalidArgument(strCat("expected symmetric with group of ", name,
                                  "=int4, got '", value, "'"));
  formats.isMixed = !isSymmetric;
  return okStatus();
}

Status compiler::parseQuantizeFlags(const QuantizeFlags &flags,
                                    WeightFormats &formats) {
  if (flags.quantize) {
    Flag flag{QuantizeFlag::All, "--quantize", formats, formats.format,
              formats.group};
    MTP_RETURN_IF_ERROR(flag.parse(*flags.quantize));
  }
  if (flags.head) {
    Flag flag{QuantizeFlag::Head, "--quantize-head", formats,
              formats.headFormat, formats.headGroup};
    MTP_RETURN_IF_ERROR(flag.parse(*flags.head));
  }
  if (flags.embedding) {
    formats.tie = false;
    Flag flag{QuantizeFlag::Embedding, "--quantize-embedding", formats,
              formats.embeddingFormat, formats.embeddingGroup};
    MTP_RETURN_IF_ERROR(flag.parse(*flags.embedding));
  }
  if (formats.headFormat == "none" && !flags.quantize) {
    return invalidArgument("expected --quantize beside --quantize-head=none, "
                           "which keeps the head from it");
  }
  return okStatus();
}
