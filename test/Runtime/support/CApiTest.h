//===- CApiTest.h - Models and sessions of the C interface ------*- C++ -*-===//

#ifndef MTP_TEST_RUNTIME_SUPPORT_CAPITEST_H
#define MTP_TEST_RUNTIME_SUPPORT_CAPITEST_H

#include "ByteTokenizer.h"
#include "FakeModel.h"
#include "mtp/mtp.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace mtp::test {

inline const std::string &artifactPath() {
  static std::string path = writeFile("capi.bin", makeFakeModel({}).finish());
  return path;
}

inline mtp_model *load(const std::string &path = artifactPath()) {
  mtp_model *model = nullptr;
  EXPECT_EQ(mtp_model_load(path.c_str(), &model), MTP_OK) << mtp_message();
  return model;
}

/// Returns an artifact with a tokenizer and recommended settings.
inline const std::string &chatPath() {
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

inline mtp_session *create(const mtp_model *model,
                           const mtp_session_options *options = nullptr) {
  mtp_session *session = nullptr;
  EXPECT_EQ(mtp_session_create(model, options, &session), MTP_OK)
      << mtp_message();
  return session;
}

/// Runs one prompt to its end.
inline uint64_t generate(mtp_session *session,
                         const std::vector<int32_t> &prompt,
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

inline void collect(void *user, const mtp_update *update) {
  Seen *seen = static_cast<Seen *>(user);
  seen->tokens.insert(seen->tokens.end(), update->tokens,
                      update->tokens + update->count);
  seen->finish = update->finish;
}

} // namespace mtp::test

#endif // MTP_TEST_RUNTIME_SUPPORT_CAPITEST_H
