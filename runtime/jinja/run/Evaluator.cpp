//===- Evaluator.cpp - Evaluates expressions ------------------------------===//

#include "runtime/jinja/run/Evaluator.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/builtins/Tests.h"
#include "runtime/jinja/value/Access.h"
#include "runtime/jinja/value/Compare.h"
#include "runtime/jinja/value/Operators.h"
#include "runtime/jinja/value/Repr.h"

using namespace mtp;
using namespace mtp::jinja;

namespace {

constexpr std::pair<std::string_view, Builtin> kFunctions[] = {
    {"cycler", Builtin::Cycler},
    {"dict", Builtin::Dict},
    {"joiner", Builtin::Joiner},
    {"namespace", Builtin::Namespace},
    {"raise_exception", Builtin::Raise},
    {"range", Builtin::Range},
    {"strftime_now", Builtin::StrftimeNow},
};

Result<bool> compareBy(std::string_view op, const Value &left,
                       const Value &right) {
  if (op == "==")
    return equals(left, right);
  if (op == "!=")
    return !equals(left, right);
  if (op == "<")
    return isLess(left, right);
  if (op == "<=")
    return isLessOrEqual(left, right);
  if (op == ">")
    return isLess(right, left);
  if (op == ">=")
    return isLessOrEqual(right, left);
  MTP_ASSIGN_OR_RETURN(bool isIn, contains(right, left));
  return isIn == (op == "in");
}

} // namespace

Evaluator::~Evaluator() {
  for (const ScopePtr &scope : captured)
    scope->names.clear();
  for (const auto &space : spaces)
    space->attributes.clear();
  root->names.clear();
}

Status Evaluator::place(const Status &status, Position position) {
  if (status.isOk() || isPlaced)
    return status;
  isPlaced = true;
  return Status(status.code(),
                strCat(status.message(), " at line ", position.line,
                       ", column ", position.column));
}

Result<Value> Evaluator::evaluate(const Expr &expr, const ScopePtr &scope) {
  Budget::Level level(budget);
  Status status = level.enter();
  if (!status.isOk())
    return place(status, expr.position);
  Result<Value> value = evaluateKind(expr, scope);
  bool isFound =
      expr.kind == ExprKind::Constant || expr.kind == ExprKind::Name ||
      expr.kind == ExprKind::Attribute || expr.kind == ExprKind::Item;
  status = !value.isOk() ? value.status()
           : isFound     ? okStatus()
                         : budget.chargeFor(*value);
  return status.isOk() ? std::move(value)
                       : Result<Value>(place(status, expr.position));
}

Result<Value> Evaluator::lookUp(const std::string &name,
                                const ScopePtr &scope) {
  for (const Scope *at = scope.get(); at; at = at->parent.get()) {
    auto it = at->names.find(name);
    if (it != at->names.end())
      return it->second;
  }
  // Jinja passes `self` to the template itself; the context cannot replace it.
  if (name == "self")
    return selfValue();
  if (const Value *value = context.dict().find(name))
    return *value;
  for (const auto &[builtin, function] : kFunctions)
    if (builtin == name)
      return Value(function);
  if (name == "lipsum")
    return unimplemented(strCat("expected a supported name, got '", name, "'"));
  return Value::undefined(strCat("'", name, "', which is undefined"));
}

Result<Value> Evaluator::evaluateKind(const Expr &expr, const ScopePtr &scope) {
  switch (expr.kind) {
  case ExprKind::Constant:
    return expr.constant;
  case ExprKind::Name:
    return lookUp(expr.name, scope);
  case ExprKind::List:
  case ExprKind::Tuple:
  case ExprKind::Dict:
    return evaluateContainer(expr, scope);
  case ExprKind::Slice:
    return evaluateSlice(expr, scope);
  case ExprKind::Filter:
    return evaluateFilter(expr, scope);
  case ExprKind::Concat:
    return evaluateConcat(expr, scope);
  case ExprKind::Compare:
    return evaluateCompare(expr, scope);
  case ExprKind::And:
  case ExprKind::Or:
    return evaluateLogic(expr, scope);
  case ExprKind::Conditional:
    return evaluateConditional(expr, scope);
  default:
    break;
  }
  MTP_ASSIGN_OR_RETURN(Value first, evaluate(*expr.children[0], scope));
  if (expr.kind == ExprKind::Call || expr.kind == ExprKind::Test)
    return evaluateCall(expr, first, scope);
  if (expr.kind == ExprKind::Attribute)
    return getAttribute(first, expr.name);
  if (expr.kind == ExprKind::Negate)
    return negate(first);
  if (expr.kind == ExprKind::Plus) {
    if (!first.isNumber())
      return expected("a number for '+'", first);
    return first.isInteger() ? Value(first.integer()) : first;
  }
  if (expr.kind == ExprKind::Not) {
    MTP_ASSIGN_OR_RETURN(bool isIt, isTrue(first));
    return Value(!isIt);
  }
  MTP_ASSIGN_OR_RETURN(Value second, evaluate(*expr.children[1], scope));
  if (expr.kind == ExprKind::Item)
    return getItem(first, second);
  return applyBinary(expr.name, first, second);
}

/// Evaluates a call of `first`, or a test of it.
Result<Value> Evaluator::evaluateCall(const Expr &expr, const Value &first,
                                      const ScopePtr &scope) {
  MTP_ASSIGN_OR_RETURN(Arguments arguments, evaluateArguments(expr, scope));
  if (expr.kind == ExprKind::Call)
    return call(first, std::move(arguments));
  MTP_ASSIGN_OR_RETURN(bool holds,
                       applyTest(expr.name, first, std::move(arguments)));
  return Value(holds);
}

Result<Value> Evaluator::evaluateContainer(const Expr &expr,
                                           const ScopePtr &scope) {
  Items items;
  items.reserve(expr.children.size());
  for (const ExprPtr &child : expr.children) {
    MTP_ASSIGN_OR_RETURN(Value item, evaluate(*child, scope));
    items.push_back(std::move(item));
  }
  if (expr.kind == ExprKind::List)
    return makeList(std::move(items));
  if (expr.kind == ExprKind::Tuple)
    return makeTuple(std::move(items));
  DictBuilder builder;
  for (size_t i = 0; i < items.size(); i += 2)
    MTP_RETURN_IF_ERROR(
        builder.add(std::move(items[i]), std::move(items[i + 1])));
  return std::move(builder).build();
}

Result<Value> Evaluator::evaluateSlice(const Expr &expr,
                                       const ScopePtr &scope) {
  Value parts[4];
  for (size_t i = 0; i < 4; ++i) {
    if (!expr.children[i])
      continue;
    MTP_ASSIGN_OR_RETURN(parts[i], evaluate(*expr.children[i], scope));
  }
  return getSlice(parts[0], parts[1], parts[2], parts[3]);
}

Result<Value> Evaluator::evaluateCompare(const Expr &expr,
                                         const ScopePtr &scope) {
  MTP_ASSIGN_OR_RETURN(Value left, evaluate(*expr.children[0], scope));
  for (size_t i = 0; i < expr.operators.size(); ++i) {
    MTP_ASSIGN_OR_RETURN(Value right, evaluate(*expr.children[i + 1], scope));
    MTP_RETURN_IF_ERROR(charge((left.weight() + right.weight()) / 16));
    MTP_ASSIGN_OR_RETURN(bool holds, compareBy(expr.operators[i], left, right));
    if (!holds)
      return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Evaluator::evaluateConcat(const Expr &expr,
                                        const ScopePtr &scope) {
  std::string text;
  for (const ExprPtr &child : expr.children) {
    MTP_ASSIGN_OR_RETURN(Value value, evaluate(*child, scope));
    MTP_ASSIGN_OR_RETURN(std::string part, toText(value));
    text += part;
  }
  return makeText(std::move(text));
}

Result<Value> Evaluator::evaluateLogic(const Expr &expr,
                                       const ScopePtr &scope) {
  MTP_ASSIGN_OR_RETURN(Value left, evaluate(*expr.children[0], scope));
  MTP_ASSIGN_OR_RETURN(bool isIt, isTrue(left));
  if (isIt == (expr.kind == ExprKind::Or))
    return left;
  return evaluate(*expr.children[1], scope);
}

Result<Value> Evaluator::evaluateConditional(const Expr &expr,
                                             const ScopePtr &scope) {
  MTP_ASSIGN_OR_RETURN(Value condition, evaluate(*expr.children[1], scope));
  MTP_ASSIGN_OR_RETURN(bool isIt, isTrue(condition));
  if (isIt)
    return evaluate(*expr.children[0], scope);
  if (expr.children[2])
    return evaluate(*expr.children[2], scope);
  return Value::undefined("nothing, since the condition is false and there is "
                          "no 'else'");
}

Result<Arguments> Evaluator::evaluateArguments(const Expr &expr,
                                               const ScopePtr &scope) {
  Arguments arguments;
  for (const Argument &argument : expr.arguments) {
    MTP_ASSIGN_OR_RETURN(Value value, evaluate(*argument.value, scope));
    if (argument.kind == Argument::Positional) {
      arguments.positional.push_back(std::move(value));
    } else if (argument.kind == Argument::Named) {
      arguments.named.emplace_back(argument.name, std::move(value));
    } else if (argument.kind == Argument::Star) {
      MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
      for (Value &item : items)
        arguments.positional.push_back(std::move(item));
    } else {
      if (!value.is(Kind::Dict))
        return expected("a dict after '**'", value);
      for (const auto &[key, item] : value.dict().entries) {
        if (!key.isString())
          return expected("keys that are strings after '**'", key);
        arguments.named.emplace_back(key.bytes(), item);
      }
    }
  }
  // A linear search for names is fast enough up to this limit.
  if (arguments.named.size() > 256)
    return resourceExhausted(strCat("expected at most 256 named arguments, "
                                    "got ",
                                    arguments.named.size()));
  return arguments;
}

Result<Value> Evaluator::evaluateFilter(const Expr &expr,
                                        const ScopePtr &scope) {
  Value value = blockText;
  if (const Expr *operand = expr.children[0].get()) {
    MTP_ASSIGN_OR_RETURN(Value given, evaluate(*operand, scope));
    value = std::move(given);
  }
  MTP_ASSIGN_OR_RETURN(Arguments arguments, evaluateArguments(expr, scope));
  return applyFilter(expr.name, value, std::move(arguments));
}

Result<Value> Evaluator::applyFilter(const std::string &name,
                                     const Value &value, Arguments arguments) {
  const Filter *filter = findFilter(name);
  if (!filter)
    return invalidArgument(strCat("expected a filter, got '", name, "'"));
  MTP_RETURN_IF_ERROR(charge(1 + (value.weight() + arguments.weight()) / 16));
  // Filters that call filters may recurse.
  Budget::Level level(budget);
  MTP_RETURN_IF_ERROR(level.enter());
  return (*filter)(*this, value, arguments);
}

Result<bool> Evaluator::applyTest(const std::string &name, const Value &value,
                                  Arguments arguments) {
  const Test *test = findTest(name);
  if (!test)
    return invalidArgument(strCat("expected a test, got '", name, "'"));
  MTP_RETURN_IF_ERROR(charge(1 + (value.weight() + arguments.weight()) / 16));
  return (*test)(value, arguments);
}
