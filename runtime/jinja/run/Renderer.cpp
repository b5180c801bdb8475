//===- Renderer.cpp - Runs statements -------------------------------------===//

#include "runtime/jinja/run/Renderer.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/value/Compare.h"
#include "runtime/jinja/value/Repr.h"

using namespace mtp;
using namespace mtp::jinja;

Result<std::string> Renderer::run(const Body &body) {
  MTP_RETURN_IF_ERROR(runBody(body, root).status());
  return std::move(output);
}

Status Renderer::write(std::string_view text) {
  MTP_RETURN_IF_ERROR(budget.chargeOutput(out->size(), text.size()));
  out->append(text);
  return okStatus();
}

Status Renderer::writeValue(const Value &value) {
  if (value.isString())
    return write(value.bytes());
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  return write(text);
}

Result<Value> Renderer::capture(const Body &body, const ScopePtr &scope) {
  std::string text;
  std::string *outer = std::exchange(out, &text);
  auto flow = runBody(body, scope);
  out = outer;
  if (!flow.isOk())
    return flow.status();
  Value value(std::move(text));
  MTP_RETURN_IF_ERROR(budget.chargeFor(value));
  return value;
}

Result<Renderer::Flow> Renderer::runBody(const Body &body,
                                         const ScopePtr &scope) {
  for (const auto &statement : body) {
    MTP_ASSIGN_OR_RETURN(Flow flow, runStatement(*statement, scope));
    if (flow != Flow::Next)
      return flow;
  }
  return Flow::Next;
}

Result<Renderer::Flow> Renderer::runStatement(const Stmt &statement,
                                              const ScopePtr &scope) {
  Budget::Level level(budget);
  Status status = level.enter();
  Result<Flow> flow =
      status.isOk() ? runKind(statement, scope) : Result<Flow>(status);
  if (!flow.isOk())
    return place(flow.status(), statement.position);
  return flow;
}

Result<Renderer::Flow> Renderer::runKind(const Stmt &statement,
                                         const ScopePtr &scope) {
  Status status;
  switch (statement.kind) {
  case StmtKind::Text:
    status = write(statement.text);
    break;
  case StmtKind::Print:
    status = runPrint(statement, scope);
    break;
  case StmtKind::If:
    return runIf(statement, scope);
  case StmtKind::For:
    return runFor(statement, scope);
  case StmtKind::Set:
  case StmtKind::SetBlock:
    status = runSet(statement, scope);
    break;
  case StmtKind::Macro:
    scope->names[statement.macro->name] = makeMacro(*statement.macro, scope);
    break;
  case StmtKind::Call:
    status = runCall(statement, scope);
    break;
  case StmtKind::Filter: {
    MTP_ASSIGN_OR_RETURN(Value value, filterBody(statement, scope));
    status = writeValue(value);
    break;
  }
  case StmtKind::With:
    return runWith(statement, scope);
  case StmtKind::Scope:
    return runBody(statement.body,
                   std::make_shared<Scope>(statement.isGlobal ? root : scope));
  case StmtKind::Break:
    return Flow::Break;
  case StmtKind::Continue:
    return Flow::Continue;
  }
  MTP_RETURN_IF_ERROR(status);
  return Flow::Next;
}

Status Renderer::runPrint(const Stmt &statement, const ScopePtr &scope) {
  MTP_ASSIGN_OR_RETURN(Value value, evaluate(*statement.expr, scope));
  return writeValue(value);
}

Result<Renderer::Flow> Renderer::runIf(const Stmt &statement,
                                       const ScopePtr &scope) {
  for (const Branch &branch : statement.branches) {
    if (!branch.condition)
      return runBody(branch.body, scope);
    MTP_ASSIGN_OR_RETURN(Value value, evaluate(*branch.condition, scope));
    MTP_ASSIGN_OR_RETURN(bool holds, isTrue(value));
    if (holds)
      return runBody(branch.body, scope);
  }
  return Flow::Next;
}

Result<Renderer::Flow> Renderer::runFor(const Stmt &statement,
                                        const ScopePtr &scope) {
  MTP_ASSIGN_OR_RETURN(Value over, evaluate(*statement.expr, scope));
  return runLoop(statement, scope, over, 0);
}

Result<Renderer::Flow> Renderer::runLoop(const Stmt &statement,
                                         const ScopePtr &scope,
                                         const Value &over, int level) {
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(over));
  MTP_RETURN_IF_ERROR(charge(items.size() / 4));
  Loop::Filter filter;
  if (statement.filter)
    filter = [&, scope](const Value &item) -> Result<bool> {
      auto inner = std::make_shared<Scope>(scope);
      MTP_RETURN_IF_ERROR(assign(statement.target, item, inner));
      MTP_ASSIGN_OR_RETURN(Value value, evaluate(*statement.filter, inner));
      return isTrue(value);
    };
  Loop::Recurse recurse;
  if (statement.isRecursive)
    recurse = [&, scope](const Value &inner, int depth) -> Result<Value> {
      std::string text;
      std::string *outer = std::exchange(out, &text);
      auto flow = runLoop(statement, scope, inner, depth);
      out = outer;
      if (!flow.isOk())
        return flow.status();
      return Value(std::move(text));
    };
  auto loop = std::make_shared<Loop>(std::move(items), std::move(filter),
                                     std::move(recurse), level);
  auto flow = runIterations(statement, scope, loop);
  loop->end();
  return flow;
}

Result<Renderer::Flow>
Renderer::runIterations(const Stmt &statement, const ScopePtr &scope,
                        const std::shared_ptr<Loop> &loop) {
  bool isAny = false;
  while (true) {
    MTP_ASSIGN_OR_RETURN(bool hasItem, loop->advance());
    if (!hasItem)
      break;
    isAny = true;
    auto inner = std::make_shared<Scope>(scope);
    inner->names["loop"] = Value::of<Object>(Kind::Object, loop);
    MTP_RETURN_IF_ERROR(charge(1));
    MTP_RETURN_IF_ERROR(assign(statement.target, loop->current(), inner));
    MTP_ASSIGN_OR_RETURN(Flow flow, runBody(statement.body, inner));
    if (flow == Flow::Break)
      break;
  }
  if (isAny)
    return Flow::Next;
  return runBody(statement.otherwise, std::make_shared<Scope>(scope));
}

Result<Value> Renderer::filterBody(const Stmt &statement,
                                   const ScopePtr &scope) {
  MTP_ASSIGN_OR_RETURN(Value text,
                       capture(statement.body, std::make_shared<Scope>(scope)));
  if (!statement.expr)
    return text;
  Value outer = std::exchange(blockText, std::move(text));
  auto value = evaluate(*statement.expr, scope);
  blockText = std::move(outer);
  return value;
}

Status Renderer::runSet(const Stmt &statement, const ScopePtr &scope) {
  MTP_ASSIGN_OR_RETURN(Value value, statement.kind == StmtKind::Set
                                        ? evaluate(*statement.expr, scope)
                                        : filterBody(statement, scope));
  return assign(statement.target, value, scope);
}

Result<Renderer::Flow> Renderer::runWith(const Stmt &statement,
                                         const ScopePtr &scope) {
  auto inner = std::make_shared<Scope>(scope);
  for (const Binding &binding : statement.bindings) {
    // The values see the outer scope, not each other.
    MTP_ASSIGN_OR_RETURN(Value value, evaluate(*binding.value, scope));
    MTP_RETURN_IF_ERROR(assign(binding.target, value, inner));
  }
  return runBody(statement.body, inner);
}

Status Renderer::runCall(const Stmt &statement, const ScopePtr &scope) {
  const Expr &expr = *statement.expr;
  MTP_ASSIGN_OR_RETURN(Value callee, evaluate(*expr.children[0], scope));
  MTP_ASSIGN_OR_RETURN(Arguments arguments, evaluateArguments(expr, scope));
  arguments.named.emplace_back("caller", makeMacro(*statement.macro, scope));
  MTP_ASSIGN_OR_RETURN(Value value, call(callee, std::move(arguments)));
  return writeValue(value);
}

Status Renderer::assignAttribute(const Target &target, const Value &value,
                                 const ScopePtr &scope) {
  MTP_ASSIGN_OR_RETURN(Value space, lookUp(target.name, scope));
  if (!space.is(Kind::Namespace))
    return expected("a namespace to assign an attribute of", space);
  if (target.attribute[0] == '_')
    return invalidArgument(strCat("expected an attribute without '_' at its "
                                  "start, got '",
                                  target.attribute, "'"));
  auto &into = space.as<Namespace>();
  if (into.attributes.insert_or_assign(target.attribute, value).second)
    into.order.push_back(target.attribute);
  return okStatus();
}

Status Renderer::assign(const Target &target, const Value &value,
                        const ScopePtr &scope) {
  if (!target.attribute.empty())
    return place(assignAttribute(target, value, scope), target.position);
  if (target.parts.empty()) {
    scope->names[target.name] = value;
    return okStatus();
  }
  auto items = itemsOf(value);
  if (!items.isOk())
    return place(items.status(), target.position);
  if (items->size() != target.parts.size())
    return place(
        invalidArgument(strCat("expected ", target.parts.size(),
                               " values to assign, got ", items->size())),
        target.position);
  for (size_t i = 0; i < items->size(); ++i)
    MTP_RETURN_IF_ERROR(assign(target.parts[i], (*items)[i], scope));
  return okStatus();
}
