//===- AnswerText.h - The text of an output as it arrives -------*- C++ -*-===//

#ifndef MTP_TOOLS_PYTHON_SRC_ANSWERTEXT_H
#define MTP_TOOLS_PYTHON_SRC_ANSWERTEXT_H

#include "mtp/session.h"
#include "mtp/stream_decoder.h"
#include "runtime/chat/StopStrings.h"
#include "runtime/chat/tools/ToolCallParser.h"
#include "tools/python/src/LoadedModel.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mtp::python {

struct AnswerOptions {
  /// How the answer marks reasoning. `prompt` is the text of the prompt, in
  /// which the reasoning may already begin.
  ReasoningFormat reasoning = ReasoningFormat::None;
  std::string prompt;
  /// Strings that end the text. None of them is empty.
  std::vector<std::string> stops;
  /// The number of first tokens whose text is not searched for stop strings.
  uint32_t minTokens = 0;
  /// Null: the answer has no calls.
  std::shared_ptr<const AnswerCalls> tools;
};

/// A complete call of a tool. The arguments are a JSON object.
struct AnswerCall {
  std::string name, arguments;
};

/// The parts of an answer.
struct AnswerNews {
  std::string content, reasoning;
  std::vector<AnswerCall> calls;
};

/// Turns the tokens of a sequence into text, reasoning and calls, up to a stop
/// string. For one thread at a time.
class AnswerText {
public:
  /// Fails if the model has no tokenizer or a stop string is empty.
  static Result<std::unique_ptr<AnswerText>>
  create(std::shared_ptr<const LoadedModel> model, AnswerOptions options);

  /// Adds the tokens of an update. At a stop string, or at the end of the only
  /// call, removes later tokens and their numbers from the update, and sets its
  /// end to FinishReason::Stop. The sequence still runs then.
  Status take(SequenceUpdate &update);

  /// Returns the parts since the last call.
  AnswerNews takeNews() { return std::exchange(news, {}); }
  /// Returns the stop string that was found; empty before that.
  const std::string &stopString() const {
    return stops.stopped() ? stops.found() : thoughtStops.found();
  }

private:
  AnswerText(std::shared_ptr<const LoadedModel> model,
             const Tokenizer &tokenizer, AnswerOptions options);

  bool hasStopped() const {
    return stops.stopped() || thoughtStops.stopped() || hasOnlyCall;
  }
  Status takeToken(int32_t token);
  Status takeSpecial(int32_t token, bool isSearched);
  void add(std::string_view text, bool isSearched);
  void add(const AnswerPart &part, bool isSearched);
  void addContent(std::string_view text);
  void addEvents(const ToolEvents &events);
  void addHeld();
  void finish();

  // Members that use others come after them.
  std::shared_ptr<const LoadedModel> model;
  const Tokenizer &tokenizer;
  std::shared_ptr<const AnswerCalls> tools;
  StreamDecoder decoder;
  /// Stop strings of the content and of the reasoning.
  StopStrings stops, thoughtStops;
  std::optional<ReasoningSplitter> splitter;
  std::optional<ToolCallParser> calls;
  uint32_t minTokens, count = 0;
  /// Whether the answer has the call after which it ends.
  bool hasOnlyCall = false;
  AnswerCall call;
  AnswerNews news;
};

} // namespace mtp::python

#endif // MTP_TOOLS_PYTHON_SRC_ANSWERTEXT_H
