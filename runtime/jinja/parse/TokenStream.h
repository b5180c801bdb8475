//===- TokenStream.h - The tokens that a parser reads -----------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_PARSE_TOKENSTREAM_H
#define MTP_RUNTIME_JINJA_PARSE_TOKENSTREAM_H

#include "runtime/jinja/parse/Lexer.h"

#include <algorithm>

namespace mtp::jinja {

class TokenStream {
public:
  explicit TokenStream(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

protected:
  /// The limit of the depth of nested rules.
  static constexpr uint32_t kMaxDepth = 200;

  const Token &current() const { return tokens[at]; }
  const Token &ahead() const {
    return tokens[std::min(at + 1, tokens.size() - 1)];
  }
  void advance() { at += at + 1 < tokens.size(); }
  bool isKind(TokenKind kind) const { return current().kind == kind; }
  bool isOperator(std::string_view text) const {
    return isKind(TokenKind::Operator) && current().text == text;
  }
  bool isName(std::string_view text) const {
    return isKind(TokenKind::Name) && current().text == text;
  }
  bool skipOperator(std::string_view text);
  bool skipName(std::string_view text);
  Status expectOperator(std::string_view text);
  Status expectKind(TokenKind kind, std::string_view what);
  Result<Token> expectName();
  Result<std::string> expectDottedName();
  bool isTupleEnd(std::string_view endName) const;
  /// Returns the error "expected `what`, got <the current token> at line,
  /// column".
  Status unexpected(std::string_view what) const;

  /// One level of nested rules, from construction to destruction.
  class Nested {
  public:
    explicit Nested(TokenStream &stream) : stream(stream) { ++stream.nesting; }
    ~Nested() { --stream.nesting; }

  private:
    TokenStream &stream;
  };
  Status checkNesting(uint32_t depth) const;
  uint32_t depth() const { return nesting; }

private:
  std::vector<Token> tokens;
  size_t at = 0;
  uint32_t nesting = 0;
};

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_PARSE_TOKENSTREAM_H
