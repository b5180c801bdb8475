//===- Chat.cpp - mtp-run --chat ------------------------------------------===//

#include "tools/mtp-run/Chat.h"

#include "runtime/chat/ChatTemplate.h"
#include "runtime/core/StrCat.h"
#include "runtime/utf8/Utf8.h"
#include "tools/mtp-run/ChatCommands.h"
#include "tools/mtp-run/ChatInput.h"
#include "tools/mtp-run/ChatPrinter.h"
#include "tools/mtp-run/Constraint.h"
#include "tools/mtp-run/Generate.h"
#include "tools/mtp-run/Interrupt.h"
#include "tools/mtp-run/Prompts.h"
#include "tools/support/ChatText.h"
#include "tools/support/Output.h"

#include <chrono>
#include <cstdio>
#include <numeric>
#include <unistd.h>

using namespace mtp;

namespace {

/// A chat: questions and commands from standard input, answers to standard
/// output, errors to standard error.
class Chat {
public:
  Chat(Session &session, const RunOptions &options)
      : session(session), options(options),
        state{session, options.artifact, {}, Request::kSessions, {}, {}} {}

  Status begin();
  Status run();

private:
  Status loadTemplate();
  Status checkVariables();
  Status addTools();
  Status handle(const std::string &message);
  Status ask(const std::string &question);
  Result<Request> makeRequest(std::string &promptText);
  Status generate(SequenceId id, ChatPrinter &printer);
  Status print(const SequenceUpdate &update, ChatPrinter &printer);
  Status describe(SequenceId id, double seconds);

  Session &session;
  const RunOptions &options;
  ChatState state;
  std::unique_ptr<Tokenizer> tokenizer;
  RunGrammar grammar;
  std::shared_ptr<const ChatTemplate> templates;
  ReasoningFormat reasoning = ReasoningFormat::None;
  std::optional<ChatTools> tools;
  /// The variables of the template, with the tools.
  std::string variables;
  ChatLook look;
  /// State of the answer that is printed.
  uint64_t draftsBefore = 0;
  bool isFirst = true;
  FinishReason finish = FinishReason::None;
};

} // namespace

SessionOptions mtp::chatOptions(const RunOptions &options) {
  SessionOptions chat = options.session;
  chat.k = SessionOptions::kMaximum;
  chat.automaticK = false;
  chat.maxSlots = 1;
  if (options.color && chat.roundsPerLaunch == 0)
    chat.roundsPerLaunch = 1;
  return chat;
}

Status Chat::loadTemplate() {
  MTP_ASSIGN_OR_RETURN(templates,
                       loadChatTemplate(*session.model(), tokenizer.get(),
                                        options.chatTemplate));
  if (!templates)
    return failedPrecondition(
        "the artifact has no chat template; give --chat-template");
  reasoning =
      options.reasoning.value_or(detectReasoningFormat(templates->source()));
  variables = options.templateVariables;
  if (options.tools.empty())
    return okStatus();
  MTP_ASSIGN_OR_RETURN(
      tools, readChatTools(options.tools, *templates, options.toolFormat));
  return okStatus();
}

Status Chat::begin() {
  const Model &model = *session.model();
  if (!model.envelope())
    return failedPrecondition("the artifact has functions only; give "
                              "--function");
  MTP_RETURN_IF_ERROR(checkStopTokens(options, model));
  MTP_ASSIGN_OR_RETURN(tokenizer, loadTokenizer(model));
  if (!tokenizer)
    return failedPrecondition("the artifact has no tokenizer; --chat needs "
                              "one");
  MTP_RETURN_IF_ERROR(loadTemplate());
  MTP_ASSIGN_OR_RETURN(grammar,
                       RunGrammar::read(options, model, tokenizer.get()));
  state.conversation.setSystem(options.system);
  uint32_t most = session.options().k;
  state.k = options.session.automaticK ? Request::kAutomatic
                                       : std::min(options.session.k, most);
  if (options.session.k != SessionOptions::kMaximum && options.session.k > most)
    return invalidArgument(
        strCat("expected -k of 0 to ", most, ", got ", options.session.k));
  state.report.sampling = settleSampling(options.sampling, model.generation());
  state.report.samplingIsModels = options.sampling.isModels();
  look.isTerminal = isatty(STDOUT_FILENO) == 1;
  look.showsDrafts = options.color;
  return checkVariables();
}

/// Checks that the variables are an object, before the first input.
Status Chat::checkVariables() {
  std::string_view text = options.templateVariables;
  if (text.empty())
    return addTools();
  size_t begin = text.find_first_not_of(" \t\r\n");
  bool isObject = begin != text.npos && text[begin] == '{';
  MTP_ASSIGN_OR_RETURN(auto empty, ChatTemplate::parse({{{"", " "}}, {}}));
  if (isObject &&
      empty->render(state.conversation.request(text)).status().isOk())
    return addTools();
  return invalidArgument(strCat(
      "expected --chat-template-kwargs to be a JSON object, got '", text, "'"));
}

Status Chat::addTools() {
  if (tools)
    variables = tools->addTo(variables);
  return okStatus();
}

/// Makes the request for an answer. `promptText` shows whether the prompt has
/// begun the reasoning.
Result<Request> Chat::makeRequest(std::string &promptText) {
  MTP_ASSIGN_OR_RETURN(
      ChatPrompt prompt,
      templates->renderFor(*tokenizer, state.conversation.request(variables)));
  EncodeOptions encode{/*addSpecial=*/false, /*parseSpecial=*/true};
  encode.literals = prompt.literals;
  Request request;
  MTP_ASSIGN_OR_RETURN(request.prompt, tokenizer->encode(prompt.text, encode));
  uint32_t context = session.model()->envelope()->maxContext;
  size_t tokens = request.prompt.size();
  if (tokens >= context)
    return outOfRange(strCat("expected a chat of less than the ", context,
                             " tokens of the context, got ", tokens,
                             "; /undo or /clear"));
  uint32_t rest = context - uint32_t(tokens);
  request.maxTokens = std::min(options.maxTokens.value_or(rest), rest);
  request.sampling = state.report.sampling;
  request.stopTokens.assign(options.stopTokens.begin(),
                            options.stopTokens.end());
  request.ignoreEos = options.ignoreEos;
  request.minTokens = std::min(options.minTokens, request.maxTokens);
  MTP_ASSIGN_OR_RETURN(request.rules,
                       rulesOf(options, *session.model(), tokenizer.get()));
  AnswerStart start = findStart(reasoning, prompt.text, templates->source());
  MTP_ASSIGN_OR_RETURN(request.constraint, grammar.after(start));
  request.k = state.k;
  promptText = std::move(prompt.text);
  return request;
}

/// Prints an update. Accepted drafts come before the last token of a round. The
/// first token of an answer comes from the prompt's prefill.
Status Chat::print(const SequenceUpdate &update, ChatPrinter &printer) {
  MTP_ASSIGN_OR_RETURN(Statistics s, session.statistics(update.id));
  uint64_t accepted =
      std::accumulate(s.accepted.begin(), s.accepted.end(), uint64_t(0));
  size_t first = isFirst ? 1 : 0, drafts = accepted - draftsBefore;
  draftsBefore = accepted;
  for (size_t i = 0; i < update.tokens.size(); ++i) {
    isFirst = false;
    MTP_RETURN_IF_ERROR(
        printer.append(update.tokens[i], i >= first && i < first + drafts));
  }
  finish = update.finish;
  return update.error;
}

Status Chat::generate(SequenceId id, ChatPrinter &printer) {
  isFirst = true;
  draftsBefore = 0;
  finish = FinishReason::None;
  while (finish == FinishReason::None) {
    if (takeInterrupt() || wasInterrupted()) {
      finish = FinishReason::Cancelled;
      return session.cancel(id);
    }
    Result<std::vector<SequenceUpdate>> updates = session.step();
    if (!updates) {
      // This session cannot run any more.
      state.hasEnded = true;
      return updates.status();
    }
    for (const SequenceUpdate &update : *updates)
      MTP_RETURN_IF_ERROR(print(update, printer));
  }
  // Count the rounds of which all tokens were read once they have ended.
  return session.step().status();
}

Status Chat::describe(SequenceId id, double seconds) {
  MTP_ASSIGN_OR_RETURN(Statistics s, session.statistics(id));
  uint64_t promptTokens = s.cachedTokens + s.prefillTokens;
  char line[256];
  std::snprintf(
      line, sizeof(line),
      "%llu of %llu prompt tokens cached, %llu tokens in %llu rounds, "
      "%.3f s, acceptance length %.2f",
      (unsigned long long)s.cachedTokens, (unsigned long long)promptTokens,
      (unsigned long long)s.outputTokens, (unsigned long long)s.slotRounds,
      seconds,
      s.slotRounds ? double(s.roundTokens) / double(s.slotRounds) : 1.0);
  state.lastAnswer = line;
  if (finish == FinishReason::Cancelled)
    state.lastAnswer += ", interrupted";
  if (finish == FinishReason::Length)
    state.lastAnswer += ", cut off";
  return okStatus();
}

Status Chat::ask(const std::string &question) {
  if (!isValidUtf8(question))
    return invalidArgument("expected a question in UTF-8");
  state.conversation.ask(question);
  std::string promptText;
  Result<Request> request = makeRequest(promptText);
  Result<SequenceId> id = request ? session.add(*std::move(request))
                                  : Result<SequenceId>(request.status());
  if (!id) {
    state.conversation.undo();
    return id.status();
  }
  auto start = std::chrono::steady_clock::now();
  ChatPrinter printer(*tokenizer, reasoning, promptText, look,
                      tools ? &*tools : nullptr);
  Status status = generate(*id, printer);
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  MTP_RETURN_IF_ERROR(printer.finish());
  if (!status.isOk()) {
    state.conversation.undo();
    return status;
  }
  MTP_RETURN_IF_ERROR(describe(*id, passed.count()));
  state.conversation.answer(printer.answer().reasoning,
                            printer.answer().content, printer.callsJson(),
                            tools && tools->form.hasNullContent);
  if (options.stats)
    std::fprintf(stderr, "[%s]\n", state.lastAnswer.c_str());
  return session.release(*id);
}

/// Runs a command or a question. An error is printed, and the chat goes on.
Status Chat::handle(const std::string &message) {
  if (message.find_first_not_of(" \t\n") == message.npos)
    return okStatus();
  return isChatCommand(message) ? runChatCommand(message, state) : ask(message);
}

Status Chat::run() {
  catchEachInterrupt();
  bool isTerminal = look.isTerminal && isatty(STDIN_FILENO) == 1;
  if (isTerminal)
    MTP_RETURN_IF_ERROR(
        writeStandardOutput("/help lists commands\n", "the greeting"));
  ChatInput input(isTerminal);
  while (!state.hasEnded && !wasInterrupted()) {
    std::string message;
    MTP_ASSIGN_OR_RETURN(ChatInput::Kind kind, input.read(message));
    if (kind == ChatInput::Kind::End)
      return isTerminal ? writeStandardOutput("\n", "the prompt") : okStatus();
    if (kind == ChatInput::Kind::Interrupted) {
      std::fprintf(stderr, "\n(/quit or Ctrl-D ends the chat)\n");
      continue;
    }
    Status status = handle(message);
    if (status.isOk())
      continue;
    // A script has no user to continue.
    if (!isTerminal || state.hasEnded)
      return status;
    std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  }
  return okStatus();
}

Status mtp::chat(Session &session, const RunOptions &options) {
  Chat chat(session, options);
  MTP_RETURN_IF_ERROR(chat.begin());
  return chat.run();
}
