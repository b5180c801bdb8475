//===- ExprParser.h - Expressions -------------------------------*- C++ -*-===//
//
// The grammar is Jinja's, rule by rule; a method is a rule.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_JINJA_PARSE_EXPRPARSER_H
#define MTP_RUNTIME_JINJA_PARSE_EXPRPARSER_H

#include "runtime/jinja/parse/Ast.h"
#include "runtime/jinja/parse/Lexer.h"

#include <algorithm>
#include <initializer_list>

namespace mtp::jinja {

class ExprParser {
public:
  explicit ExprParser(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

protected:
  using Parsed = Result<ExprPtr>;

  /// How deep what is parsed may nest.
  static constexpr uint32_t kMaxDepth = 200;

  Parsed parseExpression(bool withConditional = true);
  /// One expression, or a tuple of several with commas.
  Parsed parseTuple(bool withConditional = true, std::string_view endName = {},
                    bool inParens = false);
  /// Filters with a null at the bottom of the chain.
  Parsed parseFilters(ExprPtr operand, bool startsInline = false);

  static Status into(ExprPtr &target, Parsed parsed);

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
  /// "expected `what`, got <the current token> at line, column".
  Status unexpected(std::string_view what) const;
  bool isTupleEnd(std::string_view endName) const;

  /// Counts how deep the rules have gone, while it lives.
  class Nested {
  public:
    explicit Nested(ExprParser &parser) : parser(parser) { ++parser.nesting; }
    ~Nested() { --parser.nesting; }

  private:
    ExprParser &parser;
  };
  Status checkNesting(uint32_t depth) const;
  uint32_t depth() const { return nesting; }

  /// Whether what is parsed now may never run: there Jinja puts up with
  /// filters and tests that do not exist.
  int conditionals = 0;
  /// Names of the macro that is being parsed which it reads.
  std::vector<MacroNode *> macros;

private:
  Parsed parseConditional();
  Parsed parseOr();
  Parsed parseAnd();
  Parsed parseNot();
  Parsed parseCompare();
  Parsed parseSum();
  Parsed parseConcat();
  Parsed parseProduct();
  Parsed parsePower();
  Parsed parseUnary(bool withFilters = true);
  Parsed parsePrimary();
  Parsed parseName();
  Parsed parseList();
  Parsed parseDict();
  Parsed parsePostfix(ExprPtr operand);
  Parsed parseFilterOrTest(ExprPtr operand);
  Parsed parseAttribute(ExprPtr operand);
  Parsed parseSubscript(ExprPtr operand);
  Parsed parseSubscribed(ExprPtr operand);
  Parsed parseCall(ExprPtr operand);
  Parsed parseTest(ExprPtr operand);
  Status parseTestArguments(Expr &test);
  Status parseArguments(std::vector<Argument> &arguments);
  Result<Argument> parseArgument(const std::vector<Argument> &before);
  Result<std::string> parseDottedName();
  template <typename Rule>
  Parsed parseBinary(std::initializer_list<std::string_view> operators,
                     Rule rule);

  ExprPtr make(ExprKind kind, Position position) const;
  /// Adds children and checks how deep the tree gets.
  template <typename... Children>
  Parsed finish(ExprPtr expr, Children... children);
  Parsed checkDepth(ExprPtr expr) const;

  std::vector<Token> tokens;
  size_t at = 0;
  uint32_t nesting = 0;
};

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_PARSE_EXPRPARSER_H
