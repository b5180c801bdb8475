//===- PythonJson.cpp - What Python writes beyond JSON --------------------===//

#include "compiler/Import/PythonJson.h"

namespace mtp::importer {

namespace {

/// The end of the string that begins at `begin`.
size_t stringEnd(std::string_view json, size_t begin) {
  size_t at = begin + 1;
  while (at < json.size() && json[at] != '"')
    at += json[at] == '\\' ? 2 : 1;
  return at + 1 < json.size() ? at + 1 : json.size();
}

/// The number at `at` that JSON does not have; empty if there is none.
std::string_view nonFiniteAt(std::string_view json, size_t at) {
  for (std::string_view word : {"NaN", "-Infinity", "Infinity"})
    if (json.substr(at, word.size()) == word)
      return word;
  return {};
}

} // namespace

std::string quoteNonFinite(std::string_view json) {
  std::string quoted;
  quoted.reserve(json.size());
  for (size_t at = 0; at < json.size();) {
    size_t end = at + 1;
    std::string_view word = nonFiniteAt(json, at);
    if (json[at] == '"')
      end = stringEnd(json, at);
    else if (!word.empty())
      end = at + word.size();
    if (word.empty())
      quoted.append(json, at, end - at);
    else
      quoted.append("\"").append(word).append("\"");
    at = end;
  }
  return quoted;
}

} // namespace mtp::importer
