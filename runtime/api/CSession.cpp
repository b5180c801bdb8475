//===- CSession.cpp - Sessions from C -------------------------------------===//

#include "runtime/api/CSupport.h"
#include "runtime/core/StrCat.h"
#include "runtime/profile/Acceptance.h"
#include "runtime/schema/Limits.h"

using namespace mtp;
using namespace mtp::capi;

static_assert(MTP_FAILED == int(FinishReason::Failed) &&
              MTP_LENGTH == int(FinishReason::Length));
static_assert(MTP_LOGPROBS_PROCESSED == int(LogprobsMode::Processed) &&
              MTP_LOGPROBS_MAXIMUM == LogprobsRequest::kMost);
static_assert(MTP_SEQUENCE_WAITING == int(SequenceState::Waiting) &&
              MTP_SEQUENCE_PAUSED == int(SequenceState::Paused) &&
              MTP_SEQUENCE_ENDED == int(SequenceState::Finished));

extern "C" {

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

mtp_status mtp_session_create(const mtp_model *model,
                              const mtp_session_options *options,
                              mtp_session **session) {
  MTP_C_RETURN_IF_ERROR(need(model, "a model"));
  MTP_C_RETURN_IF_ERROR(need(session, "room for a session"));
  auto given = readOptions(options);
  if (!given)
    return report(given.status());
  auto created = Session::create(model->model, *given);
  if (!created)
    return report(created.status());
  *session = new mtp_session{std::move(*created)};
  return MTP_OK;
}

void mtp_session_free(mtp_session *session) { delete session; }

void(mtp_request_init)(mtp_request *request) {
  clear(request);
  if (!request)
    return;
  request->max_tokens = 16;
  request->top_p = 1;
  request->k = MTP_K_SESSION;
  request->repetition_penalty = 1;
  request->logprobs = request->prompt_logprobs = MTP_LOGPROBS_NONE;
  request->draft_p_min = MTP_DRAFT_P_MIN_DEFAULT;
}

void mtp_request_init_sized(mtp_request *request, size_t size) {
  initSized(request, size, mtp_request_init);
}

/// Returns a request's number of likeliest tokens; empty for none.
static Result<std::optional<uint32_t>> readLogprobs(const char *name,
                                                    int32_t count) {
  if (count >= 0)
    return std::optional(uint32_t(count));
  if (count == MTP_LOGPROBS_NONE)
    return std::optional<uint32_t>();
  return invalidArgument(strCat("expected ", name, " of 0 to ",
                                MTP_LOGPROBS_MAXIMUM, " or MTP_LOGPROBS_NONE (",
                                MTP_LOGPROBS_NONE, "), got ", count));
}

static Status readLogprobs(const mtp_request &given, LogprobsRequest &to) {
  MTP_ASSIGN_OR_RETURN(to.output, readLogprobs("logprobs", given.logprobs));
  MTP_ASSIGN_OR_RETURN(to.prompt,
                       readLogprobs("prompt_logprobs", given.prompt_logprobs));
  if (given.logprobs_mode < MTP_LOGPROBS_RAW ||
      given.logprobs_mode > MTP_LOGPROBS_PROCESSED)
    return invalidArgument(strCat("expected logprobs_mode of 0 to ",
                                  int(MTP_LOGPROBS_PROCESSED), ", got ",
                                  given.logprobs_mode));
  to.mode = LogprobsMode(given.logprobs_mode);
  return okStatus();
}

/// Returns a request's k. A negative value must be one of the named constants.
static Result<uint32_t> readK(int32_t k, const Session &session) {
  if (k >= 0)
    return uint32_t(k);
  switch (k) {
  case MTP_K_MAXIMUM:
    return session.options().k;
  case MTP_K_AUTO:
    return Request::kAutomatic;
  case MTP_K_SESSION:
    return Request::kSessions;
  default:
    break;
  }
  return invalidArgument(strCat("expected k of 0 or more, MTP_K_MAXIMUM (",
                                MTP_K_MAXIMUM, "), MTP_K_AUTO (", MTP_K_AUTO,
                                ") or MTP_K_SESSION (", MTP_K_SESSION,
                                "), got ", k));
}

/// Checks the number of bad words and of their tokens before they are copied.
static Status checkBadWords(const mtp_request &given) {
  MTP_RETURN_IF_ERROR(
      needArray(given.bad_words, given.bad_word_count, "bad words"));
  MTP_RETURN_IF_ERROR(needArray(given.bad_word_sizes, given.bad_word_count,
                                "sizes of bad words"));
  if (given.bad_word_count > LogitRules::kMostBadTokens)
    return outOfRange(strCat("expected at most ", LogitRules::kMostBadTokens,
                             " bad words, got ", given.bad_word_count));
  uint64_t badTokens = 0;
  for (size_t i = 0; i < given.bad_word_count; ++i)
    badTokens += given.bad_word_sizes[i];
  if (badTokens > LogitRules::kMostBadTokens)
    return outOfRange(strCat("expected bad words of at most ",
                             LogitRules::kMostBadTokens, " tokens in all, got ",
                             badTokens));
  return okStatus();
}

/// Compares the counts with useful limits before the arrays are copied.
static Status checkCounts(const mtp_request &given, const Session &session) {
  MTP_RETURN_IF_ERROR(
      needArray(given.prompt, given.prompt_count, "prompt tokens"));
  MTP_RETURN_IF_ERROR(
      needArray(given.stop_tokens, given.stop_count, "stop tokens"));
  const EnvelopeInfo *e = session.model()->envelope();
  if (e && given.prompt_count > e->maxContext)
    return outOfRange(strCat("expected a prompt_count of at most ",
                             e->maxContext,
                             ", the context that the artifact was compiled "
                             "for, got ",
                             given.prompt_count));
  if (e && given.stop_count > e->vocab)
    return outOfRange(strCat("expected a stop_count of at most ", e->vocab,
                             ", the tokens there are, got ", given.stop_count));
  MTP_RETURN_IF_ERROR(needArray(given.bias, given.bias_count, "biases"));
  MTP_RETURN_IF_ERROR(
      needArray(given.allowed_tokens, given.allowed_count, "allowed tokens"));
  MTP_RETURN_IF_ERROR(checkBadWords(given));
  for (size_t count : {given.bias_count, given.allowed_count})
    if (e && count > e->vocab)
      return outOfRange(strCat("expected at most ", e->vocab,
                               " biases and allowed tokens, the tokens there "
                               "are, got ",
                               count));
  return e ? okStatus()
           : failedPrecondition("the artifact has functions only, no model");
}

static LogitRules readRules(const mtp_request &given) {
  LogitRules rules;
  rules.repetitionPenalty = given.repetition_penalty;
  rules.presencePenalty = given.presence_penalty;
  rules.frequencyPenalty = given.frequency_penalty;
  for (size_t i = 0; i < given.bias_count; ++i)
    rules.bias.push_back({given.bias[i].token, given.bias[i].bias});
  rules.allowedTokens.assign(given.allowed_tokens,
                             given.allowed_tokens + given.allowed_count);
  rules.countsPrompt = given.counts_prompt != 0;
  const int32_t *token = given.bad_words;
  for (size_t i = 0; i < given.bad_word_count; ++i) {
    rules.badWords.emplace_back(token, token + given.bad_word_sizes[i]);
    token += given.bad_word_sizes[i];
  }
  return rules;
}

/// Reads an input. The session refuses unknown and duplicate names. For more
/// inputs than the model has, one excess input is enough for that.
static Result<RequestInput> readInput(const std::vector<PortType> &ports,
                                      const mtp_request_input &input) {
  MTP_RETURN_IF_ERROR(need(input.name, "the name of an input"));
  RequestInput read;
  read.name = input.name;
  auto port = std::ranges::find(ports, read.name, &PortType::name);
  if (port != ports.end()) {
    MTP_ASSIGN_OR_RETURN(
        read.value,
        readInput(*port, strCat("input '", read.name, "'"), input.value));
  }
  return read;
}

static Status readInputs(const mtp_request &given, const Session &session,
                         Request &request) {
  std::vector<PortType> ports = session.model()->requestInputs();
  MTP_RETURN_IF_ERROR(needArray(given.inputs, given.input_count, "inputs"));
  size_t count = std::min(given.input_count, ports.size() + 1);
  for (size_t i = 0; i < count; ++i) {
    MTP_ASSIGN_OR_RETURN(RequestInput read, readInput(ports, given.inputs[i]));
    request.inputs.push_back(std::move(read));
  }
  return okStatus();
}

static Result<Request> readRequest(const mtp_request *request,
                                   const Session &session) {
  MTP_RETURN_IF_ERROR(need(request, "a request"));
  MTP_ASSIGN_OR_RETURN(mtp_request given,
                       fromCaller(request, mtp_request_init, "mtp_request"));
  MTP_RETURN_IF_ERROR(checkCounts(given, session));
  Request r;
  r.prompt.assign(given.prompt, given.prompt + given.prompt_count);
  r.maxTokens = given.max_tokens;
  r.sampling = {given.temperature, given.top_k, given.top_p, given.min_p,
                given.seed};
  r.rules = readRules(given);
  if (given.constraint)
    r.constraint = given.constraint->constraint;
  r.stopTokens.assign(given.stop_tokens, given.stop_tokens + given.stop_count);
  r.ignoreEos = given.ignore_eos != 0;
  r.seesDrafts = given.sees_drafts != 0;
  r.minTokens = given.min_tokens;
  r.priority = given.priority;
  r.group = given.group;
  if (given.cache_salt)
    r.cacheSalt.assign(given.cache_salt,
                       strnlen(given.cache_salt, Request::kMaxSalt + 1));
  if (given.kind)
    r.kind.assign(given.kind, strnlen(given.kind, profile::kMostKindBytes + 1));
  r.draftPMin = readDraftPMin(given.draft_p_min);
  MTP_ASSIGN_OR_RETURN(r.k, readK(given.k, session));
  MTP_RETURN_IF_ERROR(readLogprobs(given, r.logprobs));
  MTP_RETURN_IF_ERROR(readInputs(given, session, r));
  MTP_RETURN_IF_ERROR(needArray(given.outputs, given.output_count, "outputs"));
  size_t most = session.model()->requestOutputs().size() + 1;
  for (size_t i = 0; i < std::min(given.output_count, most); ++i) {
    MTP_RETURN_IF_ERROR(need(given.outputs[i], "the name of an output"));
    r.outputs.push_back(given.outputs[i]);
  }
  return r;
}

mtp_status mtp_session_add(mtp_session *session, const mtp_request *request,
                           uint64_t *id) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  MTP_C_RETURN_IF_ERROR(need(id, "room for an id"));
  auto read = readRequest(request, *session->session);
  if (!read)
    return report(read.status());
  auto added = session->session->add(std::move(*read));
  if (!added)
    return report(added.status());
  *id = *added;
  return MTP_OK;
}

/// Returns the outputs as C structs, which point into `outputs`.
static std::vector<mtp_output_rows>
outputsOf(const std::vector<OutputRows> &outputs) {
  std::vector<mtp_output_rows> all;
  for (const OutputRows &output : outputs) {
    const Tensor &rows = output.rows;
    mtp_tensor tensor = {int32_t(rows.type.element), rows.type.shape.size(),
                         rows.type.shape.data(), rows.bytes.data(),
                         rows.bytes.size()};
    all.push_back({output.name.c_str(), tensor,
                   output.tokens.empty() ? nullptr : output.tokens.data()});
  }
  return all;
}

namespace {
/// Log-probabilities as C structs.
class CLogprobs {
public:
  explicit CLogprobs(const std::vector<TokenLogprobs> &given) {
    size_t count = 0;
    for (const TokenLogprobs &one : given)
      count += one.likeliest.size();
    // The structs point into the list, which must not grow any more.
    likeliest.reserve(count);
    for (const TokenLogprobs &one : given) {
      const mtp_token_logprob *first = likeliest.data() + likeliest.size();
      for (const TokenLogprob &likely : one.likeliest)
        likeliest.push_back({likely.token, likely.logprob});
      tokens.push_back({{one.own.token, one.own.logprob},
                        one.rank,
                        first,
                        one.likeliest.size()});
    }
  }

  std::vector<mtp_token_logprobs> tokens;

private:
  std::vector<mtp_token_logprob> likeliest;
};
} // namespace

mtp_status mtp_session_step(mtp_session *session, mtp_update_fn callback,
                            void *user) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  auto updates = session->session->step();
  if (!updates)
    return report(updates.status());
  for (const SequenceUpdate &update : *updates) {
    std::string error(update.error.message());
    std::vector<mtp_output_rows> outputs = outputsOf(update.outputs);
    CLogprobs logprobs(update.logprobs), prompt(update.promptLogprobs);
    mtp_update given = {sizeof(mtp_update),
                        update.id,
                        update.tokens.data(),
                        update.tokens.size(),
                        mtp_finish(update.finish),
                        error.c_str(),
                        outputs.data(),
                        outputs.size(),
                        update.seen.has_value(),
                        nullptr,
                        0,
                        nullptr,
                        logprobs.tokens.data(),
                        logprobs.tokens.size(),
                        prompt.tokens.data(),
                        prompt.tokens.size()};
    if (update.seen) {
      given.drafts = update.seen->tokens.data();
      given.draft_count = update.seen->tokens.size();
      if (!update.seen->parents.empty())
        given.parents = update.seen->parents.data();
    }
    if (callback)
      callback(user, &given);
  }
  return MTP_OK;
}

mtp_status mtp_session_set_input(mtp_session *session, uint64_t id,
                                 const mtp_request_input *input) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  MTP_C_RETURN_IF_ERROR(need(input, "an input"));
  auto read = readInput(session->session->model()->requestInputs(), *input);
  if (!read)
    return report(read.status());
  return report(session->session->setInput(id, std::move(*read)));
}

int mtp_session_awaits_host(const mtp_session *session) {
  return session && session->session->awaitsHost();
}

int mtp_session_idle(const mtp_session *session) {
  return !session || session->session->idle();
}

mtp_status mtp_session_get_unfinished(const mtp_session *session, uint64_t *ids,
                                      size_t capacity, size_t *count) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  MTP_C_RETURN_IF_ERROR(need(count, "room for a count"));
  std::vector<SequenceId> all = session->session->unfinished();
  if (ids)
    std::copy_n(all.begin(), std::min(capacity, all.size()), ids);
  *count = all.size();
  return MTP_OK;
}

int mtp_session_wait(mtp_session *session, double seconds) {
  return session && session->session->wait(seconds);
}

void mtp_session_wake(mtp_session *session) {
  if (session)
    session->session->wake();
}

mtp_status mtp_session_save_prefix(mtp_session *session, const int32_t *tokens,
                                   size_t count, const char *path,
                                   uint64_t *length) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  MTP_C_RETURN_IF_ERROR(needArray(tokens, count, "tokens"));
  MTP_C_RETURN_IF_ERROR(need(path, "a path"));
  auto prefix = SavedPrefix::save(*session->session, {tokens, count});
  if (!prefix)
    return report(prefix.status());
  if (length)
    *length = prefix->length();
  return report(prefix->write(path));
}

mtp_status mtp_session_restore_prefix(mtp_session *session, const char *path,
                                      uint64_t *length) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  MTP_C_RETURN_IF_ERROR(need(path, "a path"));
  auto prefix = SavedPrefix::read(path);
  if (!prefix)
    return report(prefix.status());
  Result<uint64_t> restored = prefix->restore(*session->session);
  if (restored && length)
    *length = *restored;
  return report(restored.status());
}

mtp_status mtp_session_pause(mtp_session *session, uint64_t id) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  return report(session->session->pause(id));
}

mtp_status mtp_session_resume(mtp_session *session, uint64_t id) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  return report(session->session->resume(id));
}

mtp_status mtp_session_get_state(const mtp_session *session, uint64_t id,
                                 mtp_sequence_state *state) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  MTP_C_RETURN_IF_ERROR(need(state, "room for a state"));
  auto found = session->session->state(id);
  if (!found)
    return report(found.status());
  *state = mtp_sequence_state(*found);
  return MTP_OK;
}

void(mtp_sequence_counts_init)(mtp_sequence_counts *counts) { clear(counts); }

void mtp_sequence_counts_init_sized(mtp_sequence_counts *counts, size_t size) {
  initSized(counts, size, mtp_sequence_counts_init);
}

mtp_status mtp_session_get_counts(const mtp_session *session,
                                  mtp_sequence_counts *counts) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  SequenceCounts c = session->session->counts();
  return report(toCaller({sizeof(mtp_sequence_counts), c.waiting, c.prefilling,
                          c.running, c.paused, c.finished},
                         counts, "mtp_sequence_counts"));
}

mtp_status mtp_session_cancel(mtp_session *session, uint64_t id) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  return report(session->session->cancel(id));
}

mtp_status mtp_session_release(mtp_session *session, uint64_t id) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  return report(session->session->release(id));
}

//===----------------------------------------------------------------------===//
// State of sessions
//===----------------------------------------------------------------------===//

mtp_status mtp_session_get_output(const mtp_session *session, uint64_t id,
                                  const int32_t **tokens, size_t *count,
                                  mtp_finish *finish) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  MTP_C_RETURN_IF_ERROR(need(tokens, "room for tokens"));
  MTP_C_RETURN_IF_ERROR(need(count, "room for a count"));
  MTP_C_RETURN_IF_ERROR(need(finish, "room for a finish"));
  // Another thread may release it before either call.
  auto reason = session->session->finishReason(id);
  if (!reason)
    return report(reason.status());
  auto output = session->session->output(id);
  if (!output)
    return report(output.status());
  *tokens = output->data();
  *count = output->size();
  *finish = mtp_finish(*reason);
  return MTP_OK;
}

mtp_status mtp_session_get_logits(const mtp_session *session, uint64_t id,
                                  size_t index, const float **logits,
                                  size_t *count) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  MTP_C_RETURN_IF_ERROR(need(logits, "room for logits"));
  MTP_C_RETURN_IF_ERROR(need(count, "room for a count"));
  auto row = session->session->logits(id, index);
  if (!row)
    return report(row.status());
  *logits = row->data();
  *count = row->size();
  return MTP_OK;
}

} // extern "C"
