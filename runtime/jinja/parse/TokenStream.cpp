//===- TokenStream.cpp - The tokens that a parser reads -------------------===//

#include "runtime/jinja/parse/TokenStream.h"

#include "runtime/core/StrCat.h"

using namespace mtp;
using namespace mtp::jinja;

namespace {

std::string describeToken(const Token &token) {
  switch (token.kind) {
  case TokenKind::Data:
    return "text";
  case TokenKind::VariableBegin:
    return "'{{'";
  case TokenKind::VariableEnd:
    return "'}}'";
  case TokenKind::BlockBegin:
    return "'{%'";
  case TokenKind::BlockEnd:
    return "'%}'";
  case TokenKind::String:
    return "a string";
  case TokenKind::End:
    return "the end of the template";
  default:
    return strCat("'", token.text, "'");
  }
}

} // namespace

Status TokenStream::unexpected(std::string_view what) const {
  return failAt(current().position,
                strCat("expected ", what, ", got ", describeToken(current())));
}

Status TokenStream::checkNesting(uint32_t depth) const {
  if (depth <= kMaxDepth)
    return okStatus();
  return failAt(current().position, strCat("expected at most ", kMaxDepth,
                                           " levels of nesting, got more"));
}

bool TokenStream::skipOperator(std::string_view text) {
  if (!isOperator(text))
    return false;
  advance();
  return true;
}

bool TokenStream::skipName(std::string_view text) {
  if (!isName(text))
    return false;
  advance();
  return true;
}

Status TokenStream::expectOperator(std::string_view text) {
  if (skipOperator(text))
    return okStatus();
  return unexpected(strCat("'", text, "'"));
}

Status TokenStream::expectKind(TokenKind kind, std::string_view what) {
  if (!isKind(kind))
    return unexpected(what);
  advance();
  return okStatus();
}

Result<Token> TokenStream::expectName() {
  if (!isKind(TokenKind::Name))
    return unexpected("a name");
  Token token = current();
  advance();
  return token;
}

bool TokenStream::isTupleEnd(std::string_view endName) const {
  return isKind(TokenKind::VariableEnd) || isKind(TokenKind::BlockEnd) ||
         isOperator(")") || (!endName.empty() && isName(endName));
}

Result<std::string> TokenStream::expectDottedName() {
  MTP_ASSIGN_OR_RETURN(Token token, expectName());
  std::string name = std::move(token.text);
  while (skipOperator(".")) {
    MTP_ASSIGN_OR_RETURN(Token part, expectName());
    name += "." + part.text;
  }
  return name;
}
