//===- Renderer.h - Runs statements -----------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_RUN_RENDERER_H
#define MTP_RUNTIME_JINJA_RUN_RENDERER_H

#include "runtime/jinja/run/Evaluator.h"
#include "runtime/jinja/run/Loop.h"

namespace mtp::jinja {

/// One rendering of a template.
class Renderer final : public Evaluator {
public:
  using Evaluator::Evaluator;

  Result<std::string> run(const Body &body);

private:
  enum class Flow : uint8_t { Next, Break, Continue };

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
  Status assignAttribute(const Target &target, const Value &value,
                         const ScopePtr &scope);
  Result<Value> capture(const Body &body, const ScopePtr &scope) override;
  Status write(std::string_view text);
  Status writeValue(const Value &value);

  std::string output;
  /// The text that write() appends to: `output`, or a text that is captured.
  std::string *out = &output;
};

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_RUN_RENDERER_H
