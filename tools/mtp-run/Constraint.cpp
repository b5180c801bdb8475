//===- Constraint.cpp - The grammar of a run ------------------------------===//

#include "tools/mtp-run/Constraint.h"
#include "runtime/artifact/MappedFile.h"
#include "runtime/constraint/GrammarConstraint.h"

using namespace mtp;

Result<std::shared_ptr<const TokenConstraint>>
mtp::readConstraint(const RunOptions &options, const Model &model,
                    const Tokenizer *tokenizer) {
  bool isSchema = !options.jsonSchema.empty();
  const std::string &path = isSchema ? options.jsonSchema : options.grammar;
  if (path.empty())
    return std::shared_ptr<const TokenConstraint>();
  std::string flag = isSchema ? "--json-schema" : "--grammar";
  if (!tokenizer || model.generation().eos.empty())
    return failedPrecondition(flag + ": expected an artifact with a tokenizer "
                                     "and end tokens, got one without");
  MTP_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  grammar::Source source;
  source.kind = isSchema ? grammar::Source::Kind::JsonSchema
                         : grammar::Source::Kind::Gbnf;
  source.text.assign(reinterpret_cast<const char *>(file->data()),
                     file->size());
  auto compiled = grammar::compile(source);
  if (!compiled)
    return compiled.status().withContext(flag + " " + path);
  MTP_ASSIGN_OR_RETURN(auto vocabulary,
                       grammarVocabulary(*tokenizer, model.envelope()->vocab,
                                         model.generation().eos));
  return makeConstraint(std::move(*compiled), std::move(vocabulary), tokenizer);
}
