//===- ChatCommands.cpp - Commands that begin with a slash ----------------===//

#include "tools/mtp-run/ChatCommands.h"

#include "runtime/core/StrCat.h"
#include "tools/support/Output.h"

#include <cctype>
#include <charconv>

using namespace mtp;

static constexpr const char *kHelp =
    R"(/system TEXT  system message of the chat (no TEXT: none)
/k N|auto     drafts per round; auto chooses the number by its speed
/stats        print figures of the last answer and of the chat
/save FILE    write the messages as JSON
/undo         forget the last question and its answer
/clear        forget all questions and answers
/help         print this list
/quit         end (so does Ctrl-D; Ctrl-C ends an answer)
A line that ends in \ continues on the next; """ begins and ends several lines.
)";

static Status say(std::string_view text) {
  return writeStandardOutput(strCat(text, "\n"), "the reply");
}

static Status setK(std::string_view text, ChatState &state) {
  uint32_t most = state.session.options().k, k = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), k);
  bool isNumber = error == std::errc() && end == text.data() + text.size();
  if (text != "auto" && (!isNumber || k > most))
    return invalidArgument(
        strCat("expected /k of 0 to ", most, " or auto, got '", text, "'"));
  state.k = text == "auto" ? Request::kAutomatic : k;
  return say(strCat("k = ", text));
}

static Status save(const std::string &path, ChatState &state) {
  if (path.empty())
    return invalidArgument("expected /save FILE");
  MTP_ASSIGN_OR_RETURN(auto file, OutputFile::create(path, state.artifact));
  MTP_RETURN_IF_ERROR(file->commit(state.conversation.json() + "\n"));
  return say(strCat("saved ", path));
}

static Status setSystem(const std::string &text, ChatState &state) {
  state.conversation.setSystem(text);
  return say(text.empty() ? "no system message" : "system message set");
}

static Status showStatistics(ChatState &state) {
  if (state.lastAnswer.empty())
    return say("nothing was said yet");
  return writeStandardOutput(strCat("last answer: ", state.lastAnswer,
                                    "\nall answers:\n",
                                    textReport(state.session, state.report)),
                             "the numbers");
}

static Status undo(ChatState &state) {
  if (!state.conversation.undo())
    return failedPrecondition("expected a question to forget, got none");
  return say("forgot the last question");
}

bool mtp::isChatCommand(std::string_view message) {
  return message.size() > 1 && message[0] == '/' &&
         std::isalpha(static_cast<unsigned char>(message[1]));
}

Status mtp::runChatCommand(std::string_view message, ChatState &state) {
  std::string_view name = message.substr(0, message.find_first_of(" \t\n"));
  size_t at = message.find_first_not_of(" \t\n", name.size());
  std::string rest(at == message.npos ? "" : message.substr(at));
  rest.resize(rest.find_last_not_of(" \t\n") + 1);
  if (name == "/system")
    return setSystem(rest, state);
  if (name == "/k")
    return setK(rest, state);
  if (name == "/save")
    return save(rest, state);
  bool isKnown = true;
  if (!rest.empty() ||
      !(name == "/stats" || name == "/undo" || name == "/clear" ||
        name == "/help" || name == "/quit"))
    isKnown = false;
  if (!isKnown)
    return invalidArgument(
        strCat("expected a command that /help lists, got '", message, "'"));
  if (name == "/stats")
    return showStatistics(state);
  if (name == "/undo")
    return undo(state);
  if (name == "/help")
    return writeStandardOutput(kHelp, "the help");
  state.hasEnded = name == "/quit";
  if (state.hasEnded)
    return okStatus();
  state.conversation.clear();
  return say("forgot all questions");
}
