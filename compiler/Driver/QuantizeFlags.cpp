//===- QuantizeFlags.cpp - Values of --quantize flags ---------------------===//

#include "compiler/Driver/QuantizeFlags.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/WeightFormat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

using namespace mtp;
using namespace mtp::compiler;

namespace {

/// Description of a quantization flag.
struct Flag {
  llvm::StringRef name;
  /// True if "none" is also a format.
  bool takesNone;
  /// Destination of keep=; null if keep= is not allowed.
  std::vector<std::string> *keep;

  bool takes(llvm::StringRef format) const {
    if (format == "none")
      return takesNone;
    std::optional<WeightElements> elements = findWeightElements(format);
    return elements && WeightFormat{*elements}.isQuantized() &&
           WeightFormat{*elements}.isPlain();
  }
};

} // namespace

std::string compiler::quantizeUsage(bool takesNone, bool takesKeep) {
  std::string text;
  for (const WeightElementsInfo &info : kWeightFormats)
    if (info.isQuantized && info.isPlain())
      text += strCat(text.empty() ? "" : "|", info.name);
  return strCat(text, takesNone ? "|none" : "", "[,group=N]",
                takesKeep ? "[,keep=PATTERN]..." : "");
}

static Status parseGroup(const Flag &flag, llvm::StringRef text,
                         int64_t &group) {
  if (text.getAsInteger(10, group) || !isQuantGroup(group) ||
      group % kQuantGroupStep != 0) {
    return invalidArgument(strCat("expected a multiple of ", kQuantGroupStep,
                                  " up to ", kMaxQuantGroup, " for group of ",
                                  std::string_view(flag.name), ", got '",
                                  std::string_view(text), "'"));
  }
  return okStatus();
}

static Status parseFlag(const Flag &flag, std::string_view value,
                        std::string &format, int64_t &group) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(value).split(parts, ',');
  auto wrong = [&](llvm::StringRef part) {
    return invalidArgument(
        strCat("expected ", std::string_view(flag.name), "=",
               quantizeUsage(flag.takesNone, flag.keep != nullptr), ", got '",
               std::string_view(part), "'"));
  };
  if (!flag.takes(parts.front()))
    return wrong(parts.front());
  format = parts.front().str();
  group = kDefaultQuantGroup;
  bool hasGroup = false;
  for (llvm::StringRef part : llvm::ArrayRef(parts).drop_front()) {
    auto [key, argument] = part.split('=');
    if (key == "group" && !hasGroup) {
      MTP_RETURN_IF_ERROR(parseGroup(flag, argument, group));
      hasGroup = true;
    } else if (key == "keep" && flag.keep && !argument.empty()) {
      flag.keep->push_back(argument.str());
    } else {
      return wrong(part);
    }
  }
  return okStatus();
}

Status compiler::parseQuantizeFlags(const QuantizeFlags &flags,
                                    WeightFormats &formats) {
  if (flags.quantize) {
    Flag flag{"--quantize", /*takesNone=*/false, &formats.keep};
    MTP_RETURN_IF_ERROR(
        parseFlag(flag, *flags.quantize, formats.format, formats.group));
  }
  if (flags.head) {
    Flag flag{"--quantize-head", /*takesNone=*/true, nullptr};
    MTP_RETURN_IF_ERROR(
        parseFlag(flag, *flags.head, formats.headFormat, formats.headGroup));
  }
  if (flags.embedding) {
    formats.tie = false;
    Flag flag{"--quantize-embedding", /*takesNone=*/true, nullptr};
    MTP_RETURN_IF_ERROR(parseFlag(flag, *flags.embedding,
                                  formats.embeddingFormat,
                                  formats.embeddingGroup));
  }
  if (formats.headFormat == "none" && !flags.quantize) {
    return invalidArgument("expected --quantize beside --quantize-head=none, "
                           "which keeps the head from it");
  }
  return okStatus();
}
