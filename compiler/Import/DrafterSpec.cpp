//===- DrafterSpec.cpp - Which drafter is asked for -----------------------===//

#include "compiler/Import/DrafterSpec.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <vector>

namespace mtp::importer {

namespace {

/// What vLLM has without prompt_lookup_min and prompt_lookup_max.
constexpr LookupSizes kLookupSizes = {5, 5};

Status unexpected(std::string_view text, const std::string &what) {
  return invalidArgument("--drafter: expected " + what + ", got '" +
                         std::string(text) + "'");
}

/// Numbers with commas between; nothing if one is none.
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

/// The numbers behind a method's name and a colon; empty without these.
Result<std::vector<int64_t>> readNumbers(std::string_view text,
                                         const std::string &form) {
  size_t colon = text.find(':');
  if (colon == text.npos)
    return std::vector<int64_t>();
  auto numbers = parseNumbers(text.substr(colon + 1));
  if (!numbers)
    return unexpected(text, form);
  return *numbers;
}

Result<DrafterSpec> parseLookup(std::string_view text) {
  DrafterSpec spec{DrafterKind::Lookup, kLookupSizes, ""};
  MTP_ASSIGN_OR_RETURN(auto numbers, readNumbers(text, "lookup[:min,max]"));
  // As in vLLM, of one number the other is as large.
  if (!numbers.empty())
    spec.lookup = {numbers.front(), numbers.back()};
  if (numbers.size() > 2 || spec.lookup.least < 1 ||
      spec.lookup.most < spec.lookup.least || spec.lookup.most > kMostLookup)
    return unexpected(text, "lookup:min,max with 1 <= min <= max <= " +
                                std::to_string(kMostLookup));
  return spec;
}

} // namespace

Result<DrafterSpec> parseDrafterSpec(std::string_view text) {
  std::string_view name = text.substr(0, text.find(':'));
  if (name == "lookup")
    return parseLookup(text);
  std::error_code error;
  if (!std::filesystem::is_directory(text, error))
    return unexpected(text, "lookup[:min,max] or a folder");
  return DrafterSpec{DrafterKind::Folder, {}, std::string(text)};
}

std::string methodName(const DrafterSpec &spec) {
  switch (spec.kind) {
  case DrafterKind::Modules:
    return "mtp";
  case DrafterKind::Lookup:
    return "lookup:" + std::to_string(spec.lookup.least) + "," +
           std::to_string(spec.lookup.most);
  case DrafterKind::Folder:
    return "folder";
  }
  return "";
}

} // namespace mtp::importer
