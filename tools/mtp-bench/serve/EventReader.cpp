//===- EventReader.cpp - Events of a streamed answer ----------------------===//

#include "tools/mtp-bench/serve/EventReader.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonTree.h"

using namespace mtp;
using namespace mtp::bench;
using simdjson::dom::element;

/// Limit on the bytes of an event, against a server that never ends one.
static constexpr size_t kMostEvent = 16 << 20;

struct EventReader::Parser {
  JsonTree json;
};

EventReader::EventReader() : parser(std::make_unique<Parser>()) {}
EventReader::EventReader(EventReader &&) = default;
EventReader &EventReader::operator=(EventReader &&) = default;
EventReader::~EventReader() = default;

void EventReader::append(std::string_view bytes) {
  text.erase(0, begin);
  begin = 0;
  text.append(bytes);
}

Result<bool> EventReader::next(StreamEvent &event) {
  event = {};
  // Lines without data (comments, names, empty lines) are skipped.
  for (;;) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) {
      if (text.size() - begin > kMostEvent)
        return dataLoss("expected an event that ends, got 16 MiB of one");
      return false;
    }
    std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (!line.starts_with("data:"))
      continue;
    line.remove_prefix(5);
    if (line.starts_with(' '))
      line.remove_prefix(1);
    MTP_RETURN_IF_ERROR(parse(line, event));
    return true;
  }
}

/// Returns the size of a text or an array at `name`; zero if there is none.
static size_t sizeAt(element at, std::string_view name) {
  std::string_view text;
  simdjson::dom::array array;
  if (!at[name].get(text))
    return text.size();
  return at[name].get(array) ? 0 : array.size();
}

static void readUsage(element usage, StreamEvent &event) {
  uint64_t count = 0;
  if (!usage["prompt_tokens"].get(count))
    event.promptTokens = count;
  if (!usage["completion_tokens"].get(count))
    event.outputTokens = count;
  if (!usage["prompt_tokens_details"]["cached_tokens"].get(count))
    event.cachedTokens = count;
}

static void readChoice(element choice, StreamEvent &event) {
  size_t ids = sizeAt(choice, "token_ids");
  event.ids += ids;
  size_t text = sizeAt(choice, "text");
  element delta;
  if (!choice["delta"].get(delta))
    text += sizeAt(delta, "content") + sizeAt(delta, "reasoning_content");
  event.hasOutput |= ids + text > 0;
}

Status EventReader::parse(std::string_view data, StreamEvent &event) {
  event.isLast = data == "[DONE]";
  if (event.isLast)
    return okStatus();
  if (!parser->json.parse(data).isOk())
    return dataLoss(
        strCat("expected an event of JSON, got '", data.substr(0, 80), "'"));
  element root = parser->json.root();
  element at;
  std::string_view message;
  if (!root["error"].get(at) && !at.is_null())
    event.error = at["message"].get(message) ? "an error" : message;
  if (!root["usage"].get(at))
    readUsage(at, event);
  simdjson::dom::array choices;
  if (!root["choices"].get(choices))
    for (element choice : choices)
      readChoice(choice, event);
  return okStatus();
}
