//===- capi_values_test.cpp - Values that the C interface passes ----------===//

#include "support/CApiTest.h"

#include <cstring>

using namespace mtp;
using namespace mtp::test;

TEST(CApi, TellsAcceptance) {
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
  mtp_session_free(session);
  mtp_model_free(model);
}

// A round of one slot runs the program of three.
TEST(CApi, PadsRounds) {
  mtp_model *model = load();
  mtp_session_options options;
  mtp_session_options_init(&options);
  EXPECT_EQ(options.capture_sizes, nullptr);
  EXPECT_EQ(options.capture_size_count, 0u);
  const uint32_t sizes[] = {3};
  options.capture_sizes = sizes;
  options.capture_size_count = 1;
  mtp_session *session = create(model, &options);
  generate(session, {3, 1, 4}, 20);
  mtp_statistics all;
  mtp_statistics_init(&all);
  ASSERT_EQ(mtp_session_get_statistics(session, &all), MTP_OK);
  EXPECT_GT(all.rounds, 0u);
  EXPECT_EQ(all.padded_rounds, all.rounds);
  EXPECT_EQ(all.padding_slots, 2 * all.rounds);
  mtp_session_free(session);
  // Callers of earlier versions have no sizes.
  options.size = offsetof(mtp_session_options, capture_sizes);
  session = create(model, &options);
  generate(session, {3, 1, 4}, 20);
  ASSERT_EQ(mtp_session_get_statistics(session, &all), MTP_OK);
  EXPECT_EQ(all.padded_rounds, 0u);
  mtp_session_free(session);
  mtp_model_free(model);
}

TEST(CApi, RefusesWrongCaptureSizes) {
  mtp_model *model = load();
  auto errorOf = [&](const uint32_t *sizes, size_t count) {
    mtp_session_options options;
    mtp_session_options_init(&options);
    options.capture_sizes = sizes;
    options.capture_size_count = count;
    mtp_session *session = nullptr;
    EXPECT_EQ(mtp_session_create(model, &options, &session),
              MTP_INVALID_ARGUMENT);
    return std::string(mtp_message());
  };
  const uint32_t none[] = {2, 0}, many[] = {5};
  EXPECT_EQ(errorOf(none, 2),
            "captureSizes (--capture-sizes): expected 1 to 4 slots, got 0");
  EXPECT_EQ(errorOf(many, 1),
            "captureSizes (--capture-sizes): expected 1 to 4 slots, got 5");
  EXPECT_EQ(errorOf(nullptr, 1), "expected 1 capture_sizes, got null");
  EXPECT_EQ(errorOf(none, 1025),
            "expected a capture_size_count of at most 1024, got 1025");
  mtp_model_free(model);
}

TEST(CApi, TellsMemoryOutputAndLogits) {
  mtp_model *model = load();
  mtp_session_options options;
  mtp_session_options_init(&options);
  options.k = 3;
  options.logits = MTP_LOGITS_ALL;
  mtp_session *session = create(model, &options);
  uint64_t id = generate(session, {3, 1, 4}, 20);
  mtp_memory_usage usage;
  mtp_memory_usage_init(&usage);
  ASSERT_EQ(mtp_session_get_memory_usage(session, &usage), MTP_OK);
  EXPECT_EQ(usage.held_pages, 0u);
  EXPECT_GT(usage.free_pages + usage.cached_pages, 0u);
  EXPECT_EQ(usage.page_tokens, 4u);
  EXPECT_GT(usage.bytes, 0u);

  const int32_t *tokens = nullptr;
  size_t count = 0;
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

TEST(CApi, ListsFunctions) {
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
  mtp_model_free(model);
}

TEST(CApi, RunsFunctions) {
  mtp_model *model = load();
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

TEST(CApi, ListsInputsAndOutputsOfRequests) {
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
  mtp_model_free(model);
}

TEST(CApi, RequestsBringAndAskForWhatTheModelDeclares) {
  mtp_model *model = load(channelPath());
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
/// The log-probabilities of one sequence.
struct Scores {
  std::vector<mtp_token_logprob> own, likeliest;
  std::vector<uint32_t> ranks;
};
} // namespace

static void takeScores(void *user, const mtp_update *update) {
  Scores &scores = *static_cast<Scores *>(user);
  ASSERT_EQ(update->logprob_count, update->count);
  EXPECT_EQ(update->prompt_logprob_count, 0u);
  for (size_t i = 0; i < update->count; ++i) {
    const mtp_token_logprobs &one = update->logprobs[i];
    EXPECT_EQ(one.own.token, update->tokens[i]);
    ASSERT_EQ(one.likeliest_count, 2u);
    scores.own.push_back(one.own);
    scores.ranks.push_back(one.rank);
    scores.likeliest.insert(scores.likeliest.end(), one.likeliest,
                            one.likeliest + one.likeliest_count);
  }
}

TEST(CApi, RequestsAskForLogProbabilities) {
  mtp_model *model =
      load(writeFile("capi_plain.bin", makeFakeModel().finish()));
  EXPECT_EQ(mtp_model_scores_prompts(model), 0);
  EXPECT_EQ(mtp_model_scores_prompts(nullptr), 0);
  mtp_session *session = create(model);
  int32_t prompt[] = {1, 2, 3};
  uint64_t id = 0;
  mtp_request request;
  mtp_request_init(&request);
  EXPECT_EQ(request.logprobs, MTP_LOGPROBS_NONE);
  request.prompt = prompt;
  request.prompt_count = 3;
  request.logprobs = 2;
  ASSERT_EQ(mtp_session_add(session, &request, &id), MTP_OK) << mtp_message();
  Scores scores;
  while (!mtp_session_idle(session))
    ASSERT_EQ(mtp_session_step(session, takeScores, &scores), MTP_OK);
  ASSERT_EQ(scores.own.size(), 16u);
  // A greedy request picks the likeliest token.
  for (size_t i = 0; i < scores.own.size(); ++i) {
    EXPECT_EQ(scores.ranks[i], 1u);
    EXPECT_EQ(scores.likeliest[2 * i].token, scores.own[i].token);
    EXPECT_EQ(scores.likeliest[2 * i].logprob, scores.own[i].logprob);
    EXPECT_LT(scores.likeliest[2 * i + 1].logprob, scores.own[i].logprob);
    EXPECT_LT(scores.own[i].logprob, 0);
  }

  request.logprobs = -2;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected logprobs of 0 to 20 or "
                              "MTP_LOGPROBS_NONE (-1), got -2");
  request.logprobs = 21;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  request.logprobs = 0;
  request.logprobs_mode = 2;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected logprobs_mode of 0 to 1, got 2");
  request.logprobs_mode = MTP_LOGPROBS_PROCESSED;
  request.prompt_logprobs = 1;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_FAILED_PRECONDITION);
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

// A program with an older or a newer header than the library's.
TEST(CApi, InitsStructsOfTheCallersSize) {
  constexpr size_t kOlder = offsetof(mtp_request, draft_p_min),
                   kNewer = sizeof(mtp_request) + 8;
  alignas(mtp_request) unsigned char bytes[kNewer];
  auto *request = reinterpret_cast<mtp_request *>(bytes);
  for (size_t size : {kOlder, kNewer}) {
    std::memset(bytes, 0xab, kNewer);
    mtp_request_init_sized(request, size);
    EXPECT_EQ(request->size, size);
    EXPECT_EQ(request->top_p, 1.0f);
    for (size_t i = size; i < kNewer; ++i)
      EXPECT_EQ(bytes[i], 0xab) << i;
  }
  EXPECT_EQ(bytes[kNewer - 1], 0);
  EXPECT_EQ(request->draft_p_min, MTP_DRAFT_P_MIN_DEFAULT);
  mtp_request_init_sized(nullptr, kOlder);
  // A struct without room for its size stays as it is.
  std::memset(bytes, 0xab, kNewer);
  mtp_request_init_sized(request, sizeof(size_t) - 1);
  for (unsigned char byte : bytes)
    EXPECT_EQ(byte, 0xab);
}

TEST(CApi, ChecksTheSizesOfStructs) {
  mtp_model *model = load();
  mtp_session *session = create(model);
  mtp_request request;
  uint64_t id = 0;
  for (size_t size : {size_t(0), sizeof(size_t), size_t(4097), SIZE_MAX}) {
    mtp_request_init(&request);
    request.size = size;
    EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
    EXPECT_EQ(mtp_message(),
              "expected mtp_request as mtp_request_init fills it in, got one "
              "of size " +
                  std::to_string(size));
  }
  // A library fills in the members that the caller's struct has.
  mtp_statistics statistics;
  std::memset(&statistics, 0xab, sizeof(statistics));
  statistics.size = offsetof(mtp_statistics, output_tokens);
  EXPECT_EQ(mtp_session_get_statistics(session, &statistics), MTP_OK);
  EXPECT_EQ(statistics.size, offsetof(mtp_statistics, output_tokens));
  EXPECT_EQ(statistics.rounds, 0u);
  EXPECT_EQ(statistics.output_tokens, 0xababababababababu);
  mtp_session_free(session);
  mtp_model_free(model);
}
