//===- Tests.cpp - Tests, which follow `is` -------------------------------===//

#include "runtime/jinja/builtins/Tests.h"

#include "runtime/jinja/builtins/Filters.h"
#include "runtime/jinja/value/Characters.h"
#include "runtime/jinja/value/Compare.h"
#include "runtime/jinja/value/Operators.h"
#include "runtime/jinja/value/Repr.h"

using namespace mtp;
using namespace mtp::jinja;

namespace {

Result<bool> isMultiple(const Value &value, const Value &of,
                        int64_t remainder) {
  MTP_ASSIGN_OR_RETURN(Value rest, applyBinary("%", value, of));
  return equals(rest, Value(remainder));
}

Result<bool> isSequence(const Value &value) {
  return value.isUndefined() || value.isString() || value.isListOrTuple() ||
         value.is(Kind::Dict) || value.is(Kind::Range);
}

Result<bool> isCallable(const Value &value) {
  return value.isUndefined() || value.is(Kind::Function) ||
         value.is(Kind::Method) ||
         (value.is(Kind::Object) && value.asObject().isCallable());
}

bool isLengthy(const Value &value) {
  return value.is(Kind::Object) && value.asObject().hasLength();
}

/// Returns whether the text of a value has cased letters and all of them pass
/// `test`.
Result<bool> hasCase(const Value &value, bool (*test)(std::string_view)) {
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  return test(text);
}

#define MTP_TEST(expression)                                                   \
  [](const Value &value, const Bound &bound) -> Result<bool> {                 \
    static_cast<void>(value);                                                  \
    static_cast<void>(bound);                                                  \
    return expression;                                                         \
  }

constexpr Test kTests[] = {
    {"!=", 1, MTP_TEST(!equals(value, bound[0]))},
    {"<", 1, MTP_TEST(isLess(value, bound[0]))},
    {"<=", 1, MTP_TEST(isLessOrEqual(value, bound[0]))},
    {"==", 1, MTP_TEST(equals(value, bound[0]))},
    {">", 1, MTP_TEST(isLess(bound[0], value))},
    {">=", 1, MTP_TEST(isLessOrEqual(bound[0], value))},
    {"boolean", 0, MTP_TEST(value.is(Kind::Bool))},
    {"callable", 0, MTP_TEST(isCallable(value))},
    {"defined", 0, MTP_TEST(!value.isUndefined())},
    {"divisibleby", 1, MTP_TEST(isMultiple(value, bound[0], 0))},
    {"eq", 1, MTP_TEST(equals(value, bound[0]))},
    {"equalto", 1, MTP_TEST(equals(value, bound[0]))},
    {"escaped", 0, MTP_TEST(value.isString() && value.text().isSafe)},
    {"even", 0, MTP_TEST(isMultiple(value, Value(int64_t(2)), 0))},
    {"false", 0, MTP_TEST(value.is(Kind::Bool) && !value.flag())},
    {"filter", 0, MTP_TEST(value.isString() && findFilter(value.bytes()))},
    {"float", 0, MTP_TEST(value.is(Kind::Float) && !value.wideDigits())},
    {"ge", 1, MTP_TEST(isLessOrEqual(bound[0], value))},
    {"greaterthan", 1, MTP_TEST(isLess(bound[0], value))},
    {"gt", 1, MTP_TEST(isLess(bound[0], value))},
    {"in", 1, MTP_TEST(contains(bound[0], value))},
    {"integer", 0, MTP_TEST(value.is(Kind::Int) || value.wideDigits())},
    {"iterable", 0, MTP_TEST(isIterable(value) || isLengthy(value))},
    {"le", 1, MTP_TEST(isLessOrEqual(value, bound[0]))},
    {"lessthan", 1, MTP_TEST(isLess(value, bound[0]))},
    {"lower", 0, MTP_TEST(hasCase(value, isLowerText))},
    {"lt", 1, MTP_TEST(isLess(value, bound[0]))},
    {"mapping", 0, MTP_TEST(value.is(Kind::Dict))},
    {"ne", 1, MTP_TEST(!equals(value, bound[0]))},
    {"none", 0, MTP_TEST(value.isNone())},
    {"number", 0, MTP_TEST(value.isNumber())},
    {"odd", 0, MTP_TEST(isMultiple(value, Value(int64_t(2)), 1))},
    {"sameas", 1, MTP_TEST(value.isSame(bound[0]))},
    {"sequence", 0, MTP_TEST(isSequence(value))},
    {"string", 0, MTP_TEST(value.isString())},
    {"test", 0, MTP_TEST(value.isString() && findTest(value.bytes()))},
    {"true", 0, MTP_TEST(value.is(Kind::Bool) && value.flag())},
    {"undefined", 0, MTP_TEST(value.isUndefined())},
    {"upper", 0, MTP_TEST(hasCase(value, isUpperText))},
};

#undef MTP_TEST

} // namespace

const Test *jinja::findTest(std::string_view name) {
  for (const Test &test : kTests)
    if (test.name == name)
      return &test;
  return nullptr;
}

Result<bool> Test::operator()(const Value &value,
                              const Arguments &arguments) const {
  MTP_ASSIGN_OR_RETURN(Bound bound, parameters == 0
                                        ? arguments.bind("")
                                        : arguments.bind("other", 1));
  return holds(value, bound);
}
