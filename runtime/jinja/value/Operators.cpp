//===- Operators.cpp - Arithmetic -----------------------------------------===//

#include "runtime/jinja/value/Operators.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/value/Format.h"

#include <algorithm>
#include <cmath>

using namespace mtp;
using namespace mtp::jinja;

namespace {

Status tooLarge(std::string_view op) {
  return resourceExhausted(
      strCat("expected a result of '", op, "' of 64 bits, got a larger one"));
}

Status unsupported(std::string_view op, const Value &left, const Value &right) {
  if (left.isUndefined() || right.isUndefined())
    return expected(strCat("two values for '", op, "'"),
                    left.isUndefined() ? left : right);
  return invalidArgument(strCat("expected two values that go with '", op,
                                "', got ", describe(left), " and ",
                                describe(right)));
}

Result<Value> power(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return Value(
        std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
      return tooLarge("**");
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
      return tooLarge("**");
  }
  return Value(result);
}

/// Rounds the quotient towards minus infinity, as Python does.
int64_t floorDivide(int64_t left, int64_t right) {
  int64_t quotient = left / right;
  return quotient - (left % right != 0 && (left < 0) != (right < 0));
}

Result<Value> applyIntegers(std::string_view op, int64_t left, int64_t right) {
  int64_t result = 0;
  bool isTooLarge = false;
  if (op == "+") {
    isTooLarge = __builtin_add_overflow(left, right, &result);
  } else if (op == "-") {
    isTooLarge = __builtin_sub_overflow(left, right, &result);
  } else if (op == "*") {
    isTooLarge = __builtin_mul_overflow(left, right, &result);
  } else if (op == "**") {
    if (left == 0 && right < 0)
      return invalidArgument("expected a base other than 0, got 0");
    return power(left, right);
  } else {
    if (right == 0)
      return invalidArgument("expected a divisor other than 0, got 0");
    if (op == "/")
      return Value(static_cast<double>(left) / static_cast<double>(right));
    if (right == -1)
      isTooLarge = op == "//" && __builtin_sub_overflow(0, left, &result);
    else
      result = op == "//" ? floorDivide(left, right)
                          : left - floorDivide(left, right) * right;
  }
  if (isTooLarge)
    return tooLarge(op);
  return Value(result);
}

Result<Value> applyFloats(std::string_view op, double left, double right) {
  if (op == "+")
    return Value(left + right);
  if (op == "-")
    return Value(left - right);
  if (op == "*")
    return Value(left * right);
  if (op == "**") {
    double result = std::pow(left, right);
    if (std::isfinite(left) && std::isfinite(right) && !std::isfinite(result))
      return invalidArgument("expected a power that is a number, got another");
    return Value(result);
  }
  if (right == 0)
    return invalidArgument("expected a divisor other than 0, got 0");
  if (op == "/")
    return Value(left / right);
  double remainder = std::fmod(left, right);
  double quotient = (left - remainder) / right;
  if (remainder != 0 && (remainder < 0) != (right < 0)) {
    remainder += right;
    quotient -= 1;
  }
  if (op == "%")
    return Value(remainder == 0 ? std::copysign(0.0, right) : remainder);
  double floor = std::floor(quotient);
  return Value(floor + (quotient - floor > 0.5));
}

Result<Value> addTexts(const Text &left, const Text &right) {
  if (left.isSafe == right.isSafe)
    return makeText(left.bytes + right.bytes, left.isSafe);
  return makeText(left.isSafe ? left.bytes + escapeHtml(right.bytes)
                              : escapeHtml(left.bytes) + right.bytes,
                  true);
}

Result<Value> add(const Value &left, const Value &right) {
  if (left.isString() && right.isString())
    return addTexts(left.text(), right.text());
  if (!left.isListOrTuple() || left.kind() != right.kind())
    return unsupported("+", left, right);
  Items items = left.items();
  items.insert(items.end(), right.items().begin(), right.items().end());
  return left.is(Kind::List) ? makeList(std::move(items))
                             : makeTuple(std::move(items));
}

Result<Value> repeat(const Value &value, int64_t count) {
  auto times = static_cast<uint64_t>(std::max<int64_t>(count, 0));
  if (times > 1 && value.weight() > kMaxWeight / times)
    return resourceExhausted(strCat("expected a value of at most ", kMaxWeight,
                                    " elements, got more"));
  if (value.isString()) {
    std::string out;
    for (uint64_t i = 0; i < times && !value.bytes().empty(); ++i)
      out += value.bytes();
    return makeText(std::move(out), value.text().isSafe);
  }
  Items items;
  for (uint64_t i = 0; i < times && !value.items().empty(); ++i)
    items.insert(items.end(), value.items().begin(), value.items().end());
  return value.is(Kind::List) ? makeList(std::move(items))
                              : makeTuple(std::move(items));
}

} // namespace

Result<Value> jinja::applyBinary(std::string_view op, const Value &left,
                                 const Value &right) {
  if (left.isNumber() && right.isNumber()) {
    if (left.isInteger() && right.isInteger())
      return applyIntegers(op, left.integer(), right.integer());
    return applyFloats(op, left.real(), right.real());
  }
  if (op == "%" && left.isString())
    return formatPercent(left, right);
  if (op == "+")
    return add(left, right);
  if (op == "*") {
    bool isLeft = left.isString() || left.isListOrTuple();
    bool isRight = right.isString() || right.isListOrTuple();
    if (isLeft && right.isInteger())
      return repeat(left, right.integer());
    if (isRight && left.isInteger())
      return repeat(right, left.integer());
  }
  return unsupported(op, left, right);
}

Result<Value> jinja::negate(const Value &value) {
  if (value.is(Kind::Float))
    return Value(-value.real());
  if (!value.isInteger())
    return expected("a number for '-'", value);
  return applyIntegers("-", 0, value.integer());
}

std::string jinja::escapeHtml(std::string_view text) {
  constexpr std::string_view kFrom = "&<>'\"";
  constexpr std::string_view kTo[] = {"&amp;", "&lt;", "&gt;", "&#39;",
                                      "&#34;"};
  std::string out;
  for (char c : text) {
    size_t index = kFrom.find(c);
    out.append(index == kFrom.npos ? std::string_view(&c, 1) : kTo[index]);
  }
  return out;
}
