//===- capi_test.cpp - Models and sessions of the C interface -------------===//

#include "support/CApiTest.h"

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace mtp;
using namespace mtp::test;

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

TEST(CApi, NullIsAnErrorOfModels) {
  mtp_model *model = load(chatPath()), *noModel = nullptr;
  mtp_decoder *decoder = nullptr;
  const char *text = nullptr;
  size_t count = 0;
  mtp_model_info info;
  mtp_model_info_init(&info);
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
      mtp_decoder_finish(nullptr, &text, &count)};
  for (size_t i = 0; i < std::size(statuses); ++i)
    EXPECT_EQ(statuses[i], MTP_INVALID_ARGUMENT) << "call " << i;
  EXPECT_EQ(mtp_model_load(nullptr, &noModel), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected a path, got null");
  EXPECT_EQ(mtp_model_function_count(nullptr), 0u);
  (mtp_generation_init)(nullptr);
  mtp_model_free(nullptr);
  mtp_decoder_free(nullptr);
  mtp_model_free(model);
}

TEST(CApi, NullIsAnErrorOfSessions) {
  mtp_model *model = load(chatPath());
  mtp_session *session = create(model), *noSession = nullptr;
  mtp_results *results = nullptr;
  const int32_t *tokens = nullptr;
  const float *logits = nullptr;
  size_t count = 0;
  uint64_t id = 0;
  mtp_finish finish;
  mtp_request request;
  mtp_request_init(&request);
  const mtp_status statuses[] = {
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
  EXPECT_EQ(mtp_session_idle(nullptr), 1);
  EXPECT_EQ(mtp_results_count(nullptr), 0u);
  (mtp_request_init)(nullptr);
  (mtp_session_options_init)(nullptr);
  mtp_session_free(nullptr);
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
  request.stop_count = 0;
  request.allowed_tokens = &token;
  request.allowed_count = size_t(1) << 61;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_OUT_OF_RANGE);
  request.allowed_count = 0;
  request.bias_count = 1;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected 1 biases, got null");
  mtp_session_free(session);
  mtp_model_free(model);
}

TEST(CApi, RulesNeedAModelThatHasThem) {
  mtp_model *model = load();
  mtp_session *session = create(model);
  int32_t token = 1;
  mtp_token_bias bias = {1, 2.5f};
  mtp_request request;
  mtp_request_init(&request);
  request.prompt = &token;
  request.prompt_count = 1;
  uint64_t id = 0;
  auto refused = [&] {
    EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
    return std::string(mtp_message()).find("--without-logit-rules") !=
           std::string::npos;
  };
  request.frequency_penalty = 0.5f;
  EXPECT_TRUE(refused());
  request.frequency_penalty = 0;
  request.bias = &bias;
  request.bias_count = 1;
  EXPECT_TRUE(refused());
  request.bias_count = 0;
  int32_t words[] = {1, 2, 3};
  uint32_t sizes[] = {2, 1};
  request.bad_words = words;
  request.bad_word_sizes = sizes;
  request.bad_word_count = 2;
  EXPECT_TRUE(refused());
  sizes[0] = UINT32_MAX;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_OUT_OF_RANGE);
  request.bad_word_sizes = nullptr;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  request.bad_word_count = 0;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_OK);
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

TEST(CApi, SavesAndRestoresPrefixes) {
  mtp_model *model = load();
  std::vector<int32_t> prompt(18, 3);
  std::string path = testing::TempDir() + "/c-prefix";
  mtp_session *session = create(model);
  auto save = [&](mtp_session *of, const char *to, uint64_t *length) {
    return mtp_session_save_prefix(of, prompt.data(), prompt.size(), to,
                                   length);
  };
  EXPECT_EQ(save(session, path.c_str(), nullptr), MTP_NOT_FOUND);
  generate(session, prompt, 4);
  uint64_t saved = 0, restored = 0;
  EXPECT_EQ(save(session, path.c_str(), &saved), MTP_OK) << mtp_message();
  EXPECT_GE(saved, 12u);
  EXPECT_EQ(save(nullptr, path.c_str(), &saved), MTP_INVALID_ARGUMENT);
  EXPECT_EQ(save(session, nullptr, &saved), MTP_INVALID_ARGUMENT);
  mtp_session_free(session);
  session = create(model);
  EXPECT_EQ(mtp_session_restore_prefix(session, path.c_str(), &restored),
            MTP_OK)
      << mtp_message();
  EXPECT_EQ(restored, saved);
  EXPECT_EQ(mtp_session_restore_prefix(session, "none", nullptr),
            MTP_NOT_FOUND);
  EXPECT_EQ(mtp_session_restore_prefix(session, nullptr, nullptr),
            MTP_INVALID_ARGUMENT);
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
