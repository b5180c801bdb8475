//===- ChatTemplate.cpp - Conversations to prompts ------------------------===//

#include "runtime/chat/ChatTemplate.h"

#include "runtime/chat/SpecialTokenEscaper.h"
#include "runtime/core/StrCat.h"
#include "runtime/jinja/run/Template.h"
#include "runtime/jinja/value/JsonReader.h"
#include "runtime/utf8/Utf8.h"

using namespace mtp;
using namespace mtp::jinja;

namespace {

struct NamedTemplate {
  std::string name, source;
  Template parsed;
};

} // namespace

struct ChatTemplate::Impl {
  std::vector<NamedTemplate> templates;
  /// Variables of every rendering.
  std::vector<std::pair<Value, Value>> tokens;

  const NamedTemplate *find(std::string_view name) const;
  const NamedTemplate &choose(bool hasTools) const;
  Result<std::string> render(const Value &request,
                             const RenderOptions &options) const;
};

const NamedTemplate *ChatTemplate::Impl::find(std::string_view name) const {
  for (const NamedTemplate &one : templates)
    if (one.name == name)
      return &one;
  return nullptr;
}

/// Returns the template that transformers chooses.
const NamedTemplate &ChatTemplate::Impl::choose(bool hasTools) const {
  const NamedTemplate *one = hasTools ? find("tool_use") : nullptr;
  if (!one)
    one = find("default");
  return one ? *one : templates.front();
}

static bool isThere(const Value *value) { return value && !value->isNone(); }

/// Returns the variables of a rendering. Variables of the request replace the
/// others.
static Result<Value>
makeContext(const std::vector<std::pair<Value, Value>> &tokens,
            const Value &request) {
  DictBuilder builder;
  for (const auto &[name, value] : tokens)
    MTP_RETURN_IF_ERROR(builder.add(name, value));
  for (const char *name : {"tools", "documents"})
    MTP_RETURN_IF_ERROR(builder.add(Value(std::string(name)), Value()));
  MTP_RETURN_IF_ERROR(
      builder.add(Value(std::string("add_generation_prompt")), Value(true)));
  for (const auto &[name, value] : request.dict().entries)
    MTP_RETURN_IF_ERROR(builder.add(name, value));
  return std::move(builder).build();
}

/// Reads a request and checks the fields that every template reads.
static Result<Value> readRequest(std::string_view json) {
  MTP_ASSIGN_OR_RETURN(Value request, readTemplateJson(json));
  if (!request.is(Kind::Dict))
    return expected("an object with messages", request);
  const Value *messages = request.dict().find("messages");
  if (!messages)
    return invalidArgument("expected 'messages', got none");
  if (!messages->is(Kind::List))
    return expected("an array", *messages).withContext("messages");
  for (size_t i = 0; i < messages->items().size(); ++i)
    if (const Value &one = messages->items()[i]; !one.is(Kind::Dict))
      return expected("an object", one)
          .withContext(strCat("messages[", i, "]"));
  return request;
}

Result<std::string>
ChatTemplate::Impl::render(const Value &request,
                           const RenderOptions &options) const {
  MTP_ASSIGN_OR_RETURN(Value context, makeContext(tokens, request));
  return choose(isThere(request.dict().find("tools")))
      .parsed.render(context, options);
}

ChatTemplate::ChatTemplate(std::unique_ptr<const Impl> impl)
    : impl(std::move(impl)) {}
ChatTemplate::~ChatTemplate() = default;

Result<std::shared_ptr<const ChatTemplate>>
ChatTemplate::parse(const ChatSource &source) {
  auto impl = std::make_unique<Impl>();
  for (const auto &[name, text] : source.templates) {
    Result<Template> parsed = Template::parse(text);
    if (!parsed)
      return source.templates.size() == 1
                 ? parsed.status()
                 : parsed.status().withContext(strCat("template '", name, "'"));
    impl->templates.push_back({name, text, *std::move(parsed)});
  }
  if (impl->templates.empty())
    return invalidArgument("expected a chat template, got none");
  for (const auto &[name, text] : source.tokens) {
    if (!isValidUtf8(name) || !isValidUtf8(text))
      return invalidArgument("expected tokens of chat templates as UTF-8");
    impl->tokens.emplace_back(Value(name), Value(text));
  }
  return std::shared_ptr<const ChatTemplate>(new ChatTemplate(std::move(impl)));
}

std::string_view ChatTemplate::source(bool hasTools) const {
  return impl->choose(hasTools).source;
}

Result<std::string> ChatTemplate::render(std::string_view requestJson,
                                         const RenderOptions &options) const {
  MTP_ASSIGN_OR_RETURN(Value request, readRequest(requestJson));
  return impl->render(request, options);
}

Result<ChatPrompt> ChatTemplate::renderFor(const Tokenizer &tokenizer,
                                           std::string_view requestJson,
                                           const RenderOptions &options) const {
  MTP_ASSIGN_OR_RETURN(Value request, readRequest(requestJson));
  SpecialTokenEscaper marks(tokenizer.specialTokens());
  MTP_ASSIGN_OR_RETURN(request, marks.mark(request));
  MTP_ASSIGN_OR_RETURN(std::string text, impl->render(request, options));
  return marks.unmark(text);
}

Result<std::vector<TokenId>>
ChatTemplate::encode(std::string_view requestJson, const Tokenizer &tokenizer,
                     const RenderOptions &options) const {
  MTP_ASSIGN_OR_RETURN(ChatPrompt prompt,
                       renderFor(tokenizer, requestJson, options));
  EncodeOptions encode{/*addSpecial=*/false, /*parseSpecial=*/true};
  encode.literals = prompt.literals;
  return tokenizer.encode(prompt.text, encode);
}
