//===- mtp-serve.cpp - Serve an artifact over HTTP ------------------------===//
//
// Exit status: 0 it was told to end, 1 it could not begin or a step failed, 2
// wrong flags.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionProfile.h"
#include "tools/mtp-serve/engine/ProfileWriter.h"
#include "tools/mtp-serve/http/Server.h"
#include "tools/start/StartFlags.h"
#include "tools/support/ChatText.h"
#include "tools/support/Flags.h"
#include "tools/support/ModelWarnings.h"
#include "tools/support/ProfileWarnings.h"
#include "tools/support/PromptText.h"
#include "tools/support/SharedFlags.h"
#include "tools/support/TextFile.h"

#include <csignal>
#include <ctime>
#include <filesystem>

using namespace mtp;
using namespace mtp::serve;

namespace {
struct ServeFlags {
  /// An artifact or a model; from findArtifact() on, the artifact.
  std::string artifact;
  start::StartOptions start;
  /// The name of the model, if the artifact has none.
  std::string defaultName;
  std::vector<std::string> names;
  std::string keyFile;
  /// The profile to write while serving; empty: none.
  std::string record;
  std::string chatFile;
  bool retriesOnCpu = false;
  bool isStrict = false;
  bool isReplica = false;
  std::optional<ReasoningFormat> reasoning;
  std::optional<ToolFormat> tools;
  LoadOptions load;
  SessionOptions session;
  ServerOptions server;
};
} // namespace

/// Seconds between two writes of --record.
static constexpr double kRecordSeconds = 60;

static const char *const kExamples = R"(
Examples:
  mtp-serve model.bin
  mtp-serve model.bin --port 9000 -k auto --max-batch 8
  mtp-serve Qwen3-8B --quantize int4 --max-batch 8 --max-context 8192
  curl localhost:8080/health
)";

static void addServerFlags(CLI::App &app, ServeFlags &o) {
  addText(app, "--host", o.server.host, "ADDRESS",
          "Listen on this address (default: 127.0.0.1, which other machines "
          "cannot reach)");
  addNumber(app, "--port,-p", o.server.port,
            "Listen on this port (default: 8080; 0: any free port)");
  addTexts(app, "--served-model-name", o.names, "NAME",
           "Name of the model in requests; answers have the first name "
           "(default: the artifact's name)");
  addText(app, "--chat-template", o.chatFile, "FILE",
          "Jinja template for conversations, which replaces the artifact's "
          "template");
  std::vector<std::pair<std::string, std::optional<ReasoningFormat>>> formats;
  for (std::string_view name : reasoningFormatNames())
    formats.emplace_back(name, findReasoningFormat(name));
  addChoice(app, "--reasoning-format", o.reasoning, formats,
            "Marks of reasoning in answers; chats return reasoning separately "
            "(default: found by the chat template)");
  std::vector<std::pair<std::string, std::optional<ToolFormat>>> parsers;
  for (std::string_view name : toolFormatNames())
    parsers.emplace_back(name, findToolFormat(name));
  addChoice(app, "--tool-parser", o.tools, parsers,
            "Format of tool calls in answers; none: requests with tools are "
            "refused (default: found by the chat template)");
  addFlag(app, "--strict", o.isStrict,
          "Refuse requests with unknown fields, for another model, or for more "
          "tokens than fit into the context");
  addFlag(app, "--replica", o.isReplica,
          "Let a gate continue streams of other servers here: accept the field "
          "'resume', and send such streams with their token ids (only for "
          "servers that clients reach through the gate)");
  addFlag(app, "--retry-on-cpu", o.retriesOnCpu,
          "After a GPU has failed, run requests that have no output yet again "
          "on the CPU before the process ends; the artifact must have a plan "
          "for the CPU");
  addText(app, "--record", o.record, "FILE",
          "Merge times, acceptance and load into this profile each minute; no "
          "text is stored");
  addFlag(app, "--no-request-log", o.server.logsRequests,
          "Do not write a line for each request to standard error", false);
}

static void addAccessFlags(CLI::App &app, ServeFlags &o) {
  addTexts(app, "--api-key", o.server.keys, "KEY",
           "Require this key, or one of several; other users of the machine "
           "can see it in the list of processes");
  addText(app, "--api-key-file", o.keyFile, "FILE",
          "Require one of the keys in a file, one per line");
  addTexts(app, "--cors-origin", o.server.origins, "ORIGIN",
           "Allow requests from pages of this origin, e.g. "
           "http://localhost:3000; *: all origins");
}

static void addSlotFlags(CLI::App &app, ServerOptions &o) {
  addText(
      app, "--slot-save-path", o.slotFolder, "FOLDER",
      "Let clients save prefixes of prompts in files of this folder and "
      "restore them (POST /slots/0?action=save); requests of all keys share "
      "the files");
  addNumber(app, "--slot-save-bytes", o.slotFolderBytes,
            "Bytes of all files in the folder of --slot-save-path; the answer "
            "to further ones is 507 (default: 64 GiB)");
}

static void addLimitFlags(CLI::App &app, Limits &l) {
  addNumber(app, "--max-waiting", l.waiting,
            "Sequences that may wait for a slot; the answer to further ones is "
            "429 (default: 256)");
  addNumber(app, "--max-per-key", l.perKey,
            "Sequences and texts of one key that may wait or run; the answer "
            "to further ones is 429 (default: 0: no limit)");
  addNumber(app, "--max-connections", l.connections,
            "Connections at a time (default: 8192)");
  addNumber(app, "--max-body-bytes", l.bodyBytes,
            "Largest body of a request in bytes (default: 1 MiB, plus 16 for "
            "each token of the context)");
  addNumber(app, "--max-body-memory", l.bodiesBytes,
            "Bytes of all bodies that arrive or wait for their tokens; the "
            "answer to further ones is 503, or 429 if one of several keys has "
            "half of the bytes (default: 64 MiB, or 16 bodies)");
  addNumber(app, "--header-timeout", l.headerSeconds,
            "Seconds that a request's header may take (default: 10)");
  addNumber(app, "--write-timeout", l.writeSeconds,
            "Seconds that the server waits for a client that takes no byte "
            "(default: 60)");
  addNumber(app, "--request-timeout", l.requestSeconds,
            "Seconds from a request to the end of its answer, which is 504 if "
            "they are over (default: 0: no limit)");
  addNumber(app, "--stream-buffer", l.streamBytes,
            "Bytes that may wait for the reader of a stream before its "
            "sequences pause (default: 65536)");
  addNumber(
      app, "--kernel-buffer", l.kernelBytes,
      "Further bytes that the system keeps for a client that has not read them "
      "(default: 262144; Linux doubles the number for its own data)");
  addNumber(app, "--shutdown-timeout", l.shutdownSeconds,
            "Seconds in which running answers may finish after a signal to end "
            "(default: 30)");
}

static void addSessionFlags(CLI::App &app, ServeFlags &o) {
  addSharedFlags(app,
                 {SharedFlag::K, SharedFlag::DraftPMin, SharedFlag::MaxBatch,
                  SharedFlag::KvPages, SharedFlag::PromptMilliseconds,
                  SharedFlag::StepMilliseconds, SharedFlag::CaptureSizes,
                  SharedFlag::LazyMemory, SharedFlag::NoPrefixCache,
                  SharedFlag::SnapshotBytes, SharedFlag::SnapshotTokens,
                  SharedFlag::Deterministic, SharedFlag::Device,
                  SharedFlag::Threads, SharedFlag::Pin, SharedFlag::Profile,
                  SharedFlag::NoMmap, SharedFlag::Verify},
                 o.load, o.session);
}

static Status checkFlags(ServeFlags &o) {
  if (o.artifact.empty())
    return invalidArgument("expected an artifact, a model's folder or a GGUF "
                           "file");
  o.start.maxBatch = o.session.maxSlots;
  MTP_RETURN_IF_ERROR(start::checkStart(o.artifact, o.start));
  for (const std::string &key : o.server.keys)
    if (key.empty())
      return invalidArgument("expected a key for --api-key, got none");
  std::error_code error;
  if (!o.server.slotFolder.empty() &&
      !std::filesystem::is_directory(o.server.slotFolder, error))
    return invalidArgument(strCat("expected a folder for --slot-save-path, "
                                  "got '",
                                  o.server.slotFolder, "'"));
  for (const std::string &name : o.names)
    if (name.empty())
      return invalidArgument("expected a name for --served-model-name, got "
                             "none");
  return okStatus();
}

/// Adds the keys of a file, one per line, to the keys of flags.
static Status readKeys(ServeFlags &o) {
  if (o.keyFile.empty())
    return okStatus();
  Result<std::string> text = readTextFile(o.keyFile);
  if (!text)
    return text.status().withContext(strCat("--api-key-file ", o.keyFile));
  std::vector<std::string> keys = linesOf(*text);
  if (keys.empty())
    return invalidArgument(
        strCat("expected keys in --api-key-file ", o.keyFile, ", got none"));
  for (std::string &key : keys)
    o.server.keys.push_back(std::move(key));
  return okStatus();
}

/// Returns the chat template of the flag or of the artifact; null without one.
static Result<std::shared_ptr<const ChatTemplate>>
loadChat(const ServeFlags &o, const Model &model, const Tokenizer *tokenizer) {
  auto chat = loadChatTemplate(model, tokenizer, o.chatFile);
  if (chat || !o.chatFile.empty())
    return chat;
  // Everything else can be served.
  std::fprintf(stderr, "mtp-serve: warning: chats are refused: %s\n",
               std::string(chat.status().message()).c_str());
  return std::shared_ptr<const ChatTemplate>();
}

static ModelFacts factsOf(const Session &session, const ServeFlags &o,
                          const Tokenizer *tokenizer,
                          const ChatTemplate *chat) {
  const Model &model = *session.model();
  ModelFacts facts;
  facts.names = o.names;
  if (facts.names.empty())
    facts.names.push_back(model.name().empty() ? o.defaultName
                                               : std::string(model.name()));
  facts.fingerprint = strCat("mtpc-", MTP_VERSION);
  facts.scoresPrompts = model.scoresPrompts();
  facts.vocab = model.envelope()->vocab;
  facts.maxContext = model.envelope()->maxContext;
  facts.maxK = session.options().k;
  facts.endsDrafts = session.options().draftPMin.has_value();
  facts.slots = session.options().maxSlots;
  facts.hasLogitRules = model.hasLogitRules();
  facts.hasGrammars =
      model.masksTokens() && tokenizer && !model.generation().eos.empty();
  facts.generation = model.generation();
  facts.tokenizer = tokenizer;
  facts.chat = chat;
  if (chat) {
    facts.reasoning =
        o.reasoning.value_or(detectReasoningFormat(chat->source()));
    facts.tools.format =
        o.tools.value_or(detectToolFormat(chat->source(/*hasTools=*/true)));
    facts.tools.form = findCallForm(*chat);
  }
  facts.isStrict = o.isStrict;
  facts.isReplica = o.isReplica;
  facts.created = uint64_t(std::time(nullptr));
  return facts;
}

/// Makes the server retry on the CPU when a GPU has failed.
static Status addFallback(const ServeFlags &o, const Model &model,
                          Server &server) {
  if (!o.retriesOnCpu || model.device() == DeviceKind::Cpu)
    return okStatus();
  LoadOptions load = o.load;
  load.device = DeviceKind::Cpu;
  // It is of the GPU's plan, whose weights are packed in another way.
  load.profile.clear();
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const Model> onCpu,
                       Model::load(o.artifact, load));
  SessionOptions options = o.session;
  // Clients wait for the retry, so it must start fast.
  options.populateMemory = false;
  server.setFallback(
      [onCpu, options] { return Session::create(onCpu, options); });
  return okStatus();
}

/// Returns the writer of --record; null without it.
static Result<std::unique_ptr<ProfileWriter>>
openRecord(const ServeFlags &o, const Session &session) {
  if (o.record.empty())
    return std::unique_ptr<ProfileWriter>();
  auto writer = ProfileWriter::create(
      o.record, [&session] { return SessionProfile::recorded(session); },
      kRecordSeconds);
  if (!writer)
    return writer.status().withContext("--record");
  return writer;
}

static Status run(ServeFlags &o) {
  // Writing to a client that is gone returns an error instead.
  std::signal(SIGPIPE, SIG_IGN);
  MTP_RETURN_IF_ERROR(readKeys(o));
  MTP_ASSIGN_OR_RETURN(start::StartedModel artifact,
                       start::findArtifact("mtp-serve", o.artifact, o.start));
  o.artifact = artifact.path;
  o.defaultName = artifact.name;
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const Model> model,
                       Model::load(o.artifact, o.load));
  if (!model->envelope())
    return failedPrecondition(strCat(
        o.artifact, ": expected an artifact that generates, got functions "
                    "only"));
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
                       loadTokenizer(*model));
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const ChatTemplate> chat,
                       loadChat(o, *model, tokenizer.get()));
  warnAboutDrafter("mtp-serve", model, o.session);
  o.session.recordsProfile = !o.record.empty();
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                       Session::create(model, o.session));
  if (model->device() == DeviceKind::Cpu)
    warnAboutThreads("mtp-serve", session->options().threads,
                     Session::usableProcessors());
  warnAboutRule("mtp-serve", *model);
  warnAboutSnapshots("mtp-serve", *session);
  noteProfile("mtp-serve", *session);
  const Session *measured = session.get();
  ModelFacts facts = factsOf(*session, o, tokenizer.get(), chat.get());
  o.server.takesSignals = true;
  o.server.version = MTP_VERSION;
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Server> server,
                       Server::create(std::move(session), facts, o.server));
  MTP_RETURN_IF_ERROR(addFallback(o, *model, *server));
  // The server keeps the session until it is destroyed, after the writer.
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<ProfileWriter> writer,
                       openRecord(o, *measured));
  // An IPv6 address needs brackets.
  const std::string &host = o.server.host;
  bool hasColons = host.find(':') != host.npos;
  std::fprintf(
      stderr, "mtp-serve: %s on http://%s:%u\n", facts.names.front().c_str(),
      (hasColons ? "[" + host + "]" : host).c_str(), unsigned(server->port()));
  return server->run();
}

int main(int argc, char **argv) {
  CLI::App app("Serve a model over HTTP, as OpenAI's API has it", "mtp-serve");
  app.footer(kExamples);
  ServeFlags options;
  options.session.populateMemory = true;
  start::addStartFlags(app, options.artifact, options.start);
  addServerFlags(app, options);
  addAccessFlags(app, options);
  addSlotFlags(app, options.server);
  addLimitFlags(app, options.server.limits);
  addSessionFlags(app, options);
  return toolMain(
      app, argc, argv, [&] { return checkFlags(options); },
      [&] { return run(options); });
}
