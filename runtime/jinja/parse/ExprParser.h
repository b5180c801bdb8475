//===- ExprParser.h - Parses expressions ------------------------*- C++ -*-===//
//
// The grammar is Jinja's. Each function of the parser is a rule.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_JINJA_PARSE_EXPRPARSER_H
#define MTP_RUNTIME_JINJA_PARSE_EXPRPARSER_H

#include "runtime/jinja/parse/Ast.h"
#include "runtime/jinja/parse/TokenStream.h"

#include <initializer_list>

namespace mtp::jinja {

/// Moves an expression to `target`, or returns the error.
Status into(ExprPtr &target, Result<ExprPtr> parsed);

/// Parses expressions.
class ExprParser : public TokenStream {
public:
  using TokenStream::TokenStream;

protected:
  using Parsed = Result<ExprPtr>;

  Parsed parseExpression(bool withConditional = true);
  /// Parses one expression, or a tuple of expressions with commas.
  Parsed parseTuple(bool withConditional = true, std::string_view endName = {},
                    bool inParens = false);
  /// Parses a chain of filters. In a filter block the operand is null.
  Parsed parseFilters(ExprPtr operand, bool startsInline);
  Parsed parseFilters(ExprPtr operand) {
    return parseFilters(std::move(operand), /*startsInline=*/false);
  }

  /// The number of conditions around the current token. Inside a condition
  /// Jinja accepts filters and tests that do not exist.
  int conditionals = 0;
  /// The macros around the current token. They record their use of `caller`,
  /// `kwargs` and `varargs`.
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
  Parsed parseUnary();
  Parsed parseSigned();
  Parsed parsePrimary();
  Parsed parseName();
  Parsed parseList();
  Parsed parseDict();
  using SuffixParser = Parsed (ExprParser::*)(ExprPtr operand);
  /// Parses what follows an operand, while next() returns a parser for it.
  template <typename NextFn>
  Parsed parseSuffixes(ExprPtr operand, NextFn next);
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
  using Rule = Parsed (ExprParser::*)();
  /// Parses operands by `rule` and left-associative operators between them.
  Parsed parseBinary(ExprKind kind,
                     std::initializer_list<std::string_view> operators,
                     Rule rule);

  /// Adds children and checks the depth of the tree.
  template <typename... Children>
  Parsed finish(ExprPtr expr, Children... children);
};

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_PARSE_EXPRPARSER_H
