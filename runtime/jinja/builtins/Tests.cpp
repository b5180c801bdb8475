//===- Tests.cpp - What stands behind `is` --------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/jinja/builtins/Catalogue.h"
#include "runtime/jinja/run/Evaluator.h"
#include "runtime/jinja/value/Characters.h"
#include "runtime/jinja/value/Compare.h"
#include "runtime/jinja/value/Operators.h"
#include "runtime/jinja/value/Repr.h"

using namespace mtp;
using namespace mtp::jinja;

namespace {

using Test = Result<bool> (*)(const Value &value, const Bound &bound);

struct TestEntry {
  std::string_view name;
  size_t parameters;
  Test test;
};

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
  switch (value.kind()) {
  case Kind::Undefined:
  case Kind::Macro:
  case Kind::Function:
  case Kind::Method:
  case Kind::Loop:
  case Kind::Joiner:
  case Kind::Block:
    return true;
  default:
    return false;
  }
}

Result<bool> hasCase(const Value &value, const char *method) {
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  return *testCharacters(method, text);
}

#define MTP_TEST(expression)                                                   \
  [](const Value &value, const Bound &bound) -> Result<bool> {                 \
    static_cast<void>(value);                                                  \
    static_cast<void>(bound);                                                  \
    return expression;                                                         \
  }

constexpr TestEntry kTests[] = {
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
    {"filter", 0, MTP_TEST(value.isString() && isFilter(value.bytes()))},
    {"float", 0, MTP_TEST(value.is(Kind::Float) && !value.wideDigits())},
    {"ge", 1, MTP_TEST(isLessOrEqual(bound[0], value))},
    {"greaterthan", 1, MTP_TEST(isLess(bound[0], value))},
    {"gt", 1, MTP_TEST(isLess(bound[0], value))},
    {"in", 1, MTP_TEST(contains(bound[0], value))},
    {"integer", 0, MTP_TEST(value.is(Kind::Int) || value.wideDigits())},
    {"iterable", 0, MTP_TEST(isIterable(value) || value.is(Kind::Loop))},
    {"le", 1, MTP_TEST(isLessOrEqual(value, bound[0]))},
    {"lessthan", 1, MTP_TEST(isLess(value, bound[0]))},
    {"lower", 0, MTP_TEST(hasCase(value, "islower"))},
    {"lt", 1, MTP_TEST(isLess(value, bound[0]))},
    {"mapping", 0, MTP_TEST(value.is(Kind::Dict))},
    {"ne", 1, MTP_TEST(!equals(value, bound[0]))},
    {"none", 0, MTP_TEST(value.isNone())},
    {"number", 0, MTP_TEST(value.isNumber())},
    {"odd", 0, MTP_TEST(isMultiple(value, Value(int64_t(2)), 1))},
    {"sameas", 1, MTP_TEST(value.isSame(bound[0]))},
    {"sequence", 0, MTP_TEST(isSequence(value))},
    {"string", 0, MTP_TEST(value.isString())},
    {"test", 0, MTP_TEST(value.isString() && isTest(value.bytes()))},
    {"true", 0, MTP_TEST(value.is(Kind::Bool) && value.flag())},
    {"undefined", 0, MTP_TEST(value.isUndefined())},
    {"upper", 0, MTP_TEST(hasCase(value, "isupper"))},
};

#undef MTP_TEST

const TestEntry *findTest(std::string_view name) {
  for (const TestEntry &entry : kTests)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

} // namespace

bool jinja::isTest(std::string_view name) { return findTest(name) != nullptr; }

Result<bool> Evaluator::applyTest(const std::string &name, const Value &value,
                                  Arguments arguments) {
  const TestEntry *entry = findTest(name);
  if (!entry)
    return invalidArgument(strCat("expected a test, got '", name, "'"));
  uint64_t work = value.weight();
  for (const Value &argument : arguments.positional)
    work += argument.weight();
  MTP_RETURN_IF_ERROR(charge(1 + work / 16));
  MTP_ASSIGN_OR_RETURN(Bound bound, entry->parameters == 0
                                        ? arguments.bind({})
                                        : arguments.bind({"other"}, 1));
  return entry->test(value, bound);
}
