//===- Constraint.cpp - The grammar of a run ------------------------------===//

#include "tools/mtp-run/Constraint.h"
#include "runtime/artifact/MappedFile.h"
#include "runtime/calls/CallGrammar.h"
#include "runtime/constraint/GrammarConstraint.h"
#include "tools/support/ChatText.h"

using namespace mtp;

Result<RunGrammar> RunGrammar::read(const RunOptions &options,
                                    const Model &model,
                                    const Tokenizer *tokenizer) {
  RunGrammar grammar;
  bool isSchema = !options.jsonSchema.empty();
  const std::string &path = isSchema ? options.jsonSchema : options.grammar;
  if (path.empty())
    return grammar;
  std::string flag = isSchema ? "--json-schema" : "--grammar";
  if (!tokenizer || model.generation().eos.empty())
    return failedPrecondition(flag + ": expected an artifact with a tokenizer "
                                     "and end tokens, got one without");
  MTP_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  grammar.model = &model;
  grammar.tokenizer = tokenizer;
  grammar.origin = flag + " " + path;
  grammar.source.kind = isSchema ? grammar::Source::Kind::JsonSchema
                                 : grammar::Source::Kind::Gbnf;
  grammar.source.text.assign(reinterpret_cast<const char *>(file->data()),
                             file->size());
  MTP_ASSIGN_OR_RETURN(grammar.plain, grammar.make(AnswerStart()));
  return grammar;
}

RunGrammar::Made RunGrammar::make(const AnswerStart &start) const {
  auto compiled = compileAnswer(source, start, grammar::Limits());
  if (!compiled)
    return compiled.status().withContext(origin);
  std::function<bool(std::string_view)> isMark;
  if (start.place != ReasoningPlace::None)
    isMark = [&](std::string_view token) {
      return isCallMark(ToolFormat::None, start.reasoning, token);
    };
  MTP_ASSIGN_OR_RETURN(auto vocabulary,
                       grammarVocabulary(*tokenizer, model->envelope()->vocab,
                                         model->generation().eos, isMark));
  return makeConstraint(std::move(*compiled), std::move(vocabulary), tokenizer);
}

RunGrammar::Made RunGrammar::after(const AnswerStart &start) const {
  bool hasReasoning = start.place == ReasoningPlace::Before ||
                      start.place == ReasoningPlace::Inside;
  return plain && hasReasoning ? make(start) : plain;
}

RunGrammar::Made
RunGrammar::afterPrompt(std::span<const int32_t> prompt) const {
  if (!plain)
    return plain;
  MTP_ASSIGN_OR_RETURN(auto templates,
                       loadChatTemplate(*model, tokenizer, /*file=*/""));
  if (!templates)
    return plain;
  DecodeOptions decode;
  decode.skipSpecial = false;
  MTP_ASSIGN_OR_RETURN(std::string text, tokenizer->decode(prompt, decode));
  AnswerStart start =
      findStart(detectReasoningFormat(templates->source()), text, "");
  return start.place == ReasoningPlace::Inside ? make(start) : plain;
}
