//===- ChatTemplate.cpp - Messages to a prompt ----------------------------===//

#include "runtime/text/template/ChatTemplate.h"

#include "runtime/core/StrCat.h"
#include "runtime/text/Utf8.h"
#include "runtime/text/template/Evaluator.h"
#include "runtime/text/template/Parser.h"

using namespace mtp;

struct ChatTemplate::Tree {
  jinja::Body body;
};

ChatTemplate::ChatTemplate(std::unique_ptr<Tree> tree)
    : tree(std::move(tree)) {}
ChatTemplate::ChatTemplate(ChatTemplate &&) noexcept = default;
ChatTemplate &ChatTemplate::operator=(ChatTemplate &&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  if (source.size() > kMaxSourceBytes)
    return invalidArgument(strCat("expected a template of at most ",
                                  kMaxSourceBytes, " bytes, got ",
                                  source.size()));
  size_t invalid = findInvalidUtf8(source);
  if (invalid != source.size())
    return invalidArgument(
        strCat("expected UTF-8, got another byte at offset ", invalid));
  auto tree = std::make_unique<Tree>();
  MTP_ASSIGN_OR_RETURN(tree->body, jinja::parseTemplate(source));
  return ChatTemplate(std::move(tree));
}

Result<std::string> ChatTemplate::render(const jinja::Value &context,
                                         const RenderOptions &options) const {
  if (!context.is(jinja::Kind::Dict))
    return jinja::expected("a dict of variables", context);
  return jinja::Evaluator(context, options).run(tree->body);
}
