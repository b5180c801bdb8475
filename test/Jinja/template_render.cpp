//===- template_render.cpp - Renders cases for another program ------------===//
//
// template_render CASES reads a file with a line {"source": ..., "context":
// {...}} for each case. It prints a line {"text": ...} or {"error": ...} for
// each. The time is 6:07:08 on 5 March 2026, a Thursday.
//
// A context with messages is a conversation. Its template and tokens go through
// an artifact, and the rest of the context is the request.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/ChatTemplate.h"
#include "runtime/jinja/run/Template.h"
#include "runtime/jinja/value/Json.h"
#include "runtime/jinja/value/JsonReader.h"
#include "test/Runtime/support/FakeModel.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <string>

using namespace mtp;
using namespace mtp::jinja;

namespace {

RenderOptions thatTime() {
  RenderOptions options;
  options.now = std::tm();
  options.now->tm_year = 126;
  options.now->tm_mon = 2;
  options.now->tm_mday = 5;
  options.now->tm_hour = 6;
  options.now->tm_min = 7;
  options.now->tm_sec = 8;
  options.now->tm_wday = 4;
  options.now->tm_yday = 63;
  return options;
}

bool isToken(const std::string &name) { return name.ends_with("_token"); }

/// Returns the chat template of an artifact with that source and the tokens of
/// a context.
Result<std::shared_ptr<const ChatTemplate>>
throughArtifact(const std::string &source, const Dict &context) {
  test::ArtifactBuilder builder = test::makeFakeModel();
  builder.chatTemplates = {{"default", source}};
  for (const auto &[key, value] : context.entries)
    if (isToken(key.bytes()))
      builder.chatTokens.emplace_back(key.bytes(), value.bytes());
  std::string path = test::writeFile("chat_render.bin", builder.finish());
  MTP_ASSIGN_OR_RETURN(auto model, Model::load(path));
  std::remove(path.c_str());
  return ChatTemplate::parse(*model->chatTemplate());
}

Result<std::string> renderChat(const std::string &source, const Dict &context) {
  // The cases of a template are consecutive and have the same tokens.
  static std::string last;
  static std::shared_ptr<const ChatTemplate> chat;
  if (source != last || !chat) {
    MTP_ASSIGN_OR_RETURN(chat, throughArtifact(source, context));
    last = source;
  }
  DictBuilder request;
  for (const auto &[key, value] : context.entries)
    if (!isToken(key.bytes()))
      MTP_RETURN_IF_ERROR(request.add(key, value));
  MTP_ASSIGN_OR_RETURN(Value dict, std::move(request).build());
  MTP_ASSIGN_OR_RETURN(std::string json, toJson(dict, JsonStyle()));
  return chat->render(json, thatTime());
}

Result<std::string> render(const Dict &one) {
  const std::string &source = one.find("source")->bytes();
  const Value &context = *one.find("context");
  if (const Value *messages = context.dict().find("messages");
      messages && messages->is(Kind::List))
    return renderChat(source, context.dict());
  MTP_ASSIGN_OR_RETURN(Template parsed, Template::parse(source));
  return parsed.render(context, thatTime());
}

Status print(const char *key, std::string text) {
  DictBuilder builder;
  MTP_RETURN_IF_ERROR(
      builder.add(Value(std::string(key)), Value(std::move(text))));
  MTP_ASSIGN_OR_RETURN(Value dict, std::move(builder).build());
  MTP_ASSIGN_OR_RETURN(std::string json, toJson(dict, JsonStyle()));
  std::puts(json.c_str());
  return okStatus();
}

int fail(const Status &status) {
  std::fprintf(stderr, "template_render: error: %s\n",
               status.toString().c_str());
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  std::ifstream file(argc == 2 ? argv[1] : "", std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    auto one = readTemplateJson(line);
    if (!one.isOk() || !one->is(Kind::Dict))
      return fail(one.status());
    auto rendered = render(one->dict());
    Status printed = rendered.isOk()
                         ? print("text", *std::move(rendered))
                         : print("error", rendered.status().toString());
    if (!printed.isOk())
      return fail(printed);
  }
  return 0;
}
