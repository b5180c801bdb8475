//===- GrammarCompiler.h - Constraints of requests --------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_GRAMMARCOMPILER_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_GRAMMARCOMPILER_H

#include "runtime/constraint/ConstraintCache.h"
#include "tools/mtp-serve/api/GenerationRequest.h"

#include <optional>

namespace mtp::serve {

/// Compiles the grammars of requests. Requests with equal grammars share a
/// constraint. For one thread at a time.
class GrammarCompiler {
public:
  /// `facts` must outlive the compiler.
  explicit GrammarCompiler(const ModelFacts &facts) : facts(facts) {}

  /// Sets `constraint` to the texts of a grammar. Fails with a 400 that names
  /// the request's field.
  MaybeError compile(const GrammarRequest &asked,
                     std::shared_ptr<const TokenConstraint> &constraint);

private:
  const ModelFacts &facts;
  /// Made for the first grammar.
  std::optional<ConstraintCache> cache;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_GRAMMARCOMPILER_H
