//===- Evaluator.h - Renders a template -------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_RUN_EVALUATOR_H
#define MTP_RUNTIME_JINJA_RUN_EVALUATOR_H

#include "runtime/jinja/run/Callable.h"
#include "runtime/jinja/run/Loop.h"
#include "runtime/jinja/run/Template.h"
#include "runtime/jinja/value/Arguments.h"

namespace mtp::jinja {

/// One rendering.
class Evaluator {
public:
  Evaluator(const Value &context, const Blocks &blocks,
            const RenderOptions &options)
      : context(context), blocks(blocks), options(options),
        root(std::make_shared<Scope>(nullptr)) {}
  ~Evaluator();
  Evaluator(const Evaluator &) = delete;
  Evaluator &operator=(const Evaluator &) = delete;

  Result<std::string> run(const Body &body);

  /// What filters that take filters or tests need.
  Result<Value> applyFilter(const std::string &name, const Value &value,
                            Arguments arguments);
  Result<bool> applyTest(const std::string &name, const Value &value,
                         Arguments arguments);
  /// Counts work, 1 for what a node of the tree takes; fails beyond the limit.
  Status charge(uint64_t work);

private:
  enum class Flow : uint8_t { Next, Break, Continue };

  // Statements.cpp
  Result<Flow> runBody(const Body &body, const ScopePtr &scope);
  Result<Flow> runStatement(const Stmt &statement, const ScopePtr &scope);
  Result<Flow> runKind(const Stmt &statement, const ScopePtr &scope);
  Result<Flow> runIf(const Stmt &statement, const ScopePtr &scope);
  Result<Flow> runFor(const Stmt &statement, const ScopePtr &scope);
  Result<Flow> runLoop(const Stmt &statement, const ScopePtr &scope,
                       const Value &over, int depth);
  Result<Flow> runIterations(const Stmt &statement, const ScopePtr &scope,
                             const std::shared_ptr<Loop> &loop);
  Status runPrint(const Stmt &statement, const ScopePtr &scope);
  Status runSet(const Stmt &statement, const ScopePtr &scope);
  Result<Flow> runWith(const Stmt &statement, const ScopePtr &scope);
  Status runCall(const Stmt &statement, const ScopePtr &scope);
  Result<Value> filterBody(const Stmt &statement, const ScopePtr &scope);
  Status assign(const Target &target, const Value &value,
                const ScopePtr &scope);
  /// What a body writes, as a string.
  Result<Value> capture(const Body &body, const ScopePtr &scope);
  Status write(std::string_view text);
  Value makeMacro(const MacroNode &node, const ScopePtr &scope);

  // Evaluator.cpp
  Result<Value> evaluate(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateKind(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateContainer(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateSlice(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateCompare(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateConcat(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateLogic(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateConditional(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateFilter(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateTest(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateCall(const Expr &expr, const ScopePtr &scope);
  Result<Arguments> evaluateArguments(const Expr &expr, const ScopePtr &scope);
  Result<Value> lookUp(const std::string &name, const ScopePtr &scope) const;
  Status enter();
  Status chargeFor(const Value &made);
  Status place(const Status &status, Position position);

  // Calls.cpp
  Result<Value> call(const Value &callee, Arguments arguments);
  Result<Value> callMacro(const Macro &macro, Arguments arguments);
  Status bindMacro(const Macro &macro, Arguments arguments,
                   const ScopePtr &scope);
  Status bindRest(const MacroNode &node, Arguments arguments, Scope &scope);
  Result<Value> callFunction(Builtin function, Arguments arguments);
  Result<Value> callNamespace(const Arguments &arguments);
  Result<Value> callStrftime(const Arguments &arguments) const;

  const Value &context;
  const Blocks &blocks;
  const RenderOptions &options;
  ScopePtr root;
  std::string output;
  std::string *out = &output;
  /// What the filters of a block start from.
  Value blockText;
  uint64_t steps = 0;
  uint64_t madeBytes = 0;
  uint32_t depth = 0;
  bool isPlaced = false;
  /// Macros and namespaces may hold themselves: these are emptied at the end.
  std::vector<ScopePtr> captured;
  std::vector<std::shared_ptr<Namespace>> spaces;
};

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_RUN_EVALUATOR_H
