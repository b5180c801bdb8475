//===- Lexer.cpp - Converts source to tokens ------------------------------===//
//
// Follows the order of the rules of Jinja's lexer, which decides about white
// space.
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/parse/Lexer.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/parse/Literals.h"
#include "runtime/jinja/value/Characters.h"
#include "runtime/utf8/Utf8.h"

#include <array>

using namespace mtp;
using namespace mtp::jinja;

namespace {

constexpr size_t npos = std::string_view::npos;

/// Returns the source with Unix line ends and without the last one.
std::string normalizeLines(std::string_view source) {
  std::string lines;
  lines.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      lines.push_back(source[i]);
      continue;
    }
    lines.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n')
      ++i;
  }
  if (!lines.empty() && lines.back() == '\n')
    lines.pop_back();
  return lines;
}

class Lexer {
public:
  explicit Lexer(std::string_view source) : source(source) {}

  Result<std::vector<Token>> run();

private:
  Status lexTag();
  Status lexComment();
  Status lexRaw(size_t bodyStart);
  Status lexCode(bool isBlock);
  Status lexWord();
  Status lexString();
  Status lexOperator();
  bool lexEnd(bool isBlock);

  /// Returns the text in front of a tag without the white space that the tag's
  /// sign removes.
  std::string_view strip(std::string_view text, char sign, bool isVariable);
  /// Returns the start of the body if a raw tag is here, or npos.
  size_t findRawBody() const;
  /// Returns the end of a tag or comment if `closing` is at `at`, or npos.
  size_t endOfTag(size_t at, std::string_view closing, bool mayKeep) const;
  size_t skipSpace(size_t at) const;

  Position positionAt(size_t at);
  void add(TokenKind kind, std::string text, size_t at);
  void addData(std::string_view text, size_t at) {
    if (!text.empty())
      add(TokenKind::Data, std::string(text), at);
  }
  std::string_view rest() const { return source.substr(pos); }
  bool startsWith(size_t at, std::string_view text) const {
    return source.substr(at, text.size()) == text;
  }

  std::string_view source;
  size_t pos = 0;
  /// Whether the last match ended with a line end.
  bool isLineStart = true;
  std::string open; ///< The closing brackets that must follow.
  std::vector<Token> tokens;
  size_t counted = 0;
  Position current;
};

Position Lexer::positionAt(size_t at) {
  for (; counted < at; ++counted) {
    if (source[counted] == '\n') {
      ++current.line;
      current.column = 1;
    } else if ((source[counted] & 0xC0) != 0x80) {
      ++current.column;
    }
  }
  return current;
}

void Lexer::add(TokenKind kind, std::string text, size_t at) {
  Token token;
  token.kind = kind;
  token.text = std::move(text);
  token.position = positionAt(at);
  tokens.push_back(std::move(token));
}

size_t Lexer::skipSpace(size_t at) const {
  return source.size() - stripLeft(source.substr(at)).size();
}

std::string_view Lexer::strip(std::string_view text, char sign,
                              bool isVariable) {
  if (sign == '-')
    return stripRight(text);
  if (sign == '+' || isVariable)
    return text;
  size_t newline = text.rfind('\n');
  size_t lineStart = newline == npos ? 0 : newline + 1;
  if (lineStart == 0 && !isLineStart)
    return text;
  std::string_view indent = text.substr(lineStart);
  return stripLeft(indent).empty() ? text.substr(0, lineStart) : text;
}

size_t Lexer::findRawBody() const {
  size_t at = pos + 2;
  if (at < source.size() && (source[at] == '-' || source[at] == '+'))
    ++at;
  at = skipSpace(at);
  if (!startsWith(at, "raw"))
    return npos;
  at = skipSpace(at + 3);
  if (startsWith(at, "-%}"))
    return skipSpace(at + 3);
  return startsWith(at, "%}") ? at + 2 : npos;
}

size_t Lexer::endOfTag(size_t at, std::string_view closing,
                       bool mayKeep) const {
  if (startsWith(at, "-") && startsWith(at + 1, closing))
    return skipSpace(at + 1 + closing.size());
  if (mayKeep && startsWith(at, "+") && startsWith(at + 1, closing))
    return at + 1 + closing.size();
  if (!startsWith(at, closing))
    return npos;
  at += closing.size();
  return mayKeep && startsWith(at, "\n") ? at + 1 : at;
}

Status Lexer::lexComment() {
  size_t start = pos;
  for (size_t at = start; at < source.size(); ++at) {
    size_t end = endOfTag(at, "#}", /*mayKeep=*/true);
    if (end == npos)
      continue;
    pos = end;
    isLineStart = source[end - 1] == '\n';
    return okStatus();
  }
  return failAt(positionAt(start - 2),
                "expected '#}' to end the comment that starts, got the end of "
                "the template");
}

Status Lexer::lexRaw(size_t bodyStart) {
  size_t tagStart = pos;
  isLineStart = source[bodyStart - 1] == '\n';
  for (size_t at = source.find("{%", bodyStart); at != npos;
       at = source.find("{%", at + 1)) {
    size_t word = at + 2;
    char sign = word < source.size() ? source[word] : ' ';
    if (sign == '-' || sign == '+')
      ++word;
    word = skipSpace(word);
    if (!startsWith(word, "endraw"))
      continue;
    size_t end = endOfTag(skipSpace(word + 6), "%}", /*mayKeep=*/true);
    if (end == npos)
      continue;
    std::string_view body = source.substr(bodyStart, at - bodyStart);
    addData(strip(body, sign, /*isVariable=*/false), bodyStart);
    pos = end;
    isLineStart = source[end - 1] == '\n';
    return okStatus();
  }
  return failAt(positionAt(tagStart),
                "expected 'endraw' for the 'raw' that starts, got the end of "
                "the template");
}

bool Lexer::lexEnd(bool isBlock) {
  if (!open.empty())
    return false;
  size_t end = endOfTag(pos, isBlock ? "%}" : "}}", isBlock);
  if (end == npos)
    return false;
  add(isBlock ? TokenKind::BlockEnd : TokenKind::VariableEnd, "", pos);
  pos = end;
  isLineStart = source[end - 1] == '\n';
  return true;
}

Status Lexer::lexString() {
  size_t start = pos;
  char quote = source[pos];
  size_t at = pos + 1;
  while (at < source.size() && source[at] != quote)
    at += source[at] == '\\' ? 2 : 1;
  if (at >= source.size())
    return failAt(positionAt(start), "expected the end of the string that "
                                     "starts, got the end of the template");
  auto text = unescape(source.substr(start + 1, at - start - 1));
  if (!text.isOk())
    return failAt(positionAt(start), std::string(text.status().message()));
  add(TokenKind::String, *std::move(text), start);
  pos = at + 1;
  return okStatus();
}

Status Lexer::lexOperator() {
  static constexpr std::array<std::string_view, 26> kOperators = {
      "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
      "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
  for (std::string_view candidate : kOperators) {
    if (!startsWith(pos, candidate))
      continue;
    char c = candidate[0];
    if (c == '(' || c == '[' || c == '{')
      open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c)
        return failAt(
            positionAt(pos),
            open.empty()
                ? strCat("expected an expression, got '", candidate, "'")
                : strCat("expected '", open.substr(open.size() - 1), "', got '",
                         candidate, "'"));
      open.pop_back();
    }
    add(TokenKind::Operator, std::string(candidate), pos);
    pos += candidate.size();
    return okStatus();
  }
  return failAt(positionAt(pos),
                strCat("expected an expression, got '",
                       source.substr(pos, utf8Length(source, pos)), "'"));
}

Status Lexer::lexWord() {
  bool isAfterDot = pos > 0 && source[pos - 1] == '.';
  Literal number = scanNumber(rest(), !isAfterDot);
  if (number.size > 0) {
    if (!number.isDecimal)
      return failAt(positionAt(pos), strCat("expected a decimal number, got '",
                                            rest().substr(0, 3), "'"));
    if (!number.isOk)
      return failAt(positionAt(pos),
                    "expected an integer of 64 bits, got " +
                        std::string(rest().substr(0, number.size)));
    add(number.isFloat ? TokenKind::Float : TokenKind::Integer,
        std::string(rest().substr(0, number.size)), pos);
    tokens.back().integer = number.integer;
    tokens.back().real = number.real;
    pos += number.size;
    return okStatus();
  }
  if (startsName(decodeUtf8(source, pos))) {
    size_t end = pos;
    while (end < source.size() && continuesName(decodeUtf8(source, end)))
      end += utf8Length(source, end);
    add(TokenKind::Name, std::string(source.substr(pos, end - pos)), pos);
    pos = end;
    return okStatus();
  }
  return source[pos] == '"' || source[pos] == '\'' ? lexString()
                                                   : lexOperator();
}

Status Lexer::lexCode(bool isBlock) {
  size_t start = pos - 2;
  open.clear();
  while (true) {
    pos = skipSpace(pos);
    if (pos >= source.size())
      return failAt(positionAt(start),
                    strCat("expected '", isBlock ? "%}" : "}}",
                           "' to end the tag that starts, got the end of the "
                           "template"));
    if (lexEnd(isBlock))
      return okStatus();
    MTP_RETURN_IF_ERROR(lexWord());
  }
}

Status Lexer::lexTag() {
  size_t start = pos;
  size_t at = start;
  while (true) {
    at = source.find('{', at);
    if (at == npos || at + 1 >= source.size()) {
      addData(source.substr(start), start);
      pos = source.size();
      return okStatus();
    }
    char next = source[at + 1];
    if (next == '{' || next == '%' || next == '#')
      break;
    ++at;
  }
  pos = at;
  char kind = source[at + 1];
  char sign = at + 2 < source.size() ? source[at + 2] : ' ';
  std::string_view text = source.substr(start, at - start);
  addData(strip(text, sign, kind == '{'), start);
  size_t rawBody = kind == '%' ? findRawBody() : npos;
  if (rawBody != npos)
    return lexRaw(rawBody);
  pos += sign == '-' || sign == '+' ? 3 : 2;
  isLineStart = false;
  if (kind == '#')
    return lexComment();
  add(kind == '%' ? TokenKind::BlockBegin : TokenKind::VariableBegin, "", at);
  return lexCode(kind == '%');
}

Result<std::vector<Token>> Lexer::run() {
  while (pos < source.size())
    MTP_RETURN_IF_ERROR(lexTag());
  add(TokenKind::End, "", source.size());
  return std::move(tokens);
}

} // namespace

Status jinja::failAt(Position position, std::string_view message) {
  return invalidArgument(strCat(message, " at line ", position.line,
                                ", column ", position.column));
}

Result<std::vector<Token>> jinja::tokenize(std::string_view source) {
  std::string lines = normalizeLines(source);
  return Lexer(lines).run();
}
