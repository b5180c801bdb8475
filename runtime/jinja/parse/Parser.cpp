//===- Parser.cpp - Parses statements -------------------------------------===//

#include "runtime/jinja/parse/Parser.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/parse/ExprParser.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::jinja;

namespace {

class Parser : public ExprParser {
public:
  using ExprParser::ExprParser;

  Result<ParsedTemplate> run();

private:
  using Statement = std::unique_ptr<Stmt>;
  using Ends = std::initializer_list<std::string_view>;

  /// Parses statements up to a tag with one of these names, which is then the
  /// current token. Without names it parses to the end of the template.
  Result<Body> parseBody(Ends ends);
  /// Parses the end of the tag that starts a body, the body, and the name of
  /// the tag that ends it.
  Result<Body> parseBlock(Ends ends);
  Result<Statement> parseStatement();
  Status parseTag(Stmt &statement);
  Status parseJump(Stmt &statement);
  Status parseIf(Stmt &statement);
  Status parseFor(Stmt &statement);
  Status parseSet(Stmt &statement);
  Status parseMacro(Stmt &statement);
  Status parseCallBlock(Stmt &statement);
  Status parseFilterBlock(Stmt &statement);
  Status parseWith(Stmt &statement);
  Status parseNamedBlock(Stmt &statement);
  Status parseGeneration(Stmt &statement);
  Status parseScope(Stmt &statement, std::string_view end);
  Status parseApart(Stmt &statement, std::string_view end);
  Status parseSignature(MacroNode &macro);
  Status parsePrintTag(Stmt &statement);
  Result<Body> parseMacroBody(MacroNode &macro, std::string_view end);
  Result<Target> parseTarget(bool withNamespace, std::string_view endName);
  Result<Target> parseOneTarget(bool withNamespace);

  Status endTag() { return expectKind(TokenKind::BlockEnd, "'%}'"); }

  Blocks blocks;
  int loops = 0;
};

Result<ParsedTemplate> Parser::run() {
  MTP_ASSIGN_OR_RETURN(Body body, parseBody({}));
  return ParsedTemplate{std::move(body), std::move(blocks)};
}

Result<Body> Parser::parseBody(Ends ends) {
  Nested nested(*this);
  MTP_RETURN_IF_ERROR(checkNesting(depth()));
  Body body;
  while (!isKind(TokenKind::End)) {
    if (isKind(TokenKind::BlockBegin) && ahead().kind == TokenKind::Name &&
        std::find(ends.begin(), ends.end(), ahead().text) != ends.end()) {
      advance();
      return body;
    }
    MTP_ASSIGN_OR_RETURN(Statement statement, parseStatement());
    body.push_back(std::move(statement));
  }
  if (ends.size() == 0)
    return body;
  std::string names;
  for (std::string_view end : ends)
    names += strCat(names.empty() ? "'" : " or '", end, "'");
  return unexpected(names);
}

Result<Body> Parser::parseBlock(Ends ends) {
  skipOperator(":");
  MTP_RETURN_IF_ERROR(endTag());
  return parseBody(ends);
}

Result<std::unique_ptr<Stmt>> Parser::parseStatement() {
  auto statement = std::make_unique<Stmt>();
  statement->position = current().position;
  if (isKind(TokenKind::Data)) {
    statement->kind = StmtKind::Text;
    statement->text = current().text;
    advance();
    return statement;
  }
  if (isKind(TokenKind::VariableBegin)) {
    statement->kind = StmtKind::Print;
    advance();
    MTP_ASSIGN_OR_RETURN(statement->expr, parseTuple());
    MTP_RETURN_IF_ERROR(expectKind(TokenKind::VariableEnd, "'}}'"));
    return statement;
  }
  MTP_RETURN_IF_ERROR(expectKind(TokenKind::BlockBegin, "text or a tag"));
  statement->position = current().position;
  if (!isKind(TokenKind::Name))
    return unexpected("the name of a tag");
  MTP_RETURN_IF_ERROR(parseTag(*statement));
  MTP_RETURN_IF_ERROR(endTag());
  return statement;
}

Status Parser::parseTag(Stmt &statement) {
  static constexpr std::pair<std::string_view, Status (Parser::*)(Stmt &)>
      kTags[] = {{"block", &Parser::parseNamedBlock},
                 {"break", &Parser::parseJump},
                 {"call", &Parser::parseCallBlock},
                 {"continue", &Parser::parseJump},
                 {"filter", &Parser::parseFilterBlock},
                 {"for", &Parser::parseFor},
                 {"generation", &Parser::parseGeneration},
                 {"if", &Parser::parseIf},
                 {"macro", &Parser::parseMacro},
                 {"print", &Parser::parsePrintTag},
                 {"set", &Parser::parseSet},
                 {"with", &Parser::parseWith}};
  for (const auto &[name, rule] : kTags)
    if (isName(name)) {
      statement.kind = name == "break" ? StmtKind::Break : StmtKind::Continue;
      advance();
      return (this->*rule)(statement);
    }
  return unexpected("a tag");
}

Status Parser::parseJump(Stmt &statement) {
  if (loops > 0)
    return okStatus();
  return failAt(statement.position,
                strCat("expected '",
                       statement.kind == StmtKind::Break ? "break" : "continue",
                       "' in a loop, got it outside"));
}

Status Parser::parsePrintTag(Stmt &statement) {
  // The output equals the concatenation of the values.
  statement.kind = StmtKind::Print;
  auto concat = std::make_unique<Expr>();
  concat->kind = ExprKind::Concat;
  concat->position = statement.position;
  while (!isKind(TokenKind::BlockEnd)) {
    if (!concat->children.empty())
      MTP_RETURN_IF_ERROR(expectOperator(","));
    MTP_ASSIGN_OR_RETURN(ExprPtr value, parseExpression());
    concat->children.push_back(std::move(value));
  }
  statement.expr = std::move(concat);
  return okStatus();
}

Status Parser::parseIf(Stmt &statement) {
  statement.kind = StmtKind::If;
  std::string tag = "if";
  while (true) {
    Branch branch;
    if (tag != "else")
      MTP_RETURN_IF_ERROR(
          into(branch.condition, parseTuple(/*withConditional=*/false)));
    ++conditionals;
    MTP_ASSIGN_OR_RETURN(branch.body,
                         tag == "else" ? parseBlock({"endif"})
                                       : parseBlock({"elif", "else", "endif"}));
    --conditionals;
    statement.branches.push_back(std::move(branch));
    tag = current().text;
    advance();
    if (tag == "endif")
      return okStatus();
  }
}

Status Parser::parseFor(Stmt &statement) {
  statement.kind = StmtKind::For;
  MTP_ASSIGN_OR_RETURN(statement.target, parseTarget(false, "in"));
  if (!skipName("in"))
    return unexpected("'in'");
  MTP_ASSIGN_OR_RETURN(statement.expr,
                       parseTuple(/*withConditional=*/false, "recursive"));
  if (skipName("if"))
    MTP_RETURN_IF_ERROR(into(statement.filter, parseExpression()));
  statement.isRecursive = skipName("recursive");
  ++loops;
  auto body = parseBlock({"endfor", "else"});
  --loops;
  if (!body.isOk())
    return body.status();
  statement.body = *std::move(body);
  bool hasElse = isName("else");
  advance();
  if (!hasElse)
    return okStatus();
  MTP_ASSIGN_OR_RETURN(statement.otherwise, parseBlock({"endfor"}));
  advance();
  return okStatus();
}

Status Parser::parseSet(Stmt &statement) {
  MTP_ASSIGN_OR_RETURN(statement.target, parseTarget(true, {}));
  if (skipOperator("=")) {
    statement.kind = StmtKind::Set;
    MTP_ASSIGN_OR_RETURN(statement.expr, parseTuple());
    return okStatus();
  }
  statement.kind = StmtKind::SetBlock;
  MTP_ASSIGN_OR_RETURN(statement.expr, parseFilters(nullptr));
  return parseApart(statement, "endset");
}

Status Parser::parseSignature(MacroNode &macro) {
  MTP_RETURN_IF_ERROR(expectOperator("("));
  while (!isOperator(")")) {
    if (!macro.parameters.empty())
      MTP_RETURN_IF_ERROR(expectOperator(","));
    MTP_ASSIGN_OR_RETURN(Token name, expectName());
    if (std::find(macro.parameters.begin(), macro.parameters.end(),
                  name.text) != macro.parameters.end())
      return failAt(name.position,
                    strCat("expected parameters of different names, got '",
                           name.text, "' again"));
    macro.parameters.push_back(std::move(name.text));
    if (skipOperator("=")) {
      MTP_ASSIGN_OR_RETURN(ExprPtr value, parseExpression());
      macro.defaults.push_back(std::move(value));
    } else if (!macro.defaults.empty()) {
      return unexpected("'=' and a default");
    }
  }
  return expectOperator(")");
}

Result<Body> Parser::parseMacroBody(MacroNode &macro, std::string_view end) {
  int outer = std::exchange(loops, 0);
  macros.push_back(&macro);
  auto body = parseBlock({end});
  macros.pop_back();
  loops = outer;
  if (body.isOk())
    advance();
  // A parameter of that name hides the special variable.
  for (const std::string &parameter : macro.parameters) {
    macro.takesCaller &= parameter != "caller";
    macro.takesKwargs &= parameter != "kwargs";
    macro.takesVarargs &= parameter != "varargs";
  }
  return body;
}

Status Parser::parseMacro(Stmt &statement) {
  statement.kind = StmtKind::Macro;
  statement.macro = std::make_unique<MacroNode>();
  MacroNode &macro = *statement.macro;
  MTP_ASSIGN_OR_RETURN(Token name, expectName());
  macro.name = std::move(name.text);
  MTP_RETURN_IF_ERROR(parseSignature(macro));
  MTP_ASSIGN_OR_RETURN(macro.body, parseMacroBody(macro, "endmacro"));
  return okStatus();
}

Status Parser::parseCallBlock(Stmt &statement) {
  statement.kind = StmtKind::Call;
  statement.macro = std::make_unique<MacroNode>();
  MacroNode &macro = *statement.macro;
  macro.name = "caller";
  if (isOperator("("))
    MTP_RETURN_IF_ERROR(parseSignature(macro));
  MTP_ASSIGN_OR_RETURN(statement.expr, parseExpression());
  if (statement.expr->kind != ExprKind::Call)
    return failAt(statement.expr->position,
                  "expected a call, got another expression");
  MTP_ASSIGN_OR_RETURN(macro.body, parseMacroBody(macro, "endcall"));
  return okStatus();
}

Status Parser::parseFilterBlock(Stmt &statement) {
  statement.kind = StmtKind::Filter;
  MTP_ASSIGN_OR_RETURN(statement.expr,
                       parseFilters(nullptr, /*startsInline=*/true));
  return parseApart(statement, "endfilter");
}

Status Parser::parseWith(Stmt &statement) {
  statement.kind = StmtKind::With;
  while (!isKind(TokenKind::BlockEnd)) {
    if (!statement.bindings.empty())
      MTP_RETURN_IF_ERROR(expectOperator(","));
    Binding binding;
    MTP_ASSIGN_OR_RETURN(binding.target, parseOneTarget(false));
    MTP_RETURN_IF_ERROR(expectOperator("="));
    MTP_ASSIGN_OR_RETURN(binding.value, parseExpression());
    statement.bindings.push_back(std::move(binding));
  }
  MTP_ASSIGN_OR_RETURN(statement.body, parseBlock({"endwith"}));
  advance();
  return okStatus();
}

Status Parser::parseNamedBlock(Stmt &statement) {
  MTP_ASSIGN_OR_RETURN(Token name, expectName());
  if (!blocks.emplace(name.text, &statement).second)
    return failAt(name.position,
                  strCat("expected blocks of different names, got '", name.text,
                         "' again"));
  statement.isGlobal = !skipName("scoped");
  skipName("required");
  MTP_RETURN_IF_ERROR(parseScope(statement, "endblock"));
  skipName(name.text);
  return okStatus();
}

Status Parser::parseGeneration(Stmt &statement) {
  return parseScope(statement, "endgeneration");
}

Status Parser::parseScope(Stmt &statement, std::string_view end) {
  statement.kind = StmtKind::Scope;
  return parseApart(statement, end);
}

/// Parses a body and its end tag. `break` and `continue` cannot leave the body.
Status Parser::parseApart(Stmt &statement, std::string_view end) {
  int outer = std::exchange(loops, 0);
  MTP_ASSIGN_OR_RETURN(statement.body, parseBlock({end}));
  loops = outer;
  advance();
  return okStatus();
}

Result<Target> Parser::parseOneTarget(bool withNamespace) {
  Nested nested(*this);
  Target target;
  target.position = current().position;
  if (skipOperator("(")) {
    MTP_ASSIGN_OR_RETURN(target, parseTarget(withNamespace, {}));
    MTP_RETURN_IF_ERROR(expectOperator(")"));
    return target;
  }
  MTP_ASSIGN_OR_RETURN(Token name, expectName());
  static constexpr std::string_view kConstants[] = {"true",  "True", "false",
                                                    "False", "none", "None"};
  if (std::find(std::begin(kConstants), std::end(kConstants), name.text) !=
      std::end(kConstants))
    return failAt(name.position, strCat("expected a name to assign to, got '",
                                        name.text, "'"));
  target.name = std::move(name.text);
  if (withNamespace && skipOperator(".")) {
    MTP_ASSIGN_OR_RETURN(Token attribute, expectName());
    target.attribute = std::move(attribute.text);
  }
  return target;
}

Result<Target> Parser::parseTarget(bool withNamespace,
                                   std::string_view endName) {
  Nested nested(*this);
  MTP_RETURN_IF_ERROR(checkNesting(depth()));
  MTP_ASSIGN_OR_RETURN(Target first, parseOneTarget(withNamespace));
  if (!isOperator(","))
    return first;
  Target tuple;
  tuple.position = first.position;
  tuple.parts.push_back(std::move(first));
  while (skipOperator(",")) {
    if (isTupleEnd(endName) || isOperator("="))
      break;
    MTP_ASSIGN_OR_RETURN(Target next, parseOneTarget(withNamespace));
    tuple.parts.push_back(std::move(next));
  }
  return tuple;
}

} // namespace

Result<ParsedTemplate> jinja::parseTemplate(std::string_view source) {
  MTP_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens)).run();
}
