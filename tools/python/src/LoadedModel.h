//===- LoadedModel.h - A model with its texts -------------------*- C++ -*-===//

#ifndef MTP_TOOLS_PYTHON_SRC_LOADEDMODEL_H
#define MTP_TOOLS_PYTHON_SRC_LOADEDMODEL_H

#include "mtp/chat.h"
#include "mtp/model.h"
#include "mtp/tokenizer.h"
#include "runtime/cache/FileCache.h"
#include "runtime/chat/CallForm.h"
#include "runtime/chat/ReasoningSplitter.h"
#include "runtime/constraint/answers/AnswerConstraints.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace mtp::python {

/// The texts that an answer may be: texts of a grammar, or calls of tools.
struct AskedConstraint {
  grammar::Source source;
  bool isCompact = false;
  /// Null: the text of a grammar.
  std::shared_ptr<const AnswerCalls> calls;
  /// How the answer marks reasoning, and the text of its prompt. Empty: the
  /// answer continues a text.
  std::string reasoning, prompt;
};

/// A model, its tokenizer and its chat template. Sessions and decoders keep it
/// alive.
class LoadedModel {
public:
  /// Loads an artifact. `cached` keeps its file in the cache.
  static Result<std::shared_ptr<const LoadedModel>>
  load(const std::string &path, const LoadOptions &options,
       std::optional<cache::UsedFile> cached);

  const std::shared_ptr<const Model> &model() const { return loaded; }
  /// Fails if the artifact has no tokenizer.
  Result<const Tokenizer *> tokenizer() const;
  /// Fails if the artifact has no chat template or its template has a mistake.
  Result<const ChatTemplate *> chat() const;
  /// Returns the text of a conversation, a JSON object for ChatTemplate, and
  /// its ids.
  Result<std::pair<std::string, std::vector<int32_t>>>
  encodeChat(std::string_view request) const;
  /// Returns the marks of reasoning of a name; "auto": the marks of the chat
  /// template.
  Result<ReasoningFormat> reasoning(std::string_view name) const;
  /// Returns the form in which the chat template reads calls.
  Result<CallForm> callForm() const;
  /// Returns what an answer may be. Fails if the artifact has no tokenizer or
  /// no end tokens.
  AnswerConstraints::Made constraint(const AskedConstraint &asked) const;

private:
  LoadedModel() = default;
  Result<AnswerStart> startOf(const AskedConstraint &asked) const;

  // Members that use others come after them.
  std::optional<cache::UsedFile> cached;
  std::shared_ptr<const Model> loaded;
  std::unique_ptr<Tokenizer> texts;
  mutable std::optional<AnswerConstraints> answers;
  mutable std::once_flag isChatLoaded, isFormFound;
  mutable CallForm form;
  /// Null: not loaded yet, or none, or `chatStatus` is a failure.
  mutable std::shared_ptr<const ChatTemplate> chatTemplate;
  mutable Status chatStatus;
};

} // namespace mtp::python

#endif // MTP_TOOLS_PYTHON_SRC_LOADEDMODEL_H
