//===- capi_kind_test.cpp - Profiles and kinds of the C interface ---------===//

#include "runtime/exec/SessionProfile.h"
#include "runtime/profile/ProfileFile.h"
#include "support/CApiTest.h"

#include <cstddef>

using namespace mtp;
using namespace mtp::test;

/// Returns an artifact in which each slot has its own number of drafts.
static const std::string &limitedPath() {
  static std::string path = [] {
    FakeOptions options;
    options.hasLimit = true;
    return writeFile("kinds.bin", makeFakeModel(options).finish());
  }();
  return path;
}

/// Returns a profile in which a draft takes 0.6 of a plain step. Drafts of the
/// kind "easy" are accepted, and drafts of the kind "hard" are rejected.
static profile::Profile profileOfKinds() {
  auto model = *Model::load(limitedPath());
  SessionOptions options;
  options.threads = 1;
  options.recordsProfile = true;
  auto session = *Session::create(model, options);
  for (uint32_t k = 0; k <= 4; ++k) {
    Request request;
    request.prompt = {3, 1, 4};
    request.maxTokens = 30;
    request.k = k;
    EXPECT_TRUE(session->add(request).isOk());
    while (!session->idle())
      EXPECT_TRUE(session->step().isOk());
  }
  profile::Profile recorded = SessionProfile::recorded(*session);
  for (profile::Cost &cost : recorded.machines[0].costs)
    cost.lower = cost.median = cost.upper = 1e-3 * (1 + 0.6 * cost.k);
  for (const char *name : {"hard", "easy"}) {
    profile::Outcomes of;
    of.tried = {1000};
    of.accepted = {name[0] == 'e' ? 990u : 10u};
    recorded.kinds.push_back({name, of});
  }
  return recorded;
}

static mtp_request requestOf(const char *kind) {
  static const int32_t prompt[] = {3, 1, 4};
  mtp_request request;
  mtp_request_init(&request);
  request.prompt = prompt;
  request.prompt_count = 3;
  request.max_tokens = 4;
  request.kind = kind;
  return request;
}

TEST(CApi, BeginsWithTheAcceptanceOfAKind) {
  std::string path =
      writeFile("kinds.profile", profile::writeProfile(profileOfKinds()));
  mtp_load_options how;
  mtp_load_options_init(&how);
  how.profile = path.c_str();
  mtp_model *model = nullptr;
  ASSERT_EQ(mtp_model_load_with(limitedPath().c_str(), &how, &model), MTP_OK)
      << mtp_message();
  mtp_session_options options;
  mtp_session_options_init(&options);
  options.k = MTP_K_AUTO;
  options.threads = 1;
  auto plainRounds = [&](const char *kind) {
    mtp_session *session = create(model, &options);
    mtp_request request = requestOf(kind);
    uint64_t id = 0, rounds = 0;
    EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_OK) << mtp_message();
    while (!mtp_session_idle(session))
      EXPECT_EQ(mtp_session_step(session, nullptr, nullptr), MTP_OK);
    size_t count = 0;
    EXPECT_EQ(mtp_session_get_rounds(session, id, &rounds, 1, &count), MTP_OK);
    mtp_session_free(session);
    return rounds;
  };
  EXPECT_GT(plainRounds("hard"), 0u);
  EXPECT_EQ(plainRounds("easy"), 0u);
  mtp_model_free(model);
}

TEST(CApi, ChecksProfilesAndKinds) {
  mtp_model *model = load();
  mtp_session *session = create(model);
  mtp_request request = requestOf("no kind");
  uint64_t id = 0;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected a kind of at most 32 letters, digits, "
                              "'-' and '_', got 'no kind'");
  // A program that was compiled with an older header has no kind.
  request.size = offsetof(mtp_request, kind);
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_OK) << mtp_message();
  mtp_session_free(session);
  mtp_model_free(model);
  mtp_load_options how;
  mtp_load_options_init(&how);
  how.profile = "/no/such/profile";
  model = nullptr;
  EXPECT_EQ(mtp_model_load_with(artifactPath().c_str(), &how, &model),
            MTP_NOT_FOUND);
  EXPECT_EQ(std::string(mtp_message()).find("/no/such/profile"), 0u);
  how.size = offsetof(mtp_load_options, profile);
  EXPECT_EQ(mtp_model_load_with(artifactPath().c_str(), &how, &model), MTP_OK);
  mtp_model_free(model);
}

TEST(CApi, ChecksTheConfidenceOfDrafts) {
  FakeOptions fake;
  fake.hasLimit = true;
  ArtifactBuilder builder = makeFakeModel(fake);
  builder.addState("draft_p_min", {builder.envelope.maxBatch},
                   schema::DType::F32, {.init = 0.25, .input = true});
  std::string path = writeFile("ending.bin", builder.finish());
  mtp_model *model = nullptr, *other = load();
  ASSERT_EQ(mtp_model_load(path.c_str(), &model), MTP_OK) << mtp_message();
  mtp_session_options options;
  mtp_session_options_init(&options);
  EXPECT_EQ(options.draft_p_min, MTP_DRAFT_P_MIN_DEFAULT);
  options.draft_p_min = 0.5f;
  mtp_session *session = nullptr;
  EXPECT_EQ(mtp_session_create(other, &options, &session),
            MTP_INVALID_ARGUMENT);
  options.draft_p_min = 1.5f;
  EXPECT_EQ(mtp_session_create(model, &options, &session),
            MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "draftPMin (--draft-p-min): expected a number of "
                              "0 to 1, got 1.500000");
  options.draft_p_min = 1;
  session = create(model, &options);
  mtp_request request = requestOf(nullptr);
  uint64_t id = 0;
  EXPECT_EQ(request.draft_p_min, MTP_DRAFT_P_MIN_DEFAULT);
  for (float least : {-1.0f, 0.0f, 1.0f}) {
    request.draft_p_min = least;
    EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_OK) << mtp_message();
  }
  request.draft_p_min = -0.5f;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  // A program that was compiled with an older header has no threshold.
  request.size = offsetof(mtp_request, draft_p_min);
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_OK) << mtp_message();
  while (!mtp_session_idle(session))
    EXPECT_EQ(mtp_session_step(session, nullptr, nullptr), MTP_OK);
  mtp_session_free(session);
  mtp_model_free(model);
  mtp_model_free(other);
}
