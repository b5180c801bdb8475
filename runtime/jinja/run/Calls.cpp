//===- Calls.cpp - Macros and functions -----------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/jinja/builtins/Methods.h"
#include "runtime/jinja/run/Evaluator.h"
#include "runtime/jinja/value/Compare.h"
#include "runtime/jinja/value/Repr.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <utility>

using namespace mtp;
using namespace mtp::jinja;

namespace {

/// What Jinja's sandbox allows.
constexpr int64_t kMaxRange = 100'000;

Result<Value> callRange(const Arguments &arguments) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind({"", " ", "  "}, 1));
  for (size_t i = 0; i < 3; ++i)
    if (bound.has(i) && !bound[i].isInteger())
      return expected("an integer for range()", bound[i]);
  MTP_ASSIGN_OR_RETURN(int64_t first, bound.integer(0, 0));
  MTP_ASSIGN_OR_RETURN(int64_t stop, bound.integer(1, first));
  MTP_ASSIGN_OR_RETURN(int64_t step, bound.integer(2, 1));
  int64_t start = bound.has(1) ? first : 0;
  if (step == 0)
    return invalidArgument("expected a step other than 0 for range(), got 0");
  uint64_t length = 0;
  if (step > 0 ? start < stop : start > stop) {
    uint64_t span =
        step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                 : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
    uint64_t size = step > 0 ? static_cast<uint64_t>(step)
                             : 0 - static_cast<uint64_t>(step);
    length = (span - 1) / size + 1;
  }
  if (length > kMaxRange)
    return resourceExhausted(strCat("expected at most ", kMaxRange,
                                    " numbers of range(), got ", length));
  auto range = std::make_shared<jinja::Range>();
  *range = {start, stop, step, static_cast<int64_t>(length)};
  return Value::of(Kind::Range, std::move(range));
}

/// What dict() and namespace() take: a dict or pairs, then names.
Result<Value> makeDict(const Arguments &arguments) {
  if (arguments.positional.size() > 1)
    return invalidArgument(strCat("expected at most 1 argument, got ",
                                  arguments.positional.size()));
  DictBuilder builder;
  if (!arguments.positional.empty()) {
    const Value &from = arguments.positional[0];
    if (from.is(Kind::Dict)) {
      for (const auto &[key, value] : from.dict().entries)
        MTP_RETURN_IF_ERROR(builder.add(key, value));
    } else {
      MTP_ASSIGN_OR_RETURN(Items pairs, itemsOf(from));
      for (const Value &pair : pairs) {
        MTP_ASSIGN_OR_RETURN(Items parts, itemsOf(pair));
        if (parts.size() != 2)
          return invalidArgument(strCat("expected pairs of key and value, got ",
                                        parts.size(), " values"));
        MTP_RETURN_IF_ERROR(builder.add(parts[0], parts[1]));
      }
    }
  }
  for (const auto &[name, value] : arguments.named)
    MTP_RETURN_IF_ERROR(builder.add(Value(std::string(name)), value));
  return std::move(builder).build();
}

/// Replaces what Python's strftime() knows and C's does not, or otherwise.
std::string prepareFormat(const std::string &format) {
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out.push_back(format[i]);
      continue;
    }
    char next = format[++i];
    if (next == 'f')
      out += "000000";
    else if (next != 'z' && next != 'Z')
      out += {'%', next};
  }
  return out;
}

Result<Value> makeJoiner(const Arguments &arguments) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind({"sep"}));
  auto joiner = std::make_shared<Joiner>();
  MTP_ASSIGN_OR_RETURN(joiner->separator,
                       makeTuple({bound.valueOr(0, Value(std::string(", ")))}));
  return Value::of(Kind::Joiner, std::move(joiner));
}

Result<Value> makeCycler(Arguments arguments) {
  if (!arguments.named.empty())
    return invalidArgument(strCat("expected no named arguments for cycler(), "
                                  "got '",
                                  arguments.named[0].first, "'"));
  if (arguments.positional.empty())
    return invalidArgument("expected at least one item for cycler(), got none");
  auto cycler = std::make_shared<Cycler>();
  MTP_ASSIGN_OR_RETURN(cycler->items,
                       makeTuple(std::move(arguments.positional)));
  return Value::of(Kind::Cycler, std::move(cycler));
}

Result<Value> callJoiner(Joiner &joiner, const Arguments &arguments) {
  MTP_RETURN_IF_ERROR(arguments.bind({}).status());
  if (std::exchange(joiner.isUsed, true))
    return joiner.separator.items().front();
  return Value(std::string());
}

} // namespace

Result<Value> Evaluator::call(const Value &callee, Arguments arguments) {
  switch (callee.kind()) {
  case Kind::Macro:
    return callMacro(callee.as<const Macro>(), std::move(arguments));
  case Kind::Function:
    return callFunction(callee.function(), std::move(arguments));
  case Kind::Method: {
    const auto &method = callee.as<const Method>();
    uint64_t work = method.self.weight();
    for (const Value &value : arguments.positional)
      work += value.weight();
    MTP_RETURN_IF_ERROR(charge(work / 16));
    return callMethod(method.self, method.name, arguments);
  }
  case Kind::Loop: {
    MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind({"iterable"}, 1));
    return callee.as<Loop>().call(bound[0]);
  }
  case Kind::Joiner:
    return callJoiner(callee.as<Joiner>(), arguments);
  case Kind::Block: {
    MTP_RETURN_IF_ERROR(arguments.bind({}).status());
    const Stmt &block = *callee.as<const BlockReference>().block->second;
    // As where it stands, but that it sees no loop around it.
    return capture(block.body, std::make_shared<Scope>(root));
  }
  default:
    return expected("a function to call", callee);
  }
}

Status Evaluator::bindRest(const MacroNode &node, Arguments arguments,
                           Scope &scope) {
  if (node.takesCaller) {
    std::optional<Value> caller = arguments.take("caller");
    scope.names["caller"] =
        caller && !caller->isNone()
            ? *std::move(caller)
            : Value::undefined("'caller' outside of a call block");
  }
  if (node.takesKwargs) {
    DictBuilder builder;
    for (auto &[name, value] : arguments.named)
      MTP_RETURN_IF_ERROR(builder.add(Value(std::string(name)), value));
    MTP_ASSIGN_OR_RETURN(scope.names["kwargs"], std::move(builder).build());
  } else if (!arguments.named.empty()) {
    return invalidArgument(strCat("expected an argument that macro '",
                                  node.name, "' takes, got '",
                                  arguments.named[0].first, "'"));
  }
  if (node.takesVarargs) {
    MTP_ASSIGN_OR_RETURN(scope.names["varargs"],
                         makeTuple(std::move(arguments.positional)));
  } else if (!arguments.positional.empty()) {
    return invalidArgument(strCat("expected at most ", node.parameters.size(),
                                  " arguments for macro '", node.name,
                                  "', got more"));
  }
  return okStatus();
}

Status Evaluator::bindMacro(const Macro &macro, Arguments arguments,
                            const ScopePtr &scope) {
  const MacroNode &node = *macro.node;
  size_t given = std::min(arguments.positional.size(), node.parameters.size());
  std::vector<std::optional<Value>> values(node.parameters.size());
  for (size_t i = 0; i < given; ++i)
    values[i] = std::move(arguments.positional[i]);
  arguments.positional.erase(arguments.positional.begin(),
                             arguments.positional.begin() +
                                 static_cast<std::ptrdiff_t>(given));
  for (size_t i = given; i < values.size(); ++i)
    values[i] = arguments.take(node.parameters[i]);
  MTP_RETURN_IF_ERROR(bindRest(node, std::move(arguments), *scope));
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i])
      scope->names[node.parameters[i]] = *values[i];
  size_t firstDefault = node.parameters.size() - node.defaults.size();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i])
      continue;
    const std::string &name = node.parameters[i];
    Value value =
        Value::undefined(strCat("parameter '", name, "', which was not given"));
    // Of parameters that come later, a default sees no outer namesake.
    scope->names[name] = value;
    if (i >= firstDefault) {
      MTP_ASSIGN_OR_RETURN(value,
                           evaluate(*node.defaults[i - firstDefault], scope));
      scope->names[name] = std::move(value);
    }
  }
  return okStatus();
}

Result<Value> Evaluator::callMacro(const Macro &macro, Arguments arguments) {
  auto scope = std::make_shared<Scope>(macro.closure);
  MTP_RETURN_IF_ERROR(bindMacro(macro, std::move(arguments), scope));
  return capture(macro.node->body, scope);
}

Result<Value> Evaluator::callNamespace(const Arguments &arguments) {
  MTP_ASSIGN_OR_RETURN(Value dict, makeDict(arguments));
  auto space = std::make_shared<Namespace>();
  for (const auto &[key, value] : dict.dict().entries) {
    if (!key.isString())
      return expected("names of attributes that are strings", key);
    if (!key.bytes().empty() && key.bytes()[0] == '_')
      return invalidArgument(strCat("expected an attribute without '_' at its "
                                    "start, got '",
                                    key.bytes(), "'"));
    space->attributes[key.bytes()] = value;
    space->order.push_back(key.bytes());
  }
  spaces.push_back(space);
  return Value::of(Kind::Namespace, std::move(space));
}

Result<Value> Evaluator::callStrftime(const Arguments &arguments) const {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind({"format"}, 1));
  if (!bound[0].isString())
    return expected("a format for strftime_now()", bound[0]);
  std::tm now = {};
  if (options.now) {
    now = *options.now;
  } else {
    std::time_t seconds = std::time(nullptr);
    localtime_r(&seconds, &now);
  }
  char buffer[4096];
  std::string format = prepareFormat(bound[0].bytes());
  size_t size = std::strftime(buffer, sizeof(buffer), format.c_str(), &now);
  std::string_view text(buffer, size);
  if (!isValidUtf8(text) || (size == 0 && !format.empty() && format != "%p"))
    return invalidArgument("expected a format for strftime_now() that yields "
                           "up to 4095 bytes of text, got another");
  return Value(std::string(text));
}

Result<Value> Evaluator::callFunction(Builtin function, Arguments arguments) {
  switch (function) {
  case Builtin::Range:
    return callRange(arguments);
  case Builtin::Dict:
    return makeDict(arguments);
  case Builtin::Namespace:
    return callNamespace(arguments);
  case Builtin::StrftimeNow:
    return callStrftime(arguments);
  case Builtin::Joiner:
    return makeJoiner(arguments);
  case Builtin::Cycler:
    return makeCycler(std::move(arguments));
  case Builtin::Raise:
    break;
  }
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind({"message"}, 1));
  MTP_ASSIGN_OR_RETURN(std::string message, toText(bound[0]));
  return invalidArgument(
      strCat("expected messages that the template takes, got: ", message));
}
