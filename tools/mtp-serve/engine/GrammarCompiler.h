//===- GrammarCompiler.h - Constraints of requests --------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_GRAMMARCOMPILER_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_GRAMMARCOMPILER_H

#include "runtime/constraint/answers/AnswerConstraints.h"
#include "tools/mtp-serve/api/GenerationRequest.h"

namespace mtp::serve {

/// Compiles the grammars of requests. Requests with equal grammars share a
/// constraint, which keeps its masks.
class GrammarCompiler {
public:
  /// `facts` must outlive the compiler.
  explicit GrammarCompiler(const ModelFacts &facts)
      : facts(facts),
        answers(facts.tokenizer, facts.vocab, facts.generation.eos) {}

  /// Sets `constraint` to the texts of a request's grammar, or to the answers
  /// with its tool calls. `prompt` is the text of its prompt. Fails with a 400
  /// that names the request's field.
  MaybeError compile(const GenerationRequest &request, std::string_view prompt,
                     std::shared_ptr<const TokenConstraint> &constraint);

private:
  const ModelFacts &facts;
  AnswerConstraints answers;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_GRAMMARCOMPILER_H
