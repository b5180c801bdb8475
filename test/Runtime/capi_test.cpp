//===- capi_test.cpp - The C interface ------------------------------------===//

#include "ByteTokenizer.h"
#include "FakeModel.h"
#include "mtp/mtp.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

const std::string &artifactPath() {
  static std::string path = writeFile("capi.bin", makeFakeModel({}).finish());
  return path;
}

mtp_model *load(const std::string &path = artifactPath()) {
  mtp_model *model = nullptr;
  EXPECT_EQ(mtp_model_load(path.c_str(), &model), MTP_OK) << mtp_message();
  return model;
}

/// Returns an artifact with a tokenizer and recommended settings.
const std::string &chatPath() {
  static std::string path = [] {
    FakeOptions options;
    options.eos = {7, 9};
    ArtifactBuilder a = makeFakeModel(options);
    a.bos = 3;
    a.temperature = 0.75f;
    a.topP = 0.5f;
    a.chatTemplates = {{"default", "{{ eos_token }}{{ messages | length }}"}};
    a.chatTokens = {{"eos_token", "</s>"}};
    a.tokenizer =
        int32_t(a.addSegment(schema::SegmentKind::Tokenizer, byteTokenizer()));
    return writeFile("chat.bin", a.finish());
  }();
  return path;
}

mtp_session *create(const mtp_model *model,
                    const mtp_session_options *options = nullptr) {
  mtp_session *session = nullptr;
  EXPECT_EQ(mtp_session_create(model, options, &session), MTP_OK)
      << mtp_message();
  return session;
}

/// Runs one prompt to its end.
uint64_t generate(mtp_session *session, const std::vector<int32_t> &prompt,
                  uint32_t maxTokens) {
  mtp_request request;
  mtp_request_init(&request);
  request.prompt = prompt.data();
  request.prompt_count = prompt.size();
  request.max_tokens = maxTokens;
  uint64_t id = 0;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_OK) << mtp_message();
  while (!mtp_session_idle(session))
    EXPECT_EQ(mtp_session_step(session, nullptr, nullptr), MTP_OK);
  return id;
}

struct Seen {
  std::vector<int32_t> tokens;
  mtp_finish finish = MTP_RUNNING;
};

void collect(void *user, const mtp_update *update) {
  Seen *seen = static_cast<Seen *>(user);
  seen->tokens.insert(seen->tokens.end(), update->tokens,
                      update->tokens + update->count);
  seen->finish = update->finish;
}

} // namespace

TEST(CApi, GeneratesLikeTheReference) {
  mtp_model *model = load();
  mtp_model_info info;
  mtp_model_info_init(&info);
  mtp_model_get_info(model, &info);
  EXPECT_EQ(info.max_k, 4u);
  EXPECT_EQ(info.vocab, 64u);
  mtp_session *session = nullptr;
  ASSERT_EQ(mtp_session_create(model, nullptr, &session), MTP_OK);
  mtp_model_free(model);
  Request expected;
  expected.prompt = {3, 1, 4};
  mtp_request request;
  mtp_request_init(&request);
  request.prompt = expected.prompt.data();
  request.prompt_count = 3;
  uint64_t id = 0;
  ASSERT_EQ(mtp_session_add(session, &request, &id), MTP_OK);
  Seen seen;
  while (!mtp_session_idle(session))
    ASSERT_EQ(mtp_session_step(session, collect, &seen), MTP_OK);
  EXPECT_EQ(seen.tokens, expectedOutput(expected).tokens);
  EXPECT_EQ(seen.finish, MTP_LENGTH);
  mtp_statistics statistics;
  mtp_statistics_init(&statistics);
  mtp_session_get_statistics(session, &statistics);
  EXPECT_EQ(statistics.output_tokens, 16u);
  EXPECT_EQ(mtp_session_release(session, id), MTP_OK);
  EXPECT_EQ(mtp_session_release(session, id), MTP_NOT_FOUND);
  mtp_session_free(session);
}

TEST(CApi, LoadsWithOptions) {
  mtp_load_options options;
  mtp_load_options_init(&options);
  options.copy = 1;
  options.check_all_hashes = 1;
  mtp_model *model = nullptr;
  ASSERT_EQ(mtp_model_load_with(artifactPath().c_str(), &options, &model),
            MTP_OK)
      << mtp_message();
  mtp_model_info info;
  mtp_model_info_init(&info);
  mtp_model_get_info(model, &info);
  EXPECT_EQ(info.vocab, 64u);
  mtp_model_free(model);
  options.device = MTP_DEVICE_CUDA;
  EXPECT_EQ(mtp_model_load_with(artifactPath().c_str(), &options, &model),
            MTP_FAILED_PRECONDITION);
  EXPECT_EQ(std::string(mtp_message()),
            artifactPath() + ": expected an artifact with a plan for an NVIDIA "
                             "GPU (mtpc --target=cuda), got one for x86_64");
  options.device = 3;
  EXPECT_EQ(mtp_model_load_with(artifactPath().c_str(), &options, &model),
            MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected a device of 0 to 2, got 3");
}

TEST(CApi, ErrorsHaveCodesAndMessages) {
  mtp_model *none = nullptr;
  EXPECT_EQ(mtp_model_load("/no/such/file", &none), MTP_NOT_FOUND);
  EXPECT_STREQ(mtp_message(),
               "/no/such/file: cannot open: No such file or directory");
  EXPECT_EQ(none, nullptr);
  mtp_model *model = load();
  mtp_session_options options;
  mtp_session_options_init(&options);
  options.k = 9;
  mtp_session *session = nullptr;
  EXPECT_EQ(mtp_session_create(model, &options, &session),
            MTP_INVALID_ARGUMENT);
  size_t count = 7;
  EXPECT_EQ(mtp_model_encode(model, "a", 1, 1, 0, nullptr, 0, &count),
            MTP_FAILED_PRECONDITION);
  EXPECT_STREQ(mtp_message(), "the artifact has no tokenizer");
  EXPECT_EQ(count, 7u);
  mtp_model_free(model);
}

TEST(CApi, RendersChats) {
  mtp_model *model = load();
  mtp_chat *chat = nullptr;
  EXPECT_EQ(mtp_chat_create(model, nullptr, 0, &chat), MTP_NOT_FOUND);
  EXPECT_STREQ(mtp_message(), "the artifact has no chat template");
  std::string request = R"({"messages": [{"content": "ab"}, {"content": ""}]})";
  char text[8];
  int32_t tokens[4];
  size_t count = 0;
  ASSERT_EQ(mtp_chat_create(model, "x", 1, &chat), MTP_OK);
  EXPECT_EQ(
      mtp_chat_encode(chat, request.data(), request.size(), tokens, 4, &count),
      MTP_FAILED_PRECONDITION);
  mtp_chat_free(chat);
  mtp_model_free(model);

  ASSERT_EQ(mtp_model_load(chatPath().c_str(), &model), MTP_OK);
  ASSERT_EQ(mtp_chat_create(model, nullptr, 0, &chat), MTP_OK);
  ASSERT_EQ(
      mtp_chat_render(chat, request.data(), request.size(), text, 8, &count),
      MTP_OK);
  EXPECT_EQ(std::string(text, count), "</s>2");
  mtp_chat_free(chat);
  std::string source = "\n {{ x";
  EXPECT_EQ(mtp_chat_create(model, source.data(), source.size(), &chat),
            MTP_INVALID_ARGUMENT);
  EXPECT_NE(std::string(mtp_message()).find("line 2"), std::string::npos);
  source = "{% for m in messages %}{{ m.content }}!{% endfor %}";
  ASSERT_EQ(mtp_chat_create(model, source.data(), source.size(), &chat),
            MTP_OK);
  mtp_model_free(model);
  ASSERT_EQ(
      mtp_chat_render(chat, request.data(), request.size(), text, 8, &count),
      MTP_OK);
  EXPECT_EQ(std::string(text, count), "ab!!");
  ASSERT_EQ(
      mtp_chat_encode(chat, request.data(), request.size(), tokens, 3, &count),
      MTP_OK);
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(tokens[2], '!');
  EXPECT_EQ(mtp_chat_render(chat, "{}", 2, text, 8, &count),
            MTP_INVALID_ARGUMENT);
  EXPECT_EQ(mtp_chat_render(nullptr, "{}", 2, text, 8, &count),
            MTP_INVALID_ARGUMENT);
  EXPECT_EQ(mtp_chat_render(chat, nullptr, 2, text, 8, &count),
            MTP_INVALID_ARGUMENT);
  EXPECT_EQ(
      mtp_chat_encode(chat, request.data(), request.size(), tokens, 4, nullptr),
      MTP_INVALID_ARGUMENT);
  mtp_chat_free(chat);
  mtp_chat_free(nullptr);
}

TEST(CApi, TheExampleRuns) {
  std::string command =
      std::string(MTP_GENERATE_EXAMPLE) + " " + artifactPath() + " 3 1 4";
  FILE *pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::vector<int32_t> tokens;
  for (int token; std::fscanf(pipe, "%d", &token) == 1;)
    tokens.push_back(token);
  EXPECT_EQ(pclose(pipe), 0);
  Request expected;
  expected.prompt = {3, 1, 4};
  EXPECT_EQ(tokens, expectedOutput(expected).tokens);
}

TEST(CApi, VersionsAreTheProjects) {
  EXPECT_STREQ(mtp_version(), MTP_PROJECT_VERSION);
  EXPECT_EQ(mtp_format_version(),
            std::to_string(kFormatMajor) + "." + std::to_string(kFormatMinor));
}

TEST(CApi, KIsACountOrTheNamedMaximum) {
  mtp_model *model = load();
  mtp_session_options options;
  mtp_session_options_init(&options);
  EXPECT_EQ(options.k, MTP_K_MAXIMUM);
  for (int32_t k : {MTP_K_SESSION, -7, INT32_MIN}) {
    options.k = k;
    mtp_session *session = nullptr;
    EXPECT_EQ(mtp_session_create(model, &options, &session),
              MTP_INVALID_ARGUMENT);
    EXPECT_EQ(mtp_message(), "expected k of 0 or more, MTP_K_MAXIMUM (-1) or "
                             "MTP_K_AUTO (-2), got " +
                                 std::to_string(k));
    EXPECT_EQ(session, nullptr);
  }
  mtp_model_free(model);
}

TEST(CApi, ARequestHasAKOfItsOwn) {
  mtp_model *model = load();
  mtp_session_options options;
  mtp_session_options_init(&options);
  options.k = 3;
  mtp_session *session = create(model, &options);
  int32_t prompt[] = {3, 1, 4};
  mtp_request request;
  mtp_request_init(&request);
  EXPECT_EQ(request.k, MTP_K_SESSION);
  request.prompt = prompt;
  request.prompt_count = 3;
  uint64_t id = 0;
  for (int32_t k : {-4, 4}) {
    request.k = k;
    EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  }
  EXPECT_STREQ(mtp_message(), "expected k of at most 3, the session's, got 4");
  // Without the state draft_limit, automatic is the session's k.
  const std::pair<int32_t, size_t> kCases[] = {
      {MTP_K_SESSION, 3}, {MTP_K_MAXIMUM, 3}, {MTP_K_AUTO, 3}, {0, 0}, {2, 2}};
  for (auto [k, rounded] : kCases) {
    request.k = k;
    ASSERT_EQ(mtp_session_add(session, &request, &id), MTP_OK);
    while (!mtp_session_idle(session))
      ASSERT_EQ(mtp_session_step(session, nullptr, nullptr), MTP_OK);
    uint64_t rounds[9] = {};
    size_t count = 0;
    ASSERT_EQ(mtp_session_get_rounds(session, id, rounds, 9, &count), MTP_OK);
    EXPECT_EQ(count, 4u);
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(rounds[i] > 0, i == rounded) << "k " << k;
  }
  EXPECT_EQ(mtp_session_get_rounds(session, 99, nullptr, 0, nullptr),
            MTP_INVALID_ARGUMENT);
  size_t count = 0;
  EXPECT_EQ(mtp_session_get_rounds(session, 99, nullptr, 0, &count),
            MTP_NOT_FOUND);
  mtp_session_free(session);
  mtp_model_free(model);
}

TEST(CApi, NullIsAnError) {
  mtp_model *model = load(chatPath());
  mtp_session *session = create(model), *noSession = nullptr;
  mtp_model *noModel = nullptr;
  mtp_decoder *decoder = nullptr;
  mtp_results *results = nullptr;
  const int32_t *tokens = nullptr;
  const float *logits = nullptr;
  const char *text = nullptr;
  size_t count = 0;
  uint64_t id = 0;
  mtp_finish finish;
  mtp_model_info info;
  mtp_model_info_init(&info);
  mtp_request request;
  mtp_request_init(&request);
  const mtp_status statuses[] = {
      mtp_model_load(nullptr, &noModel),
      mtp_model_load(chatPath().c_str(), nullptr),
      mtp_model_get_info(nullptr, &info),
      mtp_model_get_info(model, nullptr),
      mtp_model_get_generation(model, nullptr),
      mtp_model_get_eos(model, nullptr, 1, &count),
      mtp_model_get_eos(model, nullptr, 0, nullptr),
      mtp_model_get_function(model, 0, nullptr),
      mtp_model_encode(model, nullptr, 3, 0, 0, nullptr, 0, &count),
      mtp_model_encode(nullptr, "a", 1, 0, 0, nullptr, 0, &count),
      mtp_model_encode(model, "a", 1, 0, 0, nullptr, 1, &count),
      mtp_model_decode(model, nullptr, 3, nullptr, 0, &count),
      mtp_decoder_create(nullptr, 0, &decoder),
      mtp_decoder_create(model, 0, nullptr),
      mtp_decoder_append(nullptr, nullptr, 0, &text, &count),
      mtp_decoder_finish(nullptr, &text, &count),
      mtp_session_create(nullptr, nullptr, &noSession),
      mtp_session_create(model, nullptr, nullptr),
      mtp_session_add(nullptr, &request, &id),
      mtp_session_add(session, nullptr, &id),
      mtp_session_add(session, &request, nullptr),
      mtp_session_step(nullptr, nullptr, nullptr),
      mtp_session_cancel(nullptr, 1),
      mtp_session_release(nullptr, 1),
      mtp_session_get_output(session, 1, nullptr, &count, &finish),
      mtp_session_get_output(nullptr, 1, &tokens, &count, &finish),
      mtp_session_get_logits(nullptr, 1, 0, &logits, &count),
      mtp_session_get_statistics(session, nullptr),
      mtp_session_get_acceptance(session, 0, nullptr, nullptr, 0, nullptr),
      mtp_session_get_memory_usage(session, nullptr),
      mtp_session_run_function(session, nullptr, nullptr, 0, &results),
      mtp_session_run_function(session, "twice", nullptr, 1, &results),
      mtp_session_run_function(session, "twice", nullptr, 1, nullptr),
      mtp_results_get(nullptr, 0, nullptr)};
  for (size_t i = 0; i < std::size(statuses); ++i)
    EXPECT_EQ(statuses[i], MTP_INVALID_ARGUMENT) << "call " << i;
  EXPECT_EQ(mtp_model_load(nullptr, &noModel), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected a path, got null");
  EXPECT_EQ(mtp_session_idle(nullptr), 1);
  EXPECT_EQ(mtp_model_function_count(nullptr), 0u);
  EXPECT_EQ(mtp_results_count(nullptr), 0u);
  mtp_request_init(nullptr);
  mtp_session_options_init(nullptr);
  mtp_generation_init(nullptr);
  mtp_model_free(nullptr);
  mtp_session_free(nullptr);
  mtp_decoder_free(nullptr);
  mtp_results_free(nullptr);
  mtp_session_free(session);
  mtp_model_free(model);
}

TEST(CApi, CountsAreCheckedBeforeAnythingIsCopied) {
  mtp_model *model = load();
  mtp_session *session = create(model);
  int32_t token = 1;
  mtp_request request;
  mtp_request_init(&request);
  request.prompt = &token;
  uint64_t id = 0;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  request.prompt_count = size_t(1) << 60;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_OUT_OF_RANGE);
  EXPECT_STREQ(mtp_message(),
               "expected a prompt_count of at most 96, the context that the "
               "artifact was compiled for, got 1152921504606846976");
  request.prompt_count = 1;
  request.stop_tokens = &token;
  request.stop_count = size_t(1) << 61;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_OUT_OF_RANGE);
  EXPECT_STREQ(mtp_message(),
               "expected a stop_count of at most 64, the tokens there are, got "
               "2305843009213693952");
  request.stop_tokens = nullptr;
  request.stop_count = 1;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected 1 stop tokens, got null");
  mtp_session_free(session);
  mtp_model_free(model);
}

TEST(CApi, NamesTheSequencesThatHaveNotEnded) {
  mtp_model *model = load();
  mtp_session *session = create(model);
  mtp_request request;
  mtp_request_init(&request);
  int32_t prompt[] = {3, 1, 4};
  request.prompt = prompt;
  request.prompt_count = 3;
  uint64_t ids[3] = {}, left[3] = {77, 77, 77};
  for (uint64_t &id : ids)
    ASSERT_EQ(mtp_session_add(session, &request, &id), MTP_OK);
  EXPECT_EQ(mtp_session_cancel(session, ids[1]), MTP_OK);
  size_t count = 0;
  EXPECT_EQ(mtp_session_get_unfinished(session, left, 1, &count), MTP_OK);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(left[0], ids[0]);
  EXPECT_EQ(left[1], 77u);
  EXPECT_EQ(mtp_session_get_unfinished(session, left, 3, &count), MTP_OK);
  EXPECT_EQ(left[1], ids[2]);
  EXPECT_EQ(left[2], 77u);
  EXPECT_EQ(mtp_session_get_unfinished(session, nullptr, 3, &count), MTP_OK);
  EXPECT_EQ(mtp_session_get_unfinished(session, left, 3, nullptr),
            MTP_INVALID_ARGUMENT);
  while (!mtp_session_idle(session))
    ASSERT_EQ(mtp_session_step(session, nullptr, nullptr), MTP_OK);
  EXPECT_EQ(mtp_session_get_unfinished(session, left, 3, &count), MTP_OK);
  EXPECT_EQ(count, 0u);
  mtp_session_free(session);
  mtp_model_free(model);
}

TEST(CApi, RequestsSayHowTheyAreScheduled) {
  mtp_model *model = load();
  mtp_session *session = create(model);
  mtp_request request;
  mtp_request_init(&request);
  int32_t prompt[] = {3, 1, 4, 1, 5, 9, 2, 6, 5};
  request.prompt = prompt;
  request.prompt_count = 9;
  request.max_tokens = 6;
  uint64_t id = 0;
  request.min_tokens = 7;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  request.min_tokens = 6;
  std::string salt(1025, 'x');
  request.cache_salt = salt.c_str();
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  salt.pop_back();
  request.cache_salt = salt.c_str();
  request.priority = -3;
  request.group = UINT64_MAX;
  auto cached = [&] {
    EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_OK) << mtp_message();
    while (!mtp_session_idle(session))
      EXPECT_EQ(mtp_session_step(session, nullptr, nullptr), MTP_OK);
    mtp_statistics statistics;
    mtp_statistics_init(&statistics);
    EXPECT_EQ(mtp_session_get_sequence_statistics(session, id, &statistics),
              MTP_OK);
    return statistics.cached_tokens;
  };
  EXPECT_EQ(cached(), 0u);
  EXPECT_EQ(cached(), 8u);
  request.cache_salt = "other";
  EXPECT_EQ(cached(), 0u);
  request.cache_salt = nullptr;
  EXPECT_EQ(cached(), 0u);
  mtp_session_free(session);
  mtp_model_free(model);
}

TEST(CApi, PausesAndCounts) {
  mtp_model *model = load();
  mtp_session *session = create(model);
  mtp_request request;
  mtp_request_init(&request);
  int32_t prompt[] = {3, 1, 4};
  request.prompt = prompt;
  request.prompt_count = 3;
  uint64_t ids[2] = {};
  for (uint64_t &id : ids)
    ASSERT_EQ(mtp_session_add(session, &request, &id), MTP_OK);
  EXPECT_EQ(mtp_session_wait(session, 0), 1);
  EXPECT_EQ(mtp_session_wait(nullptr, 0), 0);
  EXPECT_EQ(mtp_session_pause(session, ids[0]), MTP_OK);
  EXPECT_EQ(mtp_session_pause(session, 99), MTP_NOT_FOUND);
  EXPECT_EQ(mtp_session_resume(session, 99), MTP_NOT_FOUND);
  mtp_sequence_state state = MTP_SEQUENCE_ENDED;
  EXPECT_EQ(mtp_session_get_state(session, ids[0], &state), MTP_OK);
  EXPECT_EQ(state, MTP_SEQUENCE_PAUSED);
  EXPECT_EQ(mtp_session_get_state(session, 99, &state), MTP_NOT_FOUND);
  while (mtp_session_wait(session, 0))
    ASSERT_EQ(mtp_session_step(session, nullptr, nullptr), MTP_OK);
  mtp_sequence_counts counts = {};
  EXPECT_EQ(mtp_session_get_counts(session, &counts), MTP_INVALID_ARGUMENT);
  mtp_sequence_counts_init(&counts);
  EXPECT_EQ(mtp_session_get_counts(session, &counts), MTP_OK);
  EXPECT_EQ(counts.waiting + counts.prefilling + counts.running, 0u);
  EXPECT_EQ(counts.paused, 1u);
  EXPECT_EQ(counts.ended, 1u);
  mtp_session_wake(session);
  mtp_session_wake(nullptr);
  EXPECT_EQ(mtp_session_wait(session, HUGE_VAL), 0);
  EXPECT_EQ(mtp_session_resume(session, ids[0]), MTP_OK);
  while (!mtp_session_idle(session))
    ASSERT_EQ(mtp_session_step(session, nullptr, nullptr), MTP_OK);
  const int32_t *first = nullptr, *second = nullptr;
  size_t size = 0;
  mtp_finish finish;
  ASSERT_EQ(mtp_session_get_output(session, ids[0], &first, &size, &finish),
            MTP_OK);
  ASSERT_EQ(mtp_session_get_output(session, ids[1], &second, &size, &finish),
            MTP_OK);
  EXPECT_EQ(std::vector<int32_t>(first, first + size),
            std::vector<int32_t>(second, second + size));
  mtp_session_free(session);
  mtp_model_free(model);
}

TEST(CApi, StructsMustBeInitialised) {
  mtp_model *model = load();
  mtp_session_options options;
  std::memset(&options, 0, sizeof(options));
  mtp_session *session = nullptr;
  EXPECT_EQ(mtp_session_create(model, &options, &session),
            MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(),
               "expected mtp_session_options as mtp_session_options_init fills "
               "it in, got one of size 0");
  // An older caller's struct ends earlier.
  mtp_session_options_init(&options);
  EXPECT_EQ(options.prompt_milliseconds, 20u);
  EXPECT_EQ(options.snapshot_bytes, SessionOptions().snapshotBytes);
  options.snapshot_tokens = 0;
  EXPECT_EQ(mtp_session_create(model, &options, &session),
            MTP_INVALID_ARGUMENT);
  EXPECT_NE(std::string_view(mtp_message()).find("snapshot"),
            std::string_view::npos);
  mtp_session_options_init(&options);
  options.size = offsetof(mtp_session_options, logits);
  options.logits = 77;
  session = create(model, &options);
  mtp_session_free(session);
  mtp_session_options_init(&options);
  options.logits = 77;
  EXPECT_EQ(mtp_session_create(model, &options, &session),
            MTP_INVALID_ARGUMENT);
  mtp_statistics statistics;
  statistics.size = sizeof(size_t) * 2;
  statistics.slot_rounds = 42;
  session = create(model);
  EXPECT_EQ(mtp_session_get_statistics(session, &statistics), MTP_OK);
  EXPECT_EQ(statistics.slot_rounds, 42u);
  mtp_session_free(session);
  mtp_model_free(model);
}

TEST(CApi, TellsWhatTheModelRecommends) {
  mtp_model *model = load(chatPath());
  mtp_generation generation;
  mtp_generation_init(&generation);
  ASSERT_EQ(mtp_model_get_generation(model, &generation), MTP_OK);
  EXPECT_EQ(generation.bos, 3);
  EXPECT_EQ(generation.add_bos, 1);
  EXPECT_EQ(generation.temperature, 0.75f);
  EXPECT_EQ(generation.top_p, 0.5f);
  EXPECT_EQ(generation.top_k, 0u);
  int32_t eos[2] = {0, 0};
  size_t count = 0;
  ASSERT_EQ(mtp_model_get_eos(model, eos, 1, &count), MTP_OK);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(eos[0], 7);
  EXPECT_EQ(eos[1], 0);
  mtp_model_free(model);
  model = load();
  ASSERT_EQ(mtp_model_get_generation(model, &generation), MTP_OK);
  EXPECT_EQ(generation.bos, -1);
  ASSERT_EQ(mtp_model_get_eos(model, nullptr, 0, &count), MTP_OK);
  EXPECT_EQ(count, 0u);
  mtp_model_free(model);
}

TEST(CApi, DecodesAStream) {
  mtp_model *model = load(chatPath());
  mtp_decoder *decoder = nullptr;
  ASSERT_EQ(mtp_decoder_create(model, 0, &decoder), MTP_OK);
  mtp_model_free(model); // the decoder keeps the data that it needs
  const char *text = nullptr;
  size_t length = 0;
  auto append = [&](std::vector<int32_t> tokens) {
    EXPECT_EQ(mtp_decoder_append(decoder, tokens.data(), tokens.size(), &text,
                                 &length),
              MTP_OK);
    EXPECT_EQ(std::strlen(text), length);
    return std::string(text, length);
  };
  EXPECT_EQ(append({'a', 256, 'b'}), "ab");
  // Half a character is held back, also across a refused id.
  EXPECT_EQ(append({'c', 0xe2, 0x82}), "c");
  EXPECT_EQ(append({257, 1000}), "");
  int32_t bad[] = {'x', -257};
  EXPECT_EQ(mtp_decoder_append(decoder, bad, 2, &text, &length),
            MTP_OUT_OF_RANGE);
  EXPECT_STREQ(mtp_message(), "expected a token id of at least 0, got -257");
  EXPECT_EQ(append({0xac, 'd'}), "\xe2\x82\xac"
                                 "d");
  EXPECT_EQ(append({}), "");
  EXPECT_EQ(append({0xe2}), "");
  ASSERT_EQ(mtp_decoder_finish(decoder, &text, &length), MTP_OK);
  EXPECT_EQ(std::string(text, length), "\xef\xbf\xbd");
  mtp_decoder_free(decoder);
}

TEST(CApi, EncodesAndDecodes) {
  mtp_model *model = load(chatPath());
  int32_t tokens[3] = {0, 0, 0};
  size_t count = 0;
  ASSERT_EQ(mtp_model_encode(model, "hi<end>", 7, 0, 1, tokens, 3, &count),
            MTP_OK);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(tokens[0], 'h');
  EXPECT_EQ(tokens[2], 256);
  char text[8] = "";
  ASSERT_EQ(mtp_model_decode(model, tokens, 3, text, 8, &count), MTP_OK);
  EXPECT_EQ(std::string(text, count), "hi");
  mtp_model_free(model);
}

TEST(CApi, TellsAcceptanceMemoryOutputAndLogits) {
  mtp_model *model = load();
  mtp_session_options options;
  mtp_session_options_init(&options);
  options.k = 3;
  options.logits = MTP_LOGITS_ALL;
  mtp_session *session = create(model, &options);
  uint64_t id = generate(session, {3, 1, 4}, 20);
  mtp_statistics all, one;
  mtp_statistics_init(&all);
  mtp_statistics_init(&one);
  ASSERT_EQ(mtp_session_get_statistics(session, &all), MTP_OK);
  ASSERT_EQ(mtp_session_get_sequence_statistics(session, id, &one), MTP_OK);
  EXPECT_EQ(all.output_tokens, 20u);
  EXPECT_EQ(all.decode_tokens, 19u);
  EXPECT_EQ(one.round_tokens, all.round_tokens);
  // The fake model does not report active rows: all k + 1 of each round count.
  EXPECT_EQ(all.round_rows, all.round_capacity);
  EXPECT_EQ(one.round_rows, all.round_rows);
  EXPECT_EQ(one.round_capacity, all.round_capacity);
  EXPECT_GE(all.round_rows, all.round_tokens);
  uint64_t drafted[4] = {9, 9, 9, 9}, accepted[4] = {9, 9, 9, 9};
  size_t count = 0;
  ASSERT_EQ(
      mtp_session_get_acceptance(session, 0, drafted, accepted, 4, &count),
      MTP_OK);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(drafted[0], all.slot_rounds);
  EXPECT_EQ(accepted[0] + accepted[1] + accepted[2] + all.slot_rounds,
            all.round_tokens);
  EXPECT_EQ(drafted[3], 9u);
  ASSERT_EQ(
      mtp_session_get_acceptance(session, id, nullptr, nullptr, 0, &count),
      MTP_OK);
  EXPECT_EQ(
      mtp_session_get_acceptance(session, 99, nullptr, nullptr, 0, &count),
      MTP_NOT_FOUND);

  mtp_memory_usage usage;
  mtp_memory_usage_init(&usage);
  ASSERT_EQ(mtp_session_get_memory_usage(session, &usage), MTP_OK);
  EXPECT_EQ(usage.held_pages, 0u);
  EXPECT_GT(usage.free_pages + usage.cached_pages, 0u);
  EXPECT_EQ(usage.page_tokens, 4u);
  EXPECT_GT(usage.bytes, 0u);

  const int32_t *tokens = nullptr;
  mtp_finish finish = MTP_RUNNING;
  ASSERT_EQ(mtp_session_get_output(session, id, &tokens, &count, &finish),
            MTP_OK);
  EXPECT_EQ(finish, MTP_LENGTH);
  Request request;
  request.prompt = {3, 1, 4};
  request.maxTokens = 20;
  EXPECT_EQ(std::vector<int32_t>(tokens, tokens + count),
            expectedOutput(request).tokens);
  const float *row = nullptr;
  ASSERT_EQ(mtp_session_get_logits(session, id, 0, &row, &count), MTP_OK);
  EXPECT_EQ(std::vector<float>(row, row + count), fakeLogits({3, 1, 4}));
  EXPECT_EQ(mtp_session_get_logits(session, id, 20, &row, &count),
            MTP_OUT_OF_RANGE);
  mtp_session_free(session);
  session = create(model);
  id = generate(session, {1}, 2);
  EXPECT_EQ(mtp_session_get_logits(session, id, 0, &row, &count),
            MTP_FAILED_PRECONDITION);
  mtp_session_free(session);
  mtp_model_free(model);
}

TEST(CApi, RunsFunctions) {
  mtp_model *model = load();
  ASSERT_EQ(mtp_model_function_count(model), 1u);
  mtp_function function;
  mtp_function_init(&function);
  EXPECT_EQ(mtp_model_get_function(model, 1, &function), MTP_OUT_OF_RANGE);
  ASSERT_EQ(mtp_model_get_function(model, 0, &function), MTP_OK);
  EXPECT_STREQ(function.name, "twice");
  ASSERT_EQ(function.input_count, 1u);
  EXPECT_STREQ(function.inputs[0].name, "arg0");
  EXPECT_EQ(function.inputs[0].element, MTP_F32);
  ASSERT_EQ(function.inputs[0].rank, 1u);
  EXPECT_EQ(function.inputs[0].shape[0], 4u);
  ASSERT_EQ(function.output_count, 1u);
  EXPECT_STREQ(function.outputs[0].name, "result0");

  mtp_session *session = create(model);
  float values[] = {1, 2, 3, 4};
  uint64_t shape[] = {4, 1};
  mtp_tensor input = {MTP_F32, 1, shape, values, sizeof(values)};
  mtp_results *results = nullptr;
  auto run = [&](const char *name, const mtp_tensor &tensor, size_t count) {
    return mtp_session_run_function(session, name, &tensor, count, &results);
  };
  ASSERT_EQ(run("twice", input, 1), MTP_OK) << mtp_message();
  ASSERT_EQ(mtp_results_count(results), 1u);
  mtp_tensor output;
  ASSERT_EQ(mtp_results_get(results, 0, &output), MTP_OK);
  EXPECT_EQ(mtp_results_get(results, 1, &output), MTP_OUT_OF_RANGE);
  EXPECT_EQ(output.element, MTP_F32);
  ASSERT_EQ(output.bytes, sizeof(values));
  float doubled[4];
  std::memcpy(doubled, output.data, sizeof(doubled));
  EXPECT_EQ(doubled[3], 8.0f);
  mtp_results_free(results);

  EXPECT_EQ(run("half", input, 1), MTP_NOT_FOUND);
  EXPECT_EQ(run("twice", input, size_t(1) << 60), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "@twice: expected 1 inputs, got "
                              "1152921504606846976");
  mtp_tensor wrong = input;
  wrong.bytes = size_t(1) << 60;
  EXPECT_EQ(run("twice", wrong, 1), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "@twice: input 0: expected 16 bytes, got "
                              "1152921504606846976");
  wrong = input;
  wrong.rank = size_t(1) << 60;
  EXPECT_EQ(run("twice", wrong, 1), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "@twice: input 0: expected 1 dimensions, got "
                              "1152921504606846976");
  wrong = input;
  wrong.element = 10;
  EXPECT_EQ(run("twice", wrong, 1), MTP_INVALID_ARGUMENT);
  wrong = input;
  wrong.data = nullptr;
  EXPECT_EQ(run("twice", wrong, 1), MTP_INVALID_ARGUMENT);
  mtp_session_free(session);
  mtp_model_free(model);
}

/// Returns a model with an input that no kernel reads, and with picks as an
/// output; in a chain the picks are the tokens.
static std::string channelPath() {
  ArtifactBuilder a = makeFakeModel();
  a.addState("bias", {4, 3}, schema::DType::F32,
             ArtifactBuilder::Upkeep{.input = true});
  for (ArtifactBuilder::Program &program : a.programs)
    for (size_t i = 0; i < program.outputs.size(); ++i)
      if (program.outputs[i].name == "picks") {
        ArtifactBuilder::Port own = program.outputs[i];
        own.name = "own";
        own.of = schema::PortRows::Tokens;
        program.outputs.push_back(own);
      }
  return writeFile("capi_channel.bin", a.finish());
}

static void compareRows(void *user, const mtp_update *update) {
  ASSERT_EQ(update->output_count, 1u);
  const mtp_output_rows &own = update->outputs[0];
  EXPECT_STREQ(own.name, "own");
  EXPECT_EQ(own.tokens, nullptr);
  EXPECT_EQ(own.rows.element, MTP_I32);
  ASSERT_EQ(own.rows.rank, 1u);
  ASSERT_EQ(own.rows.shape[0], update->count);
  EXPECT_EQ(std::memcmp(own.rows.data, update->tokens, own.rows.bytes), 0);
  *static_cast<size_t *>(user) += update->count;
}

TEST(CApi, RequestsBringAndAskForWhatTheModelDeclares) {
  mtp_model *model = load(channelPath());
  const mtp_port *inputs = nullptr;
  const mtp_request_output *outputs = nullptr;
  size_t count = 0;
  ASSERT_EQ(mtp_model_get_request_inputs(model, &inputs, &count), MTP_OK);
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(inputs[0].name, "bias");
  EXPECT_EQ(inputs[0].element, MTP_F32);
  ASSERT_EQ(inputs[0].rank, 1u);
  EXPECT_EQ(inputs[0].shape[0], 3u);
  ASSERT_EQ(mtp_model_get_request_outputs(model, &outputs, &count), MTP_OK);
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(outputs[0].row.name, "own");
  EXPECT_EQ(outputs[0].row.rank, 0u);
  EXPECT_EQ(outputs[0].per_token, 1);

  mtp_session *session = create(model);
  int32_t prompt[] = {1, 2, 3};
  float values[] = {1, 2, 3};
  uint64_t shape[] = {3}, id = 0;
  mtp_request_input input = {"bias", {MTP_F32, 1, shape, values, 12}};
  const char *asked[] = {"own"};
  mtp_request request;
  mtp_request_init(&request);
  request.prompt = prompt;
  request.prompt_count = 3;
  request.inputs = &input;
  request.input_count = 1;
  request.outputs = asked;
  request.output_count = 1;
  ASSERT_EQ(mtp_session_add(session, &request, &id), MTP_OK) << mtp_message();
  size_t tokens = 0;
  while (!mtp_session_idle(session))
    ASSERT_EQ(mtp_session_step(session, compareRows, &tokens), MTP_OK);
  EXPECT_EQ(tokens, 16u);

  input.value.bytes = 8;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "input 'bias': expected 12 bytes, got 8");
  input = {"tilt", input.value};
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected an input named 'bias', got 'tilt'");
  request.inputs = nullptr;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  request.input_count = 0;
  asked[0] = "mine";
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected an output named 'own', got 'mine'");
  mtp_session_free(session);
  mtp_model_free(model);
}

namespace {
/// The results of a callback for rounds that stop.
struct Stops {
  size_t stops = 0, tokens = 0;
  std::vector<int32_t> drafts;
};
} // namespace

static void seeDrafts(void *user, const mtp_update *update) {
  Stops &seen = *static_cast<Stops *>(user);
  seen.tokens += update->count;
  seen.stops += size_t(update->awaits_host);
  EXPECT_EQ(update->parents, nullptr);
  EXPECT_EQ(update->draft_count != 0, update->awaits_host == 1);
  seen.drafts.assign(update->drafts, update->drafts + update->draft_count);
}

TEST(CApi, AHostSeesTheDraftsAndWritesInputs) {
  FakeOptions fake;
  fake.showsDrafts = true;
  mtp_model *model =
      load(writeFile("capi_stops.bin", makeFakeModel(fake).finish()));
  EXPECT_EQ(mtp_model_shows_drafts(model), 1);
  EXPECT_EQ(mtp_model_shows_drafts(nullptr), 0);
  EXPECT_EQ(mtp_session_awaits_host(nullptr), 0);
  mtp_session *session = create(model);
  int32_t prompt[] = {1, 2, 3};
  mtp_request request;
  mtp_request_init(&request);
  EXPECT_EQ(request.sees_drafts, 0);
  request.prompt = prompt;
  request.prompt_count = 3;
  request.sees_drafts = 1;
  uint64_t id = 0, shape[] = {3};
  ASSERT_EQ(mtp_session_add(session, &request, &id), MTP_OK) << mtp_message();
  int32_t values[] = {1, 2, 3};
  mtp_request_input input = {"allowed", {MTP_I32, 1, shape, values, 12}};
  Stops seen;
  size_t stopped = 0;
  while (!mtp_session_idle(session)) {
    ASSERT_EQ(mtp_session_step(session, seeDrafts, &seen), MTP_OK);
    if (!mtp_session_awaits_host(session))
      continue;
    ++stopped;
    EXPECT_EQ(seen.drafts.size(), 4u);
    EXPECT_EQ(mtp_session_set_input(session, id, &input), MTP_OK);
  }
  EXPECT_EQ(seen.tokens, 16u);
  EXPECT_EQ(seen.stops, stopped);
  EXPECT_GT(stopped, 0u);

  EXPECT_EQ(mtp_session_set_input(session, id, &input),
            MTP_FAILED_PRECONDITION);
  EXPECT_EQ(mtp_session_set_input(session, 99, &input), MTP_NOT_FOUND);
  EXPECT_EQ(mtp_session_set_input(session, id, nullptr), MTP_INVALID_ARGUMENT);
  EXPECT_EQ(mtp_session_set_input(nullptr, id, &input), MTP_INVALID_ARGUMENT);
  ASSERT_EQ(mtp_session_add(session, &request, &id), MTP_OK);
  input.value.bytes = 8;
  EXPECT_EQ(mtp_session_set_input(session, id, &input), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "input 'allowed': expected 12 bytes, got 8");
  input.name = "bias";
  EXPECT_EQ(mtp_session_set_input(session, id, &input), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected an input named 'allowed', got 'bias'");
  mtp_session_free(session);
  mtp_model_free(model);
}

TEST(CApi, RefusesMoreMemoryThanThereIs) {
  FakeOptions fake;
  fake.page = 1024;
  ArtifactBuilder a = makeFakeModel(fake);
  // Megabytes per page: petabytes in all, on every machine.
  a.caches[0].layers = 4096;
  mtp_model *model = load(writeFile("large_pages.bin", a.finish()));
  mtp_session_options options;
  mtp_session_options_init(&options);
  options.kv_pages = INT32_MAX;
  mtp_session *session = nullptr;
  EXPECT_EQ(mtp_session_create(model, &options, &session),
            MTP_RESOURCE_EXHAUSTED);
  EXPECT_NE(std::strstr(mtp_message(), "; lower kv_pages to "), nullptr)
      << mtp_message();
  options.kv_pages = UINT32_MAX;
  EXPECT_EQ(mtp_session_create(model, &options, &session),
            MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected kv_pages of 2 to 2147483647 (0: the "
                              "default), got 4294967295");
  mtp_session_options_init(&options);
  options.threads = 100000;
  EXPECT_EQ(mtp_session_create(model, &options, &session),
            MTP_INVALID_ARGUMENT);
  EXPECT_EQ(session, nullptr);
  mtp_model_free(model);
}
