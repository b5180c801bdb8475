//===- FieldReaders.h - Read the fields of a request ------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_FIELDREADERS_H
#define MTP_TOOLS_MTP_SERVE_API_FIELDREADERS_H

#include "tools/mtp-serve/api/GenerationRequest.h"
#include "tools/mtp-serve/api/JsonFields.h"

#include <span>

namespace mtp::serve {

/// The operands of a field's reader.
struct Reading {
  GenerationRequest &request;
  const ModelFacts &facts;
  /// llama-server's number of last tokens that penalties count.
  int64_t repeatLastN = 64;
  /// The last field with a penalty of llama-server's meaning; empty: none.
  std::string windowedField = {};
};

using FieldReader = MaybeError (*)(std::string_view field,
                                   const JsonElement &element, Reading &to);

struct Field {
  std::string_view name;
  FieldReader read;
};

/// Reads a flag into a member of the request.
template <bool GenerationRequest::*Member>
MaybeError readFlagField(std::string_view field, const JsonElement &element,
                         Reading &to) {
  return readFlag(field, element, to.request.*Member);
}

/// Returns the field of a name, or null.
const Field *findField(std::span<const Field> fields, std::string_view name);

/// Returns the fields of all requests that generate.
std::span<const Field> samplingFields();
/// Returns the fields of penalties, biases and allowed tokens.
std::span<const Field> ruleFields();
/// Settles penalties over the last tokens after all fields are read. Returns a
/// 400 if they would count fewer tokens than the context has.
MaybeError settlePenalties(Reading &to);
/// Whether a field of this name describes a grammar.
bool isGrammarField(std::string_view name);

/// Reads the format of an answer, an object of the type `text`, `json_object`
/// or `json_schema`.
MaybeError readAnswerFormat(std::string_view field, const JsonElement &element,
                            Reading &to);

/// Reads all fields of a body that describe a grammar: `response_format`,
/// `structured_outputs`, `guided_*`, `grammar`, `json_schema`, `regex` and
/// `ebnf`. `request` does not change if none is set; null, `{}` and the format
/// `text` set nothing. Does not compile the grammar.
///
/// Returns a 400 that names the field if a value has a wrong type, or if two
/// grammars are set.
MaybeError readGrammarFields(const simdjson::dom::object &body,
                             std::optional<GrammarRequest> &request);

/// Returns the fields of prompts and of conversations.
std::span<const Field> promptFields();
std::span<const Field> conversationFields();

/// Return the fields for log-probabilities of one path: completions, where
/// `logprobs` is a number, OpenAI's chats, where it is a flag, and responses,
/// where `include` asks for them.
std::span<const Field> completionScoreFields();
std::span<const Field> chatScoreFields();
std::span<const Field> responseScoreFields();
/// Settles which log-probabilities a whole body asks for, and checks that the
/// model has them.
MaybeError settleScores(const ModelFacts &facts, GenerationRequest &request);

/// Adds a variable of the chat template to the conversation's JSON.
void addVariable(GenerationRequest &request, std::string_view name,
                 const std::string &json);

/// Returns an error whose message begins with the path of a value.
MaybeError pathError(const Status &status);

/// Returns the fields for tools of conversations, which completions lack.
std::span<const Field> toolFields();
/// Checks the tools of a request, after all fields were read, and passes them
/// to the template.
MaybeError settleTools(GenerationRequest &request, const ModelFacts &facts);

/// Records a field that no server is known to have, or refuses it if the
/// server is strict.
MaybeError ignoreField(std::string_view field, Reading &to);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_FIELDREADERS_H
