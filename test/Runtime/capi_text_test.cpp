//===- capi_text_test.cpp - Texts and chats of the C interface ------------===//

#include "support/CApiTest.h"

using namespace mtp;
using namespace mtp::test;

TEST(CApi, ChatsNeedATemplateAndATokenizer) {
  mtp_model *model = load();
  mtp_chat *chat = nullptr;
  EXPECT_EQ(mtp_chat_create(model, nullptr, 0, &chat), MTP_NOT_FOUND);
  EXPECT_STREQ(mtp_message(), "the artifact has no chat template");
  std::string request = R"({"messages": [{"content": "ab"}, {"content": ""}]})";
  int32_t tokens[4];
  size_t count = 0;
  ASSERT_EQ(mtp_chat_create(model, "x", 1, &chat), MTP_OK);
  EXPECT_EQ(
      mtp_chat_encode(chat, request.data(), request.size(), tokens, 4, &count),
      MTP_FAILED_PRECONDITION);
  mtp_chat_free(chat);
  mtp_model_free(model);
}

TEST(CApi, RendersChats) {
  mtp_model *model = load(chatPath());
  mtp_chat *chat = nullptr;
  std::string request = R"({"messages": [{"content": "ab"}, {"content": ""}]})";
  char text[8];
  int32_t tokens[4];
  size_t count = 0;
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

TEST(CApi, CompilesConstraints) {
  mtp_model *model = load(chatPath());
  mtp_constraint *constraint = nullptr;
  auto create = [&](int32_t kind, std::vector<const char *> texts) {
    mtp_constraint_free(constraint);
    constraint = nullptr;
    return mtp_constraint_create(model, kind, texts.data(), texts.size(),
                                 &constraint);
  };
  EXPECT_EQ(create(MTP_CONSTRAINT_JSON_OBJECT, {}), MTP_OK) << mtp_message();
  EXPECT_EQ(create(MTP_CONSTRAINT_JSON_SCHEMA, {"{\"type\": \"null\"}"}),
            MTP_OK);
  EXPECT_EQ(create(MTP_CONSTRAINT_REGEX, {"a+"}), MTP_OK);
  EXPECT_EQ(create(MTP_CONSTRAINT_GBNF, {"root ::= \"a\""}), MTP_OK);
  EXPECT_EQ(create(MTP_CONSTRAINT_CHOICE, {"a", "b"}), MTP_OK);
  EXPECT_NE(constraint, nullptr);

  EXPECT_EQ(create(MTP_CONSTRAINT_REGEX, {"a", "b"}), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected 1 texts of kind 2, got 2");
  EXPECT_EQ(constraint, nullptr);
  EXPECT_EQ(create(MTP_CONSTRAINT_CHOICE, {}), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected at least 1 texts of kind 4, got 0");
  EXPECT_EQ(create(MTP_CONSTRAINT_JSON_OBJECT, {"a"}), MTP_INVALID_ARGUMENT);
  EXPECT_EQ(create(5, {"a"}), MTP_INVALID_ARGUMENT);
  EXPECT_STREQ(mtp_message(), "expected a kind of 0 to 4, got 5");
  EXPECT_EQ(create(MTP_CONSTRAINT_REGEX, {nullptr}), MTP_INVALID_ARGUMENT);
  EXPECT_EQ(create(MTP_CONSTRAINT_REGEX, {"a("}), MTP_INVALID_ARGUMENT);
  EXPECT_EQ(create(MTP_CONSTRAINT_JSON_SCHEMA, {"{\"not\": {}}"}),
            MTP_UNIMPLEMENTED);
  EXPECT_STREQ(mtp_message(), "/not: the keyword 'not' is not supported");
  const char *text = "a";
  EXPECT_EQ(mtp_constraint_create(nullptr, MTP_CONSTRAINT_REGEX, &text, 1,
                                  &constraint),
            MTP_INVALID_ARGUMENT);
  EXPECT_EQ(
      mtp_constraint_create(model, MTP_CONSTRAINT_REGEX, &text, 1, nullptr),
      MTP_INVALID_ARGUMENT);
  EXPECT_EQ(mtp_constraint_create(model, MTP_CONSTRAINT_REGEX, nullptr, 1,
                                  &constraint),
            MTP_INVALID_ARGUMENT);
  mtp_model *plain = load();
  EXPECT_EQ(
      mtp_constraint_create(plain, MTP_CONSTRAINT_REGEX, &text, 1, &constraint),
      MTP_FAILED_PRECONDITION);
  mtp_model_free(plain);
  mtp_model_free(model);
}

TEST(CApi, ConstraintsOutliveTheirModel) {
  std::shared_ptr<const TokenConstraint> constraint;
  {
    auto model = Model::load(chatPath());
    ASSERT_TRUE(model.isOk()) << model.status().toString();
    ConstraintSource source;
    source.kind = ConstraintSource::Kind::Choice;
    // The model has no tokens above 63.
    source.choices = {"123"};
    auto compiled = compileConstraint(**model, source);
    ASSERT_TRUE(compiled.isOk()) << compiled.status().toString();
    constraint = std::move(*compiled);
  }
  // Forced tokens are split by the tokenizer.
  EXPECT_FALSE(constraint->begin()->forced(8).empty());
}

// A request of an older caller ends before the constraint, which is not read.
TEST(CApi, ConstraintsNeedAModelWithMasks) {
  mtp_model *model = load(chatPath());
  const char *text = "a";
  mtp_constraint *constraint = nullptr;
  ASSERT_EQ(
      mtp_constraint_create(model, MTP_CONSTRAINT_REGEX, &text, 1, &constraint),
      MTP_OK);
  mtp_session *session = create(model);
  int32_t token = 1;
  uint64_t id = 0;
  mtp_request request;
  mtp_request_init(&request);
  EXPECT_EQ(request.constraint, nullptr);
  request.prompt = &token;
  request.prompt_count = 1;
  request.constraint = constraint;
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_INVALID_ARGUMENT);
  EXPECT_NE(std::string_view(mtp_message()).find("--without-logit-rules"),
            std::string_view::npos);
  request.size = offsetof(mtp_request, constraint);
  EXPECT_EQ(mtp_session_add(session, &request, &id), MTP_OK);
  mtp_constraint_free(constraint);
  mtp_session_free(session);
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
