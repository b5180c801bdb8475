//===- request_fuzz.cpp - Untrusted bodies of requests --------------------===//

#include "runtime/utf8/Utf8.h"
#include "tools/mtp-serve/api/Prompts.h"
#include "tools/mtp-serve/api/RequestParser.h"
#include "tools/mtp-serve/api/TextRequest.h"

#include <cstdlib>

using namespace mtp;
using namespace mtp::serve;

namespace {

ModelFacts makeFacts() {
  static const auto chat = [] {
    auto parsed = ChatTemplate::parse(
        {{{"default", "{% for m in messages %}{{ m }}{% endfor %}{{ x }}"}},
         {}});
    if (!parsed)
      std::abort();
    return *parsed;
  }();
  ModelFacts facts;
  facts.names = {"fuzz"};
  facts.vocab = 64;
  facts.maxContext = 96;
  facts.maxK = 4;
  facts.slots = 4;
  facts.chat = chat.get();
  return facts;
}

using Parser = MaybeError(std::string_view, const ModelFacts &,
                          GenerationRequest &);

/// Checks that the message of an error is valid text in valid JSON.
void check(const MaybeError &error) {
  if (error && !isValidUtf8(errorJson(*error)))
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Reading bad words needs a tokenizer; other rules of logits need none.
  static const ModelFacts facts = [] {
    ModelFacts made = makeFacts();
    made.hasLogitRules = made.isReplica = true;
    return made;
  }();
  // Reading a body only needs to know whether there is a tokenizer.
  static const char standIn = 0;
  static const ModelFacts textFacts = [] {
    ModelFacts made = makeFacts();
    made.tokenizer = reinterpret_cast<const Tokenizer *>(&standIn);
    return made;
  }();
  std::string_view body(reinterpret_cast<const char *>(data), size);
  GenerationRequest ids, text, native;
  MaybeError error = parseCompletion(body, facts, ids);
  check(error);
  std::vector<PreparedPrompt> prompts;
  if (!error)
    check(preparePrompts(ids, facts, prompts));
  check(parseCompletion(body, textFacts, text));
  check(parseNative(body, textFacts, native));
  for (Parser *parse : {parseChat, parseMessages, parseResponses}) {
    GenerationRequest chat;
    error = parse(body, textFacts, chat);
    check(error);
    if (error)
      continue;
    // The template gets JSON that it can take, except numbers that are too
    // large for it. Such a failure is the request's fault, not the server's.
    Result<std::string> made = facts.chat->render(chat.conversation);
    if (!made && errorOf(made.status(), "messages").status != 400)
      std::abort();
  }
  return 0;
}
