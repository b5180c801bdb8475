//===- LoadedModel.h - A model with its texts -------------------*- C++ -*-===//

#ifndef MTP_TOOLS_PYTHON_SRC_LOADEDMODEL_H
#define MTP_TOOLS_PYTHON_SRC_LOADEDMODEL_H

#include "mtp/chat.h"
#include "mtp/model.h"
#include "mtp/tokenizer.h"
#include "runtime/cache/FileCache.h"
#include "runtime/chat/CallForm.h"
#include "runtime/chat/ReasoningSplitter.h"
#include "runtime/constraint/ConstraintCache.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace mtp::python {

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
  /// Returns the marks of reasoning that the chat template uses.
  Result<ReasoningFormat> reasoning() const;
  /// Returns the form in which the chat template reads calls.
  Result<CallForm> callForm() const;
  /// Returns the texts of a grammar as a constraint, which requests with equal
  /// grammars share. Fails if the artifact has no tokenizer or no end tokens.
  Result<std::shared_ptr<const TokenConstraint>>
  constraint(const grammar::Source &source, bool isCompact) const;

private:
  LoadedModel() = default;

  // Members that use others come after them.
  std::optional<cache::UsedFile> cached;
  std::shared_ptr<const Model> loaded;
  std::unique_ptr<Tokenizer> texts;
  /// Absent: the artifact has no tokenizer or no envelope.
  mutable std::optional<ConstraintCache> constraints;
  mutable std::once_flag isChatLoaded, isFormFound;
  mutable CallForm form;
  /// Null: not loaded yet, or none, or `chatStatus` is a failure.
  mutable std::shared_ptr<const ChatTemplate> chatTemplate;
  mutable Status chatStatus;
};

} // namespace mtp::python

#endif // MTP_TOOLS_PYTHON_SRC_LOADEDMODEL_H
