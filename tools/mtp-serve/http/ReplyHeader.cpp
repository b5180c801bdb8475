//===- ReplyHeader.cpp - Names and origins in headers ---------------------===//

#include "tools/mtp-serve/http/ReplyHeader.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::serve;

static bool isWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool serve::isRequestId(std::string_view id) {
  return !id.empty() && id.size() <= 128 && std::ranges::all_of(id, [](char c) {
    return isWordCharacter(c) || c == '.' || c == ':';
  });
}

std::string serve::printable(std::string_view text) {
  std::string out(text.substr(0, 256));
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~' || c == '"'; }, '?');
  return out;
}

std::string serve::listOf(const std::vector<std::string> &names) {
  constexpr size_t kMostNames = 32, kMostBytes = 64;
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    std::string name = names[i].substr(0, kMostBytes);
    std::ranges::replace_if(
        name, [](char c) { return !isWordCharacter(c) && c != '.'; }, '?');
    list += (i > 0 ? ", " : "") + name;
  }
  return list;
}

std::vector<std::pair<std::string, std::string>>
serve::originHeaders(const std::vector<std::string> &allowed,
                     const std::string &origin, std::string_view asked) {
  bool isAny = std::ranges::count(allowed, "*") > 0;
  if (origin.empty() || (!isAny && std::ranges::count(allowed, origin) == 0))
    return {};
  // Only names of headers and commas are echoed.
  bool isPlain = std::ranges::all_of(
      asked, [](char c) { return isWordCharacter(c) || c == ',' || c == ' '; });
  std::vector<std::pair<std::string, std::string>> fields = {
      {"Access-Control-Allow-Origin", isAny ? "*" : origin},
      {"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
      {"Access-Control-Expose-Headers",
       "X-Request-Id, Retry-After, X-Ignored-Fields"},
      {"Vary", "Origin"}};
  if (!asked.empty() && isPlain)
    fields.emplace_back("Access-Control-Allow-Headers", std::string(asked));
  return fields;
}
