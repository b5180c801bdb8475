//===- GrammarCompiler.h - Constraints of requests --------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_GRAMMARCOMPILER_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_GRAMMARCOMPILER_H

#include "runtime/constraint/GrammarConstraint.h"
#include "tools/mtp-serve/api/GenerationRequest.h"

#include <list>

namespace mtp::serve {

/// Compiles the grammars of requests. Requests with equal grammars share a
/// constraint, which keeps its masks. For one thread at a time.
class GrammarCompiler {
public:
  /// `facts` must outlive the compiler.
  explicit GrammarCompiler(const ModelFacts &facts) : facts(facts) {}

  /// The number of constraints that are kept, the last ones used. Each takes at
  /// most Limits::cacheBytes.
  static constexpr size_t kMostKept = 16;

  /// Sets `constraint` to the texts of a grammar. Fails with a 400 that names
  /// the request's field.
  MaybeError compile(const GrammarRequest &asked,
                     std::shared_ptr<const TokenConstraint> &constraint);

private:
  struct Kept {
    std::string key;
    std::shared_ptr<const TokenConstraint> constraint;
  };
  Result<std::shared_ptr<const TokenConstraint>>
  make(const GrammarRequest &asked);

  const ModelFacts &facts;
  /// Made for the first grammar.
  std::shared_ptr<const grammar::Vocabulary> vocabulary;
  /// The last one used first.
  std::list<Kept> kept;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_GRAMMARCOMPILER_H
