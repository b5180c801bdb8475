//===- capi_test.cpp - The C interface ------------------------------------===//

#include "FakeModel.h"
#include "mtp/mtp.h"

#include <cstdio>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

const std::string &artifactPath() {
  static std::string path = writeFile("capi.bin", makeFakeModel({}).finish());
  return path;
}

mtp_model *load() {
  mtp_model *model = nullptr;
  EXPECT_EQ(mtp_model_load(artifactPath().c_str(), &model), MTP_OK)
      << mtp_message();
  return model;
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
