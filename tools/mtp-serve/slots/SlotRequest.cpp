//===- SlotRequest.cpp - Save, restore and erase prefixes -----------------===//

#include "tools/mtp-serve/slots/SlotRequest.h"
#include "runtime/core/StrCat.h"
#include "runtime/saved/PrefixFile.h"
#include "tools/mtp-serve/api/JsonFields.h"
#include "tools/mtp-serve/api/RequestParser.h"

#include <charconv>

using namespace mtp;
using namespace mtp::serve;

/// Returns the value of a name in a query; empty without one.
static std::string_view queryValue(std::string_view query,
                                   std::string_view name) {
  while (!query.empty()) {
    size_t end = std::min(query.find('&'), query.size());
    std::string_view part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (part.size() > name.size() && part.starts_with(name) &&
        part[name.size()] == '=')
      return part.substr(name.size() + 1);
  }
  return {};
}

MaybeError serve::parseSlotTarget(const HttpRequest &request,
                                  const ModelFacts &facts, SlotRequest &slot) {
  std::string_view number(request.path);
  if (number.ends_with('/'))
    number.remove_suffix(1);
  number.remove_prefix(number.rfind('/') + 1);
  const char *end = number.data() + number.size();
  auto [rest, error] = std::from_chars(number.data(), end, slot.slot);
  if (error != std::errc() || rest != end || slot.slot >= facts.slots)
    return wrongField("id_slot",
                      strCat("expected a slot from 0 to ", facts.slots - 1,
                             ", got '", number, "'"));
  std::string_view action = queryValue(request.query, "action");
  if (action == "save")
    slot.action = SlotAction::Save;
  else if (action == "restore")
    slot.action = SlotAction::Restore;
  else if (action == "erase")
    slot.action = SlotAction::Erase;
  else
    return wrongField("action", strCat("expected the action save, restore or "
                                       "erase, got '",
                                       action, "'"));
  return std::nullopt;
}

/// Encodes the prompt or the conversation of a body, as an answer to it would
/// read it.
static MaybeError encodePrompt(std::string_view body, const ModelFacts &facts,
                               bool isChat, const std::atomic<bool> &cancelled,
                               SlotRequest &slot) {
  GenerationRequest request;
  // The name of the file is no field of answers.
  ModelFacts lenient = facts;
  lenient.isStrict = false;
  MaybeError error = isChat ? parseChat(body, lenient, request)
                            : parseNative(body, lenient, request);
  if (error)
    return error;
  std::vector<PreparedPrompt> prompts;
  if (MaybeError wrong = preparePrompts(request, facts, prompts, &cancelled))
    return wrong;
  if (prompts.size() != 1)
    return wrongField("prompt",
                      strCat("expected one prompt, got ", prompts.size()));
  slot.prompt = std::move(prompts[0].ids);
  slot.cacheSalt = std::move(request.cacheSalt);
  slot.ignored = std::move(request.ignored);
  std::erase(slot.ignored, "filename");
  return std::nullopt;
}

/// Reads the fields of a body without a prompt.
static MaybeError readPlain(const simdjson::dom::object &object,
                            SlotRequest &slot) {
  for (auto [key, value] : object) {
    if (key == "cache_salt") {
      if (MaybeError error = readText(key, value, slot.cacheSalt))
        return error;
    } else if (key != "filename" && key != "model") {
      slot.ignored.emplace_back(key);
    }
  }
  return std::nullopt;
}

/// Checks that the action has what it needs.
static MaybeError checkNeeds(const SlotRequest &slot) {
  bool hasName = !slot.filename.empty(), hasPrompt = !slot.prompt.empty();
  if (slot.action == SlotAction::Erase && !hasName && !hasPrompt)
    return wrongField("filename", "expected a 'filename' to remove or a "
                                  "'prompt' to forget, got neither");
  if (slot.action != SlotAction::Erase && !hasName)
    return wrongField("filename", "expected a 'filename', got none");
  if (slot.action == SlotAction::Save && !hasPrompt)
    return wrongField("prompt", "expected a 'prompt' or 'messages' whose "
                                "prefix is saved, got neither: a sequence has "
                                "no slot of its own");
  return std::nullopt;
}

MaybeError serve::parseSlotBody(std::string_view body, const ModelFacts &facts,
                                const std::atomic<bool> &cancelled,
                                SlotRequest &slot) {
  JsonBody json;
  if (MaybeError error = json.parse(body.empty() ? "{}" : body))
    return error;
  JsonElement value;
  if (!json.object().at_key("filename").get(value)) {
    if (MaybeError error = readText("filename", value, slot.filename))
      return error;
    if (!saved::isPlainName(slot.filename))
      return wrongField(
          "filename", "expected a plain file name of 1 to 128 bytes: no "
                      "separators or control characters, no dot at the start");
  }
  bool isChat = !json.object().at_key("messages").get(value);
  bool hasPrompt = isChat || !json.object().at_key("prompt").get(value);
  MaybeError error = hasPrompt
                         ? encodePrompt(body, facts, isChat, cancelled, slot)
                         : readPlain(json.object(), slot);
  if (error)
    return error;
  if (facts.isStrict && !slot.ignored.empty())
    return wrongField(slot.ignored[0], strCat("expected no '", slot.ignored[0],
                                              "', which is not known here"));
  return checkNeeds(slot);
}
