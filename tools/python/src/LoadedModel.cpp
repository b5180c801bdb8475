//===- LoadedModel.cpp - A model with its texts ---------------------------===//

#include "tools/python/src/LoadedModel.h"

#include "runtime/core/StrCat.h"
#include "tools/support/ChatText.h"
#include "tools/support/PromptText.h"

using namespace mtp;
using namespace mtp::python;

Result<std::shared_ptr<const LoadedModel>>
LoadedModel::load(const std::string &path, const LoadOptions &options,
                  std::optional<cache::UsedFile> cached) {
  std::shared_ptr<LoadedModel> made(new LoadedModel());
  MTP_ASSIGN_OR_RETURN(made->loaded, Model::load(path, options));
  MTP_ASSIGN_OR_RETURN(made->texts, loadTokenizer(*made->loaded));
  made->cached = std::move(cached);
  const EnvelopeInfo *envelope = made->loaded->envelope();
  made->answers.emplace(made->texts.get(), envelope ? envelope->vocab : 0,
                        made->loaded->generation().eos);
  return std::shared_ptr<const LoadedModel>(std::move(made));
}

Result<const Tokenizer *> LoadedModel::tokenizer() const {
  if (!texts)
    return failedPrecondition(
        "expected an artifact with a tokenizer, got none; prompts can be ids");
  return static_cast<const Tokenizer *>(texts.get());
}

Result<const ChatTemplate *> LoadedModel::chat() const {
  MTP_ASSIGN_OR_RETURN(const Tokenizer *tokenizer, this->tokenizer());
  std::call_once(isChatLoaded, [&] {
    auto parsed = loadChatTemplate(*loaded, tokenizer, "");
    if (parsed)
      chatTemplate = std::move(*parsed);
    else
      chatStatus = parsed.status();
    if (parsed && !chatTemplate)
      chatStatus = failedPrecondition(
          "expected an artifact with a chat template, got none");
  });
  MTP_RETURN_IF_ERROR(chatStatus);
  return chatTemplate.get();
}

Result<std::pair<std::string, std::vector<int32_t>>>
LoadedModel::encodeChat(std::string_view request) const {
  MTP_ASSIGN_OR_RETURN(const ChatTemplate *templates, chat());
  MTP_ASSIGN_OR_RETURN(ChatPrompt prompt,
                       templates->renderFor(*texts, request));
  EncodeOptions options{/*addSpecial=*/false, /*parseSpecial=*/true};
  options.literals = prompt.literals;
  MTP_ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                       texts->encode(prompt.text, options));
  return std::pair(std::move(prompt.text), std::move(ids));
}

Result<ReasoningFormat> LoadedModel::reasoning(std::string_view name) const {
  if (name == "auto") {
    MTP_ASSIGN_OR_RETURN(const ChatTemplate *templates, chat());
    return detectReasoningFormat(templates->source());
  }
  if (std::optional<ReasoningFormat> format = findReasoningFormat(name))
    return *format;
  std::string names;
  for (std::string_view known : reasoningFormatNames())
    names += strCat(names.empty() ? "" : ", ", known);
  return invalidArgument(
      strCat("reasoning: expected 'auto' or the name of a format (", names,
             "), got '", name, "'"));
}

Result<CallForm> LoadedModel::callForm() const {
  MTP_ASSIGN_OR_RETURN(const ChatTemplate *templates, chat());
  std::call_once(isFormFound, [&] { form = findCallForm(*templates); });
  return form;
}

/// Returns how the answer to a conversation begins.
Result<AnswerStart> LoadedModel::startOf(const AskedConstraint &asked) const {
  if (asked.reasoning.empty())
    return AnswerStart();
  MTP_ASSIGN_OR_RETURN(ReasoningFormat format, reasoning(asked.reasoning));
  MTP_ASSIGN_OR_RETURN(const ChatTemplate *templates, chat());
  if (asked.reasoning == "auto")
    return findStart(format, asked.prompt,
                     templates->source(/*hasTools=*/true));
  return AnswerStart{format, findReasoningPlace(format, asked.prompt)};
}

AnswerConstraints::Made
LoadedModel::constraint(const AskedConstraint &asked) const {
  MTP_ASSIGN_OR_RETURN(AnswerStart start, startOf(asked));
  return asked.calls ? answers->findCalls(*asked.calls, start)
                     : answers->findText(asked.source, asked.isCompact, start);
}
