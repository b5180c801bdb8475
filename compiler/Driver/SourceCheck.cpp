//===- SourceCheck.cpp - Checks before MLIR parses ------------------------===//

#include "compiler/Driver/SourceCheck.h"
#include <algorithm>
#include <string>

using namespace mtp;

namespace {
/// Deeper than any hand-written or imported module, and shallow enough for the
/// parser's stack.
constexpr int kMaxNesting = 200;
} // namespace

/// Returns the end of the string literal or comment that starts at `at`, or
/// `at` where none does.
static size_t skipOpaque(std::string_view source, size_t at) {
  if (source[at] == '/' && at + 1 < source.size() && source[at + 1] == '/') {
    return std::min(source.find('\n', at), source.size() - 1);
  }
  if (source[at] != '"') {
    return at;
  }
  for (size_t i = at + 1; i < source.size(); ++i) {
    if (source[i] == '\\') {
      ++i;
    } else if (source[i] == '"' || source[i] == '\n') {
      return i;
    }
  }
  return source.size() - 1;
}

Status mtp::compiler::checkNesting(std::string_view source) {
  int depth = 0;
  int line = 1;
  for (size_t i = 0; i < source.size(); ++i) {
    i = skipOpaque(source, i);
    switch (source[i]) {
    case '\n':
      ++line;
      break;
    case '(':
    case '[':
    case '{':
    case '<':
      ++depth;
      break;
    case '>':
      // An arrow closes nothing.
      depth -= i > 0 && source[i - 1] != '-' && depth > 0;
      break;
    case ')':
    case ']':
    case '}':
      depth -= depth > 0;
      break;
    }
    if (depth > kMaxNesting) {
      return invalidArgument("expected at most " + std::to_string(kMaxNesting) +
                             " levels of nesting, got more at line " +
                             std::to_string(line));
    }
  }
  return Status();
}
