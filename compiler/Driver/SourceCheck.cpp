//===- SourceCheck.cpp - Checks before MLIR parses ------------------------===//

#include "compiler/Driver/SourceCheck.h"
#include <algorithm>
#include <string>
#include <vector>

using namespace mtp;

namespace {

/// Deeper than any hand-written or imported module, and shallow enough for the
/// parser's stack.
constexpr size_t kMaxNesting = 200;

constexpr std::string_view kBytecodeMagic = "ML\xefR";

/// Scans MLIR's text like its lexer and counts the levels at which its parser
/// recurses: at brackets, and at each operator of an affine expression.
class NestingCounter {
public:
  explicit NestingCounter(std::string_view source)
      : source(source), operators(1) {}

  Status check();

private:
  char peek(size_t offset = 0) const {
    return at + offset < source.size() ? source[at + offset] : '\0';
  }
  void skipString();
  void skipWord();
  void skipToken();
  void addBracket(char c);
  void addOperator();
  void endExpression();

  std::string_view source;
  size_t at = 0;
  size_t line = 1;
  /// Number of open brackets, and of operators of the expressions around `at`.
  size_t depth = 0;
  /// Number of operators so far in the expression of each open bracket, and in
  /// the outermost expression.
  std::vector<size_t> operators;
  /// True if an expression's operand precedes `at`.
  bool afterOperand = false;
};

} // namespace

static bool isWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '.';
}

void NestingCounter::addOperator() {
  ++operators.back();
  ++depth;
  afterOperand = false;
}

void NestingCounter::endExpression() {
  depth -= operators.back();
  operators.back() = 0;
  afterOperand = false;
}

void NestingCounter::addBracket(char c) {
  bool opens = std::string_view("([{<").find(c) != std::string_view::npos;
  if (opens) {
    operators.push_back(0);
    ++depth;
  } else if (operators.size() > 1) {
    endExpression();
    operators.pop_back();
    --depth;
  }
  afterOperand = !opens;
}

/// Skips a string literal, which ends at the end of its line at the latest.
void NestingCounter::skipString() {
  for (++at; at < source.size() && source[at] != '\n'; ++at) {
    if (source[at] == '\\' && peek(1) != '\n') {
      ++at;
    } else if (source[at] == '"') {
      ++at;
      return;
    }
  }
}

/// Skips a name or a number. A sign after a number's e belongs to the number.
void NestingCounter::skipWord() {
  size_t begin = at;
  while (isWordChar(peek()))
    ++at;
  std::string_view word = source.substr(begin, at - begin);
  bool isNumber = word.front() >= '0' && word.front() <= '9';
  if (isNumber && (word.back() == 'e' || word.back() == 'E') &&
      word.find('.') != word.npos && (peek() == '+' || peek() == '-')) {
    ++at;
  }
  if (word == "floordiv" || word == "ceildiv" || word == "mod")
    return addOperator();
  // Two operands in a row are two expressions.
  if (afterOperand)
    endExpression();
  afterOperand = true;
}

void NestingCounter::skipToken() {
  char c = source[at];
  if (c == '"') {
    endExpression();
    return skipString();
  }
  if (isWordChar(c))
    return skipWord();
  if (c == '/' && peek(1) == '/') {
    at = std::min(source.find('\n', at), source.size());
    return;
  }
  // An arrow or a comparison is no bracket.
  if ((c == '-' && peek(1) == '>') ||
      ((c == '<' || c == '>') && peek(1) == '=')) {
    at += 2;
    return endExpression();
  }
  ++at;
  if (std::string_view("()[]{}<>").find(c) != std::string_view::npos)
    addBracket(c);
  else if (c == '+' || c == '-' || c == '*')
    addOperator();
  else if (c == '\n')
    ++line;
  else if (c != ' ' && c != '\t' && c != '\r')
    endExpression();
}

Status NestingCounter::check() {
  while (at < source.size()) {
    skipToken();
    if (depth > kMaxNesting) {
      return invalidArgument("expected at most " + std::to_string(kMaxNesting) +
                             " levels of nesting, got more at line " +
                             std::to_string(line));
    }
  }
  return Status();
}

Status mtp::compiler::checkSource(std::string_view source) {
  if (source.starts_with(kBytecodeMagic)) {
    return invalidArgument("expected MLIR as text, got bytecode; mtp-opt "
                           "prints it as text");
  }
  return NestingCounter(source).check();
}
