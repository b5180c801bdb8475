//===- DrafterSpec.cpp - The drafter that is asked for --------------------===//

#include "compiler/Import/plan/DrafterSpec.h"

#include "runtime/core/PathKind.h"
#include "runtime/schema/Limits.h"

#include <charconv>
#include <filesystem>
#include <vector>

namespace mtp::importer {

namespace {

/// vLLM's defaults of prompt_lookup_min and prompt_lookup_max.
constexpr LookupSizes kLookupSizes = {5, 5};

/// Returns the error for an invalid value of a flag.
Status unexpected(std::string_view flag, std::string_view text,
                  const std::string &what) {
  return invalidArgument(std::string(flag) + ": expected " + what + ", got '" +
                         std::string(text) + "'");
}

/// Reads numbers separated by commas. Nothing if one of them is invalid.
std::optional<std::vector<int64_t>> parseNumbers(std::string_view text) {
  std::vector<int64_t> numbers;
  const char *at = text.data(), *end = at + text.size();
  while (true) {
    int64_t number = 0;
    auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc())
      return std::nullopt;
    numbers.push_back(number);
    if (next == end)
      return numbers;
    if (*next != ',')
      return std::nullopt;
    at = next + 1;
  }
}

/// Returns the numbers after a method's name and a colon. Empty if there is no
/// colon; nothing if they are invalid.
std::optional<std::vector<int64_t>> numbersOf(std::string_view text) {
  size_t colon = text.find(':');
  if (colon == text.npos)
    return std::vector<int64_t>();
  return parseNumbers(text.substr(colon + 1));
}

std::string_view nameOf(std::string_view text) {
  return text.substr(0, text.find(':'));
}

Result<LookupSizes> parseLookup(std::string_view flag, std::string_view text) {
  auto numbers = numbersOf(text);
  if (!numbers)
    return unexpected(flag, text, "lookup[:min,max]");
  LookupSizes sizes = kLookupSizes;
  // As in vLLM, a single number sets both sizes.
  if (!numbers->empty())
    sizes = {numbers->front(), numbers->back()};
  if (numbers->size() > 2 || sizes.least < 1 || sizes.most < sizes.least ||
      sizes.most > kMostLookup)
    return unexpected(flag, text,
                      "lookup:min,max with 1 <= min <= max <= " +
                          std::to_string(kMostLookup));
  return sizes;
}

Result<LookaheadSizes> parseLookahead(std::string_view text) {
  constexpr const char *kFlag = "--drafter";
  // Larger numbers would need more rows than a slot may have.
  constexpr int64_t kMost = kMostNodes;
  auto numbers = numbersOf(text);
  if (!numbers || numbers->size() != 3)
    return unexpected(kFlag, text, "lookahead:W,N,G");
  LookaheadSizes sizes{(*numbers)[0], (*numbers)[1], (*numbers)[2]};
  bool isInRange = sizes.window >= 2 && sizes.window <= kMost &&
                   sizes.ngram >= 3 && sizes.ngram <= kMost &&
                   sizes.guesses >= 1 && sizes.guesses <= kMost;
  if (!isInRange)
    return unexpected(kFlag, text,
                      "lookahead:W,N,G with W of 2, N of 3 and G of 1 to " +
                          std::to_string(kMost));
  if (sizes.rows() > kMost)
    return outOfRange("--drafter: expected at most " + std::to_string(kMost) +
                      " rows of a slot, (W + G) (N - 1), got " +
                      std::to_string(sizes.rows()) + " with '" +
                      std::string(text) + "'");
  if (sizes.depth() > int64_t(kMostK))
    return outOfRange("--drafter: expected at most " + std::to_string(kMostK) +
                      " rows one after the other, W + N - 3, got " +
                      std::to_string(sizes.depth()) + " with '" +
                      std::string(text) + "'");
  return sizes;
}

} // namespace

Result<DrafterSpec> parseDrafterSpec(std::string_view text) {
  DrafterSpec spec;
  if (nameOf(text) == "lookup") {
    spec.kind = DrafterKind::Lookup;
    MTP_ASSIGN_OR_RETURN(spec.lookup, parseLookup("--drafter", text));
    return spec;
  }
  if (text == "suffix") {
    spec.kind = DrafterKind::Suffix;
    return spec;
  }
  if (nameOf(text) == "lookahead") {
    spec.kind = DrafterKind::Lookahead;
    MTP_ASSIGN_OR_RETURN(spec.lookahead, parseLookahead(text));
    return spec;
  }
  std::error_code error;
  bool isGguf = kindOf(std::string(text)) == PathKind::Gguf;
  if (!isGguf && std::filesystem::is_regular_file(text, error))
    MTP_RETURN_IF_ERROR(
        checkPath(std::string(text), PathUse::Import).withContext("--drafter"));
  if (!isGguf && !std::filesystem::is_directory(text, error))
    return unexpected("--drafter", text,
                      "lookup[:min,max], suffix, lookahead:W,N,G, a folder or "
                      "a GGUF file");
  spec.kind = DrafterKind::Folder;
  spec.folder = text;
  return spec;
}

Result<LookupSizes> parseBefore(std::string_view text) {
  if (nameOf(text) != "lookup")
    return unexpected("--before", text, "lookup[:min,max]");
  return parseLookup("--before", text);
}

std::string lookupName(const LookupSizes &sizes) {
  return "lookup:" + std::to_string(sizes.least) + "," +
         std::to_string(sizes.most);
}

std::string methodName(const DrafterSpec &spec) {
  switch (spec.kind) {
  case DrafterKind::Modules:
    return "mtp";
  case DrafterKind::Lookup:
    return lookupName(spec.lookup);
  case DrafterKind::Suffix:
    return "suffix";
  case DrafterKind::Lookahead:
    return "lookahead:" + std::to_string(spec.lookahead.window) + "," +
           std::to_string(spec.lookahead.ngram) + "," +
           std::to_string(spec.lookahead.guesses);
  case DrafterKind::Folder:
    return "folder";
  }
  return "";
}

} // namespace mtp::importer
