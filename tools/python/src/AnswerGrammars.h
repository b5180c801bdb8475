//===- AnswerGrammars.h - Constraints of answers ----------------*- C++ -*-===//

#ifndef MTP_TOOLS_PYTHON_SRC_ANSWERGRAMMARS_H
#define MTP_TOOLS_PYTHON_SRC_ANSWERGRAMMARS_H

#include "runtime/calls/CallGrammar.h"
#include "runtime/constraint/KeptConstraints.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mtp::python {

/// The tools that an answer may call, and the format of its calls.
struct AnswerTools {
  ToolSet set;
  /// The JSON of the tools.
  std::string json;
  ToolFormat format = ToolFormat::None;
  /// Whether an answer may have several calls, and whether it must have one.
  bool isParallel = true, isRequired = false;
  /// The only tool that an answer may call; empty: any.
  std::string only;

  /// Returns whether a tool has arguments that a grammar must enforce.
  bool hasStrict() const;
};

/// Compiles the grammars of answers over the vocabulary of one tokenizer.
/// Requests with equal grammars share a constraint. Any thread may call the
/// functions.
class AnswerGrammars {
public:
  using Made = KeptConstraints::Made;

  /// `tokenizer` must outlive the object and its constraints. `vocab` and
  /// `ends` are as for grammarVocabulary().
  AnswerGrammars(const Tokenizer &tokenizer, uint32_t vocab,
                 std::vector<int32_t> ends)
      : tokenizer(tokenizer), vocab(vocab), ends(std::move(ends)) {}

  /// Returns the texts of a grammar after the reasoning of an answer.
  /// `isCompact`: JSON has no white space between tokens.
  Made find(const grammar::Source &source, bool isCompact,
            const AnswerStart &start);
  /// Returns the answers with calls of tools. Messages begin with the path of a
  /// tool.
  Made findCalls(const AnswerTools &tools, const AnswerStart &start);

private:
  Made make(std::shared_ptr<const grammar::Grammar> grammar, ToolFormat format,
            ReasoningFormat reasoning);

  const Tokenizer &tokenizer;
  uint32_t vocab;
  std::vector<int32_t> ends;
  /// Vocabularies with the marks of calls and reasoning that are special
  /// tokens.
  std::map<std::pair<ToolFormat, ReasoningFormat>,
           std::shared_ptr<const grammar::Vocabulary>>
      vocabularies;
  KeptConstraints kept;
};

} // namespace mtp::python

#endif // MTP_TOOLS_PYTHON_SRC_ANSWERGRAMMARS_H
