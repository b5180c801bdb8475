//===- GrammarCompiler.h - Constraints of requests --------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_ENGINE_GRAMMARCOMPILER_H
#define MTP_TOOLS_MTP_SERVE_ENGINE_GRAMMARCOMPILER_H

#include "runtime/calls/CallGrammar.h"
#include "runtime/constraint/KeptConstraints.h"
#include "tools/mtp-serve/api/GenerationRequest.h"

namespace mtp::serve {

/// Compiles the grammars of requests. Requests with equal grammars share a
/// constraint, which keeps its masks. For one thread at a time.
class GrammarCompiler {
public:
  /// `facts` must outlive the compiler.
  explicit GrammarCompiler(const ModelFacts &facts) : facts(facts) {}

  /// Sets `constraint` to the texts of a request's grammar, or to the answers
  /// with its tool calls. `prompt` is the text of its prompt. Fails with a 400
  /// that names the request's field.
  MaybeError compile(const GenerationRequest &request, std::string_view prompt,
                     std::shared_ptr<const TokenConstraint> &constraint);

private:
  using Made = KeptConstraints::Made;
  Made make(const GrammarRequest &asked, const AnswerStart &start);
  Made makeCalls(const ToolUse &use, const CallDemand &demand);
  /// Returns how the answer to a conversation begins.
  AnswerStart startOf(std::string_view prompt) const;
  CallDemand demandOf(const ToolUse &use, const AnswerStart &start) const;
  /// Returns the vocabulary, with special tokens that are marks or without.
  Result<std::shared_ptr<const grammar::Vocabulary>>
  vocabularyOf(bool hasMarks);

  const ModelFacts &facts;
  /// Made on first use. Marks of reasoning and of calls can be special tokens.
  std::shared_ptr<const grammar::Vocabulary> plain, withMarks;
  KeptConstraints kept;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_ENGINE_GRAMMARCOMPILER_H
