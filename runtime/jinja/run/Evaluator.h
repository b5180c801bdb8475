//===- Evaluator.h - Evaluates expressions ----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_RUN_EVALUATOR_H
#define MTP_RUNTIME_JINJA_RUN_EVALUATOR_H

#include "runtime/jinja/builtins/Filters.h"
#include "runtime/jinja/parse/Ast.h"
#include "runtime/jinja/run/Budget.h"
#include "runtime/jinja/run/Scope.h"

namespace mtp::jinja {

/// Evaluates the expressions of one rendering. Renderer runs its statements.
class Evaluator : public Rendering {
public:
  Evaluator(const Value &context, const Blocks &blocks,
            const RenderOptions &options)
      : root(std::make_shared<Scope>(nullptr)), budget(options),
        context(context), blocks(blocks), options(options) {}
  virtual ~Evaluator();
  Evaluator(const Evaluator &) = delete;
  Evaluator &operator=(const Evaluator &) = delete;

  Status charge(uint64_t work) override { return budget.charge(work); }
  Result<Value> applyFilter(const std::string &name, const Value &value,
                            Arguments arguments) override;
  Result<bool> applyTest(const std::string &name, const Value &value,
                         Arguments arguments) override;

protected:
  Result<Value> evaluate(const Expr &expr, const ScopePtr &scope);
  Result<Arguments> evaluateArguments(const Expr &expr, const ScopePtr &scope);
  /// Returns the variable, builtin function or undefined value of a name.
  Result<Value> lookUp(const std::string &name, const ScopePtr &scope);
  Result<Value> call(const Value &callee, Arguments arguments);
  Value makeMacro(const MacroNode &node, const ScopePtr &scope);
  /// Returns the output of a body as a string.
  virtual Result<Value> capture(const Body &body, const ScopePtr &scope) = 0;
  /// Adds a position to the message of an error. The innermost position stays.
  Status place(const Status &status, Position position);

  ScopePtr root;
  Budget budget;
  /// The string that the filters of a block start from.
  Value blockText;

private:
  Result<Value> evaluateKind(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateCall(const Expr &expr, const Value &first,
                             const ScopePtr &scope);
  Result<Value> evaluateContainer(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateSlice(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateCompare(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateConcat(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateLogic(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateConditional(const Expr &expr, const ScopePtr &scope);
  Result<Value> evaluateFilter(const Expr &expr, const ScopePtr &scope);

  // Calls.cpp
  Value selfValue();
  Status bindMacro(const MacroNode &node, Arguments &arguments,
                   const ScopePtr &scope);
  Result<Value> callFunction(Builtin function, Arguments &arguments);
  Result<Value> callNamespace(const Arguments &arguments);

  const Value &context;
  const Blocks &blocks;
  const RenderOptions &options;
  bool isPlaced = false;
  /// Scopes and namespaces that may contain themselves. The end of the
  /// rendering empties them.
  std::vector<ScopePtr> captured;
  std::vector<std::shared_ptr<Namespace>> spaces;
};

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_RUN_EVALUATOR_H
