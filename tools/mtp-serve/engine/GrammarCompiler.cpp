//===- GrammarCompiler.cpp - Constraints of requests ----------------------===//

#include "tools/mtp-serve/engine/GrammarCompiler.h"
#include "tools/mtp-serve/api/FieldReaders.h"
#include "tools/mtp-serve/api/tools/ToolFields.h"

using namespace mtp;
using namespace mtp::serve;

MaybeError
GrammarCompiler::compile(const GenerationRequest &request,
                         std::string_view prompt,
                         std::shared_ptr<const TokenConstraint> &constraint) {
  const ToolUse &use = request.tools;
  AnswerStart start;
  if (request.isChat)
    start = findStart(facts.reasoning, prompt,
                      facts.chat->source(/*hasTools=*/true));
  AnswerConstraints::Made made =
      use.isRestricted ? answers.findCalls({use.set, use.facts.format,
                                            use.isParallel, use.mustCall()},
                                           start)
                       : answers.findText(request.grammar->source,
                                          request.grammar->isCompact, start);
  if (!made && use.isRestricted)
    return pathError(toolStatus(made.status(), use.api));
  if (!made)
    return wrongField(request.grammar->field,
                      std::string(made.status().message()));
  constraint = std::move(*made);
  return std::nullopt;
}
