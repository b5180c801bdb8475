//===- JsonScanner.cpp - Check JSON that arrives in pieces ----------------===//

#include "runtime/chat/tools/JsonScanner.h"

#include <algorithm>

using namespace mtp;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

static bool isHexDigit(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

void JsonScanner::reset() {
  at = At::Value;
  open.clear();
}

JsonScanner::Result JsonScanner::scan(std::string_view text, size_t &used) {
  used = 0;
  while (used < text.size() && at != At::Done && at != At::Failed)
    used += push(text[used]) ? 1 : 0;
  if (at == At::Failed) {
    used -= std::min<size_t>(used, 1);
    return Result::Failed;
  }
  return at == At::Done ? Result::Done : Result::More;
}

bool JsonScanner::isValue(std::string_view text) {
  JsonScanner scanner;
  size_t used = 0;
  Result result = scanner.scan(text, used);
  if (result == Result::More)
    return scanner.at == At::Number && scanner.open.empty() &&
           scanner.isNumberWhole();
  return result == Result::Done && used == text.size();
}

bool JsonScanner::fail() {
  at = At::Failed;
  return true;
}

void JsonScanner::endValue() { at = open.empty() ? At::Done : At::Next; }

bool JsonScanner::push(char c) {
  switch (at) {
  case At::String:
  case At::Escape:
  case At::Hex:
    return pushString(c);
  case At::Word:
    return pushWord(c);
  case At::Number:
    return pushNumber(c);
  default:
    return pushBetween(c);
  }
}

/// Reads a byte that is in no string, word or number.
bool JsonScanner::pushBetween(char c) {
  if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
    return true;
  switch (at) {
  case At::FirstItem:
    return c == ']' ? endContainer(c) : beginValue(c);
  case At::Value:
    return beginValue(c);
  case At::FirstKey:
    if (c == '}')
      return endContainer(c);
    [[fallthrough]];
  case At::Key:
    isKey = true;
    at = At::String;
    return c == '"' || fail();
  case At::Colon:
    at = At::Value;
    return c == ':' || fail();
  case At::Next:
    if (c != ',')
      return endContainer(c);
    at = open.back() == '{' ? At::Key : At::Value;
    return true;
  default:
    return fail();
  }
}

bool JsonScanner::endContainer(char c) {
  if (open.back() != (c == '}' ? '{' : '[') || (c != '}' && c != ']'))
    return fail();
  open.pop_back();
  endValue();
  return true;
}

bool JsonScanner::beginValue(char c) {
  if (c == '"') {
    isKey = false;
    at = At::String;
    return true;
  }
  if (c == '{' || c == '[') {
    if (open.size() == kMostDepth)
      return fail();
    open += c;
    at = c == '{' ? At::FirstKey : At::FirstItem;
    return true;
  }
  if (c == '-' || isDigit(c)) {
    digits = c == '-' ? Digits::Minus : c == '0' ? Digits::Zero : Digits::Whole;
    at = At::Number;
    return true;
  }
  word = c == 't' ? "rue" : c == 'f' ? "alse" : c == 'n' ? "ull" : "";
  if (word.empty())
    return fail();
  at = At::Word;
  return true;
}

bool JsonScanner::pushString(char c) {
  if (at == At::Escape) {
    hexLeft = 4;
    at = c == 'u' ? At::Hex : At::String;
    return c == 'u' ||
           std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos ||
           fail();
  }
  if (at == At::Hex) {
    if (--hexLeft == 0)
      at = At::String;
    return isHexDigit(c) || fail();
  }
  if (uint8_t(c) < 0x20)
    return fail();
  if (c == '\\')
    at = At::Escape;
  else if (c == '"' && isKey)
    at = At::Colon;
  else if (c == '"')
    endValue();
  return true;
}

bool JsonScanner::pushWord(char c) {
  if (c != word.front())
    return fail();
  word.remove_prefix(1);
  if (word.empty())
    endValue();
  return true;
}

bool JsonScanner::isNumberWhole() const {
  return digits == Digits::Zero || digits == Digits::Whole ||
         digits == Digits::Fraction || digits == Digits::Power;
}

bool JsonScanner::pushNumber(char c) {
  bool isExponent = c == 'e' || c == 'E';
  if (isDigit(c)) {
    switch (digits) {
    case Digits::Minus:
      digits = c == '0' ? Digits::Zero : Digits::Whole;
      return true;
    case Digits::Zero:
      return fail();
    case Digits::Whole:
      return true;
    case Digits::Point:
    case Digits::Fraction:
      digits = Digits::Fraction;
      return true;
    default:
      digits = Digits::Power;
      return true;
    }
  }
  if (digits == Digits::Exponent && (c == '+' || c == '-')) {
    digits = Digits::Sign;
    return true;
  }
  if (!isNumberWhole())
    return fail();
  if (c == '.' && (digits == Digits::Zero || digits == Digits::Whole)) {
    digits = Digits::Point;
    return true;
  }
  if (isExponent && digits != Digits::Power) {
    digits = Digits::Exponent;
    return true;
  }
  endValue();
  return false;
}
