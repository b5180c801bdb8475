//===- Calls.cpp - Calls macros and functions -----------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/jinja/builtins/Functions.h"
#include "runtime/jinja/builtins/Methods.h"
#include "runtime/jinja/run/Evaluator.h"
#include "runtime/jinja/value/Repr.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <functional>
#include <utility>

using namespace mtp;
using namespace mtp::jinja;

namespace {

/// A macro, or a block of the template. It lives at most as long as the
/// rendering.
class Callable : public Object {
public:
  using Function = std::function<Result<Value>(Arguments &)>;

  Callable(std::string name, bool isMacro, Function function)
      : name(std::move(name)), isMacro(isMacro), function(std::move(function)) {
  }

  std::string describe() const override {
    return isMacro ? "a macro" : "a block";
  }
  bool isCallable() const override { return true; }
  Result<Value> call(Arguments &arguments) override {
    return function(arguments);
  }

  Result<std::optional<Value>> attribute(const std::string &wanted) override {
    using Found = std::optional<Value>;
    if (wanted == "name")
      return Found(Value(name));
    if (wanted == "super" && !isMacro)
      return Found(Value::undefined(strCat("a block '", name,
                                           "' of a parent, of which there is "
                                           "none")));
    return Found();
  }

  Result<std::string> toText() override {
    if (!isMacro)
      return Object::toText();
    return strCat("<Macro '", name, "'>");
  }

private:
  std::string name;
  bool isMacro;
  Function function;
};

/// The value of `self`: the blocks of the template.
class SelfObject : public Object {
public:
  using MakeBlock = std::function<Value(const std::string &, const Stmt &)>;

  SelfObject(const Blocks &blocks, MakeBlock makeBlock)
      : blocks(blocks), makeBlock(std::move(makeBlock)) {}

  std::string describe() const override { return "the template"; }
  Result<std::optional<Value>> item(const std::string &name) override {
    auto found = blocks.find(name);
    if (found == blocks.end())
      return std::optional<Value>();
    return std::optional<Value>(makeBlock(found->first, *found->second));
  }
  Result<std::string> toText() override {
    return std::string("<TemplateReference None>");
  }

private:
  const Blocks &blocks;
  MakeBlock makeBlock;
};

Value makeCallable(std::string name, bool isMacro,
                   Callable::Function function) {
  return Value::of<Object>(Kind::Object,
                           std::make_shared<Callable>(std::move(name), isMacro,
                                                      std::move(function)));
}

/// Replaces the conversions of Python's strftime() that C has not or defines
/// otherwise.
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

Result<Value> formatNow(const Arguments &arguments,
                        const RenderOptions &options) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("format", 1));
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

/// Binds the arguments that no parameter takes.
Status bindRest(const MacroNode &node, Arguments &arguments, Scope &scope) {
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

} // namespace

Value Evaluator::selfValue() {
  auto makeBlock = [this](const std::string &name, const Stmt &block) {
    return makeCallable(name, /*isMacro=*/false,
                        [this, &block](Arguments &arguments) -> Result<Value> {
                          MTP_RETURN_IF_ERROR(arguments.bind("").status());
                          // A block sees no loop around it.
                          return capture(block.body,
                                         std::make_shared<Scope>(root));
                        });
  };
  return Value::of<Object>(Kind::Object,
                           std::make_shared<SelfObject>(blocks, makeBlock));
}

Value Evaluator::makeMacro(const MacroNode &node, const ScopePtr &scope) {
  captured.push_back(scope);
  return makeCallable(
      node.name, /*isMacro=*/true,
      [this, &node, scope](Arguments &arguments) -> Result<Value> {
        auto inner = std::make_shared<Scope>(scope);
        MTP_RETURN_IF_ERROR(bindMacro(node, arguments, inner));
        return capture(node.body, inner);
      });
}

Result<Value> Evaluator::call(const Value &callee, Arguments arguments) {
  switch (callee.kind()) {
  case Kind::Object:
    return callee.asObject().call(arguments);
  case Kind::Function:
    return callFunction(callee.function(), arguments);
  case Kind::Method: {
    const auto &method = callee.as<const Method>();
    MTP_RETURN_IF_ERROR(
        charge((method.self.weight() + arguments.weight()) / 16));
    return callMethod(method.self, method.name, arguments);
  }
  default:
    return expected("a function to call", callee);
  }
}

Status Evaluator::bindMacro(const MacroNode &node, Arguments &arguments,
                            const ScopePtr &scope) {
  size_t given = std::min(arguments.positional.size(), node.parameters.size());
  std::vector<std::optional<Value>> values(node.parameters.size());
  for (size_t i = 0; i < given; ++i)
    values[i] = std::move(arguments.positional[i]);
  arguments.positional.erase(arguments.positional.begin(),
                             arguments.positional.begin() +
                                 static_cast<std::ptrdiff_t>(given));
  for (size_t i = given; i < values.size(); ++i)
    values[i] = arguments.take(node.parameters[i]);
  MTP_RETURN_IF_ERROR(bindRest(node, arguments, *scope));
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
    // A default sees no outer variable with the name of a later parameter.
    scope->names[name] = value;
    if (i >= firstDefault) {
      MTP_ASSIGN_OR_RETURN(value,
                           evaluate(*node.defaults[i - firstDefault], scope));
      scope->names[name] = std::move(value);
    }
  }
  return okStatus();
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

Result<Value> Evaluator::callFunction(Builtin function, Arguments &arguments) {
  switch (function) {
  case Builtin::Range:
    return makeRange(arguments);
  case Builtin::Dict:
    return makeDict(arguments);
  case Builtin::Namespace:
    return callNamespace(arguments);
  case Builtin::StrftimeNow:
    return formatNow(arguments, options);
  case Builtin::Joiner:
    return makeJoiner(arguments);
  case Builtin::Cycler:
    return makeCycler(arguments);
  case Builtin::Raise:
    break;
  }
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("message", 1));
  MTP_ASSIGN_OR_RETURN(std::string message, toText(bound[0]));
  return invalidArgument(
      strCat("expected messages that the template takes, got: ", message));
}
