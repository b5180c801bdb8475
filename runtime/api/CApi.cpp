//===- CApi.cpp - The C interface over the C++ one ------------------------===//

#include "mtp/mtp.h"
#include "mtp/runtime.h"
#include "runtime/text/Tokenizer.h"

#include <algorithm>
#include <cstring>

using namespace mtp;

struct mtp_model {
  std::shared_ptr<const Model> model;
  /// Null when the artifact has none.
  std::unique_ptr<Tokenizer> tokenizer;
};

struct mtp_session {
  std::unique_ptr<Session> session;
};

static_assert(MTP_INTERNAL == int(StatusCode::Internal) &&
              MTP_OUT_OF_RANGE == int(StatusCode::OutOfRange) &&
              MTP_DATA_LOSS == int(StatusCode::DataLoss));
static_assert(MTP_FAILED == int(FinishReason::Failed) &&
              MTP_LENGTH == int(FinishReason::Length));

static std::string &threadMessage() {
  thread_local std::string message;
  return message;
}

static mtp_status report(const Status &status) {
  threadMessage() = status.message();
  return mtp_status(status.code());
}

/// Copies a caller's struct of possibly another version over defaults.
template <typename T>
static T fromCaller(const T *given, void (*init)(T *)) {
  T value;
  init(&value);
  if (given)
    std::memcpy(&value, given, std::min(given->size, sizeof(T)));
  value.size = sizeof(T);
  return value;
}

/// The other way round: fills no more than the caller's struct has.
template <typename T>
static void toCaller(T value, T *target) {
  value.size = target->size;
  std::memcpy(target, &value, std::min(target->size, sizeof(T)));
}

template <typename T>
static void clear(T *value) {
  *value = T();
  value->size = sizeof(T);
}

extern "C" {

const char *mtp_message(void) { return threadMessage().c_str(); }

const char *mtp_version(void) { return MTP_VERSION; }

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

void mtp_load_options_init(mtp_load_options *options) { clear(options); }

mtp_status mtp_model_load(const char *path, mtp_model **model) {
  return mtp_model_load_with(path, nullptr, model);
}

mtp_status mtp_model_load_with(const char *path,
                               const mtp_load_options *options,
                               mtp_model **model) {
  mtp_load_options given = fromCaller(options, mtp_load_options_init);
  LoadOptions how;
  how.checkAllHashes = given.check_all_hashes != 0;
  how.copy = given.copy != 0;
  Result<std::shared_ptr<const Model>> loaded = Model::load(path, how);
  if (!loaded)
    return report(loaded.status());
  auto result = std::make_unique<mtp_model>();
  result->model = std::move(*loaded);
  if (!result->model->tokenizer().empty()) {
    auto tokenizer = Tokenizer::load(result->model->tokenizer());
    if (!tokenizer)
      return report(tokenizer.status().withContext(path));
    result->tokenizer = std::move(*tokenizer);
  }
  *model = result.release();
  return MTP_OK;
}

void mtp_model_free(mtp_model *model) { delete model; }

void mtp_model_info_init(mtp_model_info *info) { clear(info); }

void mtp_model_get_info(const mtp_model *model, mtp_model_info *info) {
  mtp_model_info value;
  clear(&value);
  if (const EnvelopeInfo *e = model->model->envelope()) {
    value.max_k = e->maxK;
    value.max_batch = e->maxBatch;
    value.max_context = e->maxContext;
    value.vocab = e->vocab;
    value.modules = e->modules;
  }
  toCaller(value, info);
}

static Status needTokenizer(const mtp_model *model) {
  return model->tokenizer ? okStatus()
                          : failedPrecondition("the artifact has no tokenizer");
}

mtp_status mtp_model_encode(const mtp_model *model, const char *text,
                            size_t length, int add_special, int parse_special,
                            int32_t *tokens, size_t capacity, size_t *count) {
  if (Status status = needTokenizer(model); !status.isOk())
    return report(status);
  auto ids = model->tokenizer->encode({text, length},
                                      {add_special != 0, parse_special != 0});
  if (!ids)
    return report(ids.status());
  std::copy_n(ids->begin(), std::min(capacity, ids->size()), tokens);
  *count = ids->size();
  return MTP_OK;
}

mtp_status mtp_model_decode(const mtp_model *model, const int32_t *tokens,
                            size_t count, char *text, size_t capacity,
                            size_t *length) {
  if (Status status = needTokenizer(model); !status.isOk())
    return report(status);
  auto decoded = model->tokenizer->decode({tokens, count});
  if (!decoded)
    return report(decoded.status());
  std::copy_n(decoded->begin(), std::min(capacity, decoded->size()), text);
  *length = decoded->size();
  return MTP_OK;
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

void mtp_session_options_init(mtp_session_options *options) {
  clear(options);
  options->k = -1;
  options->prefix_cache = 1;
}

mtp_status mtp_session_create(const mtp_model *model,
                              const mtp_session_options *options,
                              mtp_session **session) {
  mtp_session_options given = fromCaller(options, mtp_session_options_init);
  SessionOptions o;
  if (given.k >= 0)
    o.k = uint32_t(given.k);
  o.threads = given.threads;
  o.kvPages = given.kv_pages;
  o.maxSlots = given.max_slots;
  o.prefillChunk = given.prefill_chunk;
  o.chunksPerStep = given.chunks_per_step;
  o.pinThreads = given.pin_threads != 0;
  o.prefixCache = given.prefix_cache != 0;
  auto created = Session::create(model->model, o);
  if (!created)
    return report(created.status());
  *session = new mtp_session{std::move(*created)};
  return MTP_OK;
}

void mtp_session_free(mtp_session *session) { delete session; }

void mtp_request_init(mtp_request *request) {
  clear(request);
  request->max_tokens = 16;
  request->top_p = 1;
}

mtp_status mtp_session_add(mtp_session *session, const mtp_request *request,
                           uint64_t *id) {
  mtp_request given = fromCaller(request, mtp_request_init);
  Request r;
  r.prompt.assign(given.prompt, given.prompt + given.prompt_count);
  r.maxTokens = given.max_tokens;
  r.sampling = {given.temperature, given.top_k, given.top_p, given.min_p,
                given.seed};
  r.stopTokens.assign(given.stop_tokens, given.stop_tokens + given.stop_count);
  r.ignoreEos = given.ignore_eos != 0;
  auto added = session->session->add(std::move(r));
  if (!added)
    return report(added.status());
  *id = *added;
  return MTP_OK;
}

mtp_status mtp_session_step(mtp_session *session, mtp_update_fn callback,
                            void *user) {
  auto updates = session->session->step();
  if (!updates)
    return report(updates.status());
  for (const SequenceUpdate &update : *updates) {
    std::string error(update.error.message());
    mtp_update given = {sizeof(mtp_update),        update.id,
                        update.tokens.data(),      update.tokens.size(),
                        mtp_finish(update.finish), error.c_str()};
    if (callback)
      callback(user, &given);
  }
  return MTP_OK;
}

int mtp_session_idle(const mtp_session *session) {
  return session->session->idle();
}

mtp_status mtp_session_cancel(mtp_session *session, uint64_t id) {
  return report(session->session->cancel(id));
}

mtp_status mtp_session_release(mtp_session *session, uint64_t id) {
  return report(session->session->release(id));
}

void mtp_statistics_init(mtp_statistics *statistics) { clear(statistics); }

void mtp_session_get_statistics(const mtp_session *session,
                                mtp_statistics *statistics) {
  const Statistics &s = session->session->statistics();
  toCaller({sizeof(mtp_statistics), s.rounds, s.slotRounds, s.roundTokens,
            s.outputTokens, s.prefillTokens, s.cachedTokens, s.preemptions,
            s.prefillSeconds, s.decodeSeconds},
           statistics);
}

} // extern "C"
