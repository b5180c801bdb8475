//===- ExprParser.cpp - Parses expressions --------------------------------===//

#include "runtime/jinja/parse/ExprParser.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/builtins/Filters.h"
#include "runtime/jinja/builtins/Tests.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::jinja;

namespace {

ExprPtr make(ExprKind kind, Position position) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->position = position;
  return expr;
}

} // namespace

Status jinja::into(ExprPtr &target, Result<ExprPtr> parsed) {
  MTP_ASSIGN_OR_RETURN(target, std::move(parsed));
  return okStatus();
}

template <typename... Children>
Result<ExprPtr> ExprParser::finish(ExprPtr expr, Children... children) {
  (expr->children.push_back(std::move(children)), ...);
  uint32_t depth = 0;
  for (const ExprPtr &child : expr->children)
    if (child)
      depth = std::max(depth, child->depth);
  for (const Argument &argument : expr->arguments)
    depth = std::max(depth, argument.value->depth);
  expr->depth = depth + 1;
  MTP_RETURN_IF_ERROR(checkNesting(expr->depth));
  return expr;
}

Result<ExprPtr> ExprParser::parseExpression(bool withConditional) {
  Nested nested(*this);
  MTP_RETURN_IF_ERROR(checkNesting(depth()));
  return withConditional ? parseConditional() : parseOr();
}

Result<ExprPtr> ExprParser::parseConditional() {
  Position position = current().position;
  ++conditionals;
  auto value = parseOr();
  while (value.isOk() && skipName("if")) {
    auto condition = parseOr();
    if (!condition.isOk())
      return condition;
    ExprPtr other;
    if (skipName("else")) {
      Nested nested(*this);
      MTP_RETURN_IF_ERROR(checkNesting(depth()));
      MTP_ASSIGN_OR_RETURN(other, parseConditional());
    }
    value = finish(make(ExprKind::Conditional, position), *std::move(value),
                   *std::move(condition), std::move(other));
  }
  --conditionals;
  return value;
}

Result<ExprPtr>
ExprParser::parseBinary(ExprKind kind,
                        std::initializer_list<std::string_view> operators,
                        Rule rule) {
  MTP_ASSIGN_OR_RETURN(ExprPtr left, (this->*rule)());
  auto isOne = [&](std::string_view op) {
    return isOperator(op) || isName(op);
  };
  while (std::any_of(operators.begin(), operators.end(), isOne)) {
    ExprPtr expr = make(kind, current().position);
    expr->name = current().text;
    advance();
    MTP_ASSIGN_OR_RETURN(ExprPtr right, (this->*rule)());
    MTP_ASSIGN_OR_RETURN(
        left, finish(std::move(expr), std::move(left), std::move(right)));
  }
  return left;
}

Result<ExprPtr> ExprParser::parseOr() {
  return parseBinary(ExprKind::Or, {"or"}, &ExprParser::parseAnd);
}

Result<ExprPtr> ExprParser::parseAnd() {
  return parseBinary(ExprKind::And, {"and"}, &ExprParser::parseNot);
}

Result<ExprPtr> ExprParser::parseNot() {
  if (!isName("not"))
    return parseCompare();
  Nested nested(*this);
  MTP_RETURN_IF_ERROR(checkNesting(depth()));
  ExprPtr expr = make(ExprKind::Not, current().position);
  advance();
  MTP_ASSIGN_OR_RETURN(ExprPtr operand, parseNot());
  return finish(std::move(expr), std::move(operand));
}

Result<ExprPtr> ExprParser::parseCompare() {
  MTP_ASSIGN_OR_RETURN(ExprPtr left, parseSum());
  ExprPtr expr = make(ExprKind::Compare, current().position);
  while (true) {
    static constexpr std::string_view kOperators[] = {"==", "!=", "<",
                                                      "<=", ">",  ">="};
    bool isSymbol = isKind(TokenKind::Operator) &&
                    std::find(std::begin(kOperators), std::end(kOperators),
                              current().text) != std::end(kOperators);
    bool isNotIn = isName("not") && ahead().kind == TokenKind::Name &&
                   ahead().text == "in";
    if (!isSymbol && !isName("in") && !isNotIn)
      break;
    expr->operators.push_back(isNotIn ? "not in" : current().text);
    advance();
    if (isNotIn)
      advance();
    if (expr->children.empty())
      expr->children.push_back(std::move(left));
    MTP_ASSIGN_OR_RETURN(ExprPtr right, parseSum());
    expr->children.push_back(std::move(right));
  }
  return expr->children.empty() ? Parsed(std::move(left))
                                : finish(std::move(expr));
}

Result<ExprPtr> ExprParser::parseSum() {
  return parseBinary(ExprKind::Binary, {"+", "-"}, &ExprParser::parseConcat);
}

Result<ExprPtr> ExprParser::parseConcat() {
  MTP_ASSIGN_OR_RETURN(ExprPtr first, parseProduct());
  if (!isOperator("~"))
    return first;
  ExprPtr expr = make(ExprKind::Concat, current().position);
  expr->children.push_back(std::move(first));
  while (skipOperator("~")) {
    MTP_ASSIGN_OR_RETURN(ExprPtr next, parseProduct());
    expr->children.push_back(std::move(next));
  }
  return finish(std::move(expr));
}

Result<ExprPtr> ExprParser::parseProduct() {
  return parseBinary(ExprKind::Binary, {"*", "/", "//", "%"},
                     &ExprParser::parsePower);
}

Result<ExprPtr> ExprParser::parsePower() {
  return parseBinary(ExprKind::Binary, {"**"}, &ExprParser::parseUnary);
}

Result<ExprPtr> ExprParser::parseUnary() {
  MTP_ASSIGN_OR_RETURN(ExprPtr operand, parseSigned());
  return parseFilterOrTest(std::move(operand));
}

Result<ExprPtr> ExprParser::parseSigned() {
  Nested nested(*this);
  MTP_RETURN_IF_ERROR(checkNesting(depth()));
  ExprPtr expr;
  if (isOperator("-") || isOperator("+")) {
    expr = make(isOperator("-") ? ExprKind::Negate : ExprKind::Plus,
                current().position);
    advance();
    MTP_ASSIGN_OR_RETURN(ExprPtr operand, parseSigned());
    MTP_ASSIGN_OR_RETURN(expr, finish(std::move(expr), std::move(operand)));
  } else {
    MTP_RETURN_IF_ERROR(into(expr, parsePrimary()));
  }
  return parsePostfix(std::move(expr));
}

Result<ExprPtr> ExprParser::parseName() {
  Token token = current();
  advance();
  const std::string &name = token.text;
  ExprPtr expr = make(ExprKind::Constant, token.position);
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    expr->constant = Value(name == "true" || name == "True");
    return expr;
  }
  if (name == "none" || name == "None")
    return expr;
  expr->kind = ExprKind::Name;
  expr->name = name;
  for (MacroNode *macro : macros) {
    macro->takesCaller |= name == "caller";
    macro->takesKwargs |= name == "kwargs";
    macro->takesVarargs |= name == "varargs";
  }
  return expr;
}

Result<ExprPtr> ExprParser::parsePrimary() {
  Token token = current();
  ExprPtr expr = make(ExprKind::Constant, token.position);
  switch (token.kind) {
  case TokenKind::Name:
    return parseName();
  case TokenKind::String: {
    std::string text;
    for (; isKind(TokenKind::String); advance())
      text += current().text;
    expr->constant = Value(std::move(text));
    return expr;
  }
  case TokenKind::Integer:
    advance();
    expr->constant = Value(token.integer);
    return expr;
  case TokenKind::Float:
    advance();
    expr->constant = Value(token.real);
    return expr;
  default:
    break;
  }
  if (isOperator("["))
    return parseList();
  if (isOperator("{"))
    return parseDict();
  if (!skipOperator("("))
    return unexpected("an expression");
  MTP_ASSIGN_OR_RETURN(expr, parseTuple(true, {}, /*inParens=*/true));
  MTP_RETURN_IF_ERROR(expectOperator(")"));
  return expr;
}

Result<ExprPtr> ExprParser::parseTuple(bool withConditional,
                                       std::string_view endName,
                                       bool inParens) {
  ExprPtr tuple = make(ExprKind::Tuple, current().position);
  bool isTuple = false;
  while (!isTupleEnd(endName)) {
    MTP_ASSIGN_OR_RETURN(ExprPtr item, parseExpression(withConditional));
    tuple->children.push_back(std::move(item));
    if (!isOperator(","))
      break;
    isTuple = true;
    advance();
  }
  if (isTuple || (tuple->children.empty() && inParens))
    return finish(std::move(tuple));
  if (tuple->children.empty())
    return unexpected("an expression");
  return std::move(tuple->children[0]);
}

Result<ExprPtr> ExprParser::parseList() {
  ExprPtr list = make(ExprKind::List, current().position);
  advance();
  while (!isOperator("]")) {
    if (!list->children.empty())
      MTP_RETURN_IF_ERROR(expectOperator(","));
    if (isOperator("]"))
      break;
    MTP_ASSIGN_OR_RETURN(ExprPtr item, parseExpression());
    list->children.push_back(std::move(item));
  }
  MTP_RETURN_IF_ERROR(expectOperator("]"));
  return finish(std::move(list));
}

Result<ExprPtr> ExprParser::parseDict() {
  ExprPtr dict = make(ExprKind::Dict, current().position);
  advance();
  while (!isOperator("}")) {
    if (!dict->children.empty())
      MTP_RETURN_IF_ERROR(expectOperator(","));
    if (isOperator("}"))
      break;
    MTP_ASSIGN_OR_RETURN(ExprPtr key, parseExpression());
    MTP_RETURN_IF_ERROR(expectOperator(":"));
    MTP_ASSIGN_OR_RETURN(ExprPtr value, parseExpression());
    dict->children.push_back(std::move(key));
    dict->children.push_back(std::move(value));
  }
  MTP_RETURN_IF_ERROR(expectOperator("}"));
  return finish(std::move(dict));
}

template <typename NextFn>
Result<ExprPtr> ExprParser::parseSuffixes(ExprPtr operand, NextFn next) {
  while (true) {
    SuffixParser parse = next();
    if (!parse)
      return operand;
    MTP_ASSIGN_OR_RETURN(operand, (this->*parse)(std::move(operand)));
  }
}

Result<ExprPtr> ExprParser::parsePostfix(ExprPtr operand) {
  return parseSuffixes(std::move(operand), [this]() -> SuffixParser {
    if (isOperator("."))
      return &ExprParser::parseAttribute;
    if (isOperator("["))
      return &ExprParser::parseSubscript;
    return isOperator("(") ? &ExprParser::parseCall : nullptr;
  });
}

Result<ExprPtr> ExprParser::parseFilterOrTest(ExprPtr operand) {
  return parseSuffixes(std::move(operand), [this]() -> SuffixParser {
    if (isOperator("|"))
      return &ExprParser::parseFilters;
    if (isName("is"))
      return &ExprParser::parseTest;
    return isOperator("(") ? &ExprParser::parseCall : nullptr;
  });
}

Result<ExprPtr> ExprParser::parseAttribute(ExprPtr operand) {
  Position position = current().position;
  advance();
  if (isKind(TokenKind::Integer)) {
    ExprPtr index = make(ExprKind::Constant, current().position);
    index->constant = Value(current().integer);
    advance();
    return finish(make(ExprKind::Item, position), std::move(operand),
                  std::move(index));
  }
  MTP_ASSIGN_OR_RETURN(Token name, expectName());
  ExprPtr expr = make(ExprKind::Attribute, position);
  expr->name = std::move(name.text);
  return finish(std::move(expr), std::move(operand));
}

Result<ExprPtr> ExprParser::parseSubscript(ExprPtr operand) {
  Position position = current().position;
  advance();
  if (isOperator("]"))
    return unexpected("an index");
  MTP_ASSIGN_OR_RETURN(ExprPtr item, parseSubscribed(std::move(operand)));
  if (isOperator(",")) {
    if (item->kind == ExprKind::Slice)
      return unexpected("one slice");
    ExprPtr tuple = make(ExprKind::Tuple, position);
    tuple->children.push_back(std::move(item->children[1]));
    while (skipOperator(",")) {
      MTP_ASSIGN_OR_RETURN(ExprPtr next, parseExpression());
      tuple->children.push_back(std::move(next));
    }
    MTP_ASSIGN_OR_RETURN(item->children[1], finish(std::move(tuple)));
  }
  MTP_RETURN_IF_ERROR(expectOperator("]"));
  return finish(std::move(item));
}

Result<ExprPtr> ExprParser::parseSubscribed(ExprPtr operand) {
  Position position = current().position;
  ExprPtr parts[3];
  if (!isOperator(":")) {
    MTP_ASSIGN_OR_RETURN(parts[0], parseExpression());
    if (!isOperator(":"))
      return finish(make(ExprKind::Item, position), std::move(operand),
                    std::move(parts[0]));
  }
  for (int i = 1; i < 3 && skipOperator(":"); ++i)
    if (!isOperator(":") && !isOperator("]") && !isOperator(","))
      MTP_RETURN_IF_ERROR(into(parts[i], parseExpression()));
  return finish(make(ExprKind::Slice, position), std::move(operand),
                std::move(parts[0]), std::move(parts[1]), std::move(parts[2]));
}

Result<Argument>
ExprParser::parseArgument(const std::vector<Argument> &before) {
  Argument argument;
  argument.kind = Argument::Positional;
  bool isNamed = isKind(TokenKind::Name) &&
                 ahead().kind == TokenKind::Operator && ahead().text == "=";
  if (isOperator("*"))
    argument.kind = Argument::Star;
  else if (isOperator("**"))
    argument.kind = Argument::DoubleStar;
  else if (isNamed)
    argument.kind = Argument::Named;
  // The order: positional arguments, then named ones. One * may come before one
  // **.
  for (const Argument &other : before)
    if (other.kind == Argument::DoubleStar ||
        (argument.kind == Argument::Positional &&
         other.kind != Argument::Positional) ||
        (argument.kind == Argument::Star && other.kind == Argument::Star))
      return unexpected("another order of arguments");
  if (argument.kind == Argument::Named) {
    argument.name = current().text;
    advance();
  }
  if (argument.kind != Argument::Positional)
    advance();
  MTP_ASSIGN_OR_RETURN(argument.value, parseExpression());
  return argument;
}

Status ExprParser::parseArguments(std::vector<Argument> &arguments) {
  MTP_RETURN_IF_ERROR(expectOperator("("));
  while (!isOperator(")")) {
    if (!arguments.empty())
      MTP_RETURN_IF_ERROR(expectOperator(","));
    if (isOperator(")"))
      break;
    MTP_ASSIGN_OR_RETURN(Argument argument, parseArgument(arguments));
    arguments.push_back(std::move(argument));
  }
  return expectOperator(")");
}

Result<ExprPtr> ExprParser::parseCall(ExprPtr operand) {
  ExprPtr call = make(ExprKind::Call, current().position);
  MTP_RETURN_IF_ERROR(parseArguments(call->arguments));
  return finish(std::move(call), std::move(operand));
}

Result<ExprPtr> ExprParser::parseFilters(ExprPtr operand, bool startsInline) {
  while (isOperator("|") || startsInline) {
    if (!startsInline)
      advance();
    startsInline = false;
    ExprPtr filter = make(ExprKind::Filter, current().position);
    MTP_ASSIGN_OR_RETURN(filter->name, expectDottedName());
    if (!findFilter(filter->name) && conditionals == 0)
      return failAt(filter->position,
                    strCat("expected a filter, got '", filter->name, "'"));
    if (isOperator("("))
      MTP_RETURN_IF_ERROR(parseArguments(filter->arguments));
    MTP_ASSIGN_OR_RETURN(operand,
                         finish(std::move(filter), std::move(operand)));
  }
  return operand;
}

Status ExprParser::parseTestArguments(Expr &test) {
  if (isOperator("("))
    return parseArguments(test.arguments);
  bool startsValue = isKind(TokenKind::Name) || isKind(TokenKind::String) ||
                     isKind(TokenKind::Integer) || isKind(TokenKind::Float) ||
                     isOperator("[") || isOperator("{");
  if (!startsValue || isName("else") || isName("or") || isName("and"))
    return okStatus();
  if (isName("is"))
    return unexpected("one test");
  // Like Jinja, this takes the `if` of a conditional for an argument.
  MTP_ASSIGN_OR_RETURN(ExprPtr value, parsePrimary());
  MTP_ASSIGN_OR_RETURN(value, parsePostfix(std::move(value)));
  Argument argument;
  argument.kind = Argument::Positional;
  argument.value = std::move(value);
  test.arguments.push_back(std::move(argument));
  return okStatus();
}

Result<ExprPtr> ExprParser::parseTest(ExprPtr operand) {
  Position position = current().position;
  advance();
  bool isNegated = skipName("not");
  ExprPtr test = make(ExprKind::Test, current().position);
  MTP_ASSIGN_OR_RETURN(test->name, expectDottedName());
  if (!findTest(test->name) && conditionals == 0)
    return failAt(test->position,
                  strCat("expected a test, got '", test->name, "'"));
  MTP_RETURN_IF_ERROR(parseTestArguments(*test));
  MTP_ASSIGN_OR_RETURN(ExprPtr expr,
                       finish(std::move(test), std::move(operand)));
  if (!isNegated)
    return expr;
  return finish(make(ExprKind::Not, position), std::move(expr));
}
