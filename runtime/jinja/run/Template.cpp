//===- Template.cpp - Parses and renders Jinja ----------------------------===//

#include "runtime/jinja/run/Template.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/parse/Parser.h"
#include "runtime/jinja/run/Renderer.h"
#include "runtime/utf8/Utf8.h"

using namespace mtp;
using namespace mtp::jinja;

struct Template::Tree {
  ParsedTemplate parsed;
};

Template::Template(std::unique_ptr<Tree> tree) : tree(std::move(tree)) {}
Template::Template(Template &&) noexcept = default;
Template &Template::operator=(Template &&) noexcept = default;
Template::~Template() = default;

Result<Template> Template::parse(std::string_view source) {
  if (source.size() > kMaxTemplateBytes)
    return invalidArgument(strCat("expected a template of at most ",
                                  kMaxTemplateBytes, " bytes, got ",
                                  source.size()));
  size_t invalid = findInvalidUtf8(source);
  if (invalid != source.size())
    return invalidArgument(
        strCat("expected UTF-8, got another byte at offset ", invalid));
  auto tree = std::make_unique<Tree>();
  MTP_ASSIGN_OR_RETURN(tree->parsed, parseTemplate(source));
  return Template(std::move(tree));
}

Result<std::string> Template::render(const Value &context,
                                     const RenderOptions &options) const {
  if (!context.is(Kind::Dict))
    return expected("a dict of variables", context);
  const ParsedTemplate &parsed = tree->parsed;
  return Renderer(context, parsed.blocks, options).run(parsed.body);
}
