//===- chat_files_test.cpp - A model's chat templates ---------------------===//

#include "compiler/Tokenizer/ChatFiles.h"
#include "runtime/schema/ChatLimits.h"
#include "test/Tokenizer/TokenizerTestUtil.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;
namespace fs = std::filesystem;

namespace {

/// A folder that is removed after the test.
class ChatFiles : public testing::Test {
protected:
  void SetUp() override {
    std::string name =
        testing::UnitTest::GetInstance()->current_test_info()->name();
    folder = fs::path(testing::TempDir()) / ("chat_files_" + name);
    fs::remove_all(folder);
    fs::create_directories(folder / "additional_chat_templates");
  }
  void TearDown() override { fs::remove_all(folder); }

  void write(const char *name, const std::string &text) {
    std::ofstream(folder / name, std::ios::binary) << text;
  }
  /// Returns "name=source ... | name=text ...", or the message of an error.
  std::string read() {
    auto source = readChatFiles(folder.string());
    if (!source.isOk())
      return std::string(source.status().message());
    std::string text;
    for (const auto &[name, template_] : source->templates)
      text += name + "=" + template_ + " ";
    text += "|";
    for (const auto &[name, token] : source->tokens)
      text += " " + name + "=" + token;
    return text;
  }

  fs::path folder;
};

} // namespace

TEST_F(ChatFiles, mayBeNone) {
  EXPECT_EQ(read(), "|");
  write("tokenizer_config.json", R"({"bos_token": "<s>"})");
  EXPECT_EQ(read(), "|");
}

TEST_F(ChatFiles, areFoundAsInTransformers) {
  write("chat_template.json", R"({"chat_template": "p"})");
  write("tokenizer_config.json", R"({"bos_token": {"content": "<s>"}})");
  EXPECT_EQ(read(), "default=p | bos_token=<s>");
  write("tokenizer_config.json",
        R"({"chat_template": "c", "bos_token": null, "eos_token": "</s>"})");
  write("special_tokens_map.json",
        R"({"bos_token": "[BOS]", "eos_token": "[EOS]"})");
  EXPECT_EQ(read(), "default=c | bos_token=[BOS] eos_token=</s>");
  write("chat_template.jinja", "j\n");
  EXPECT_EQ(read(), "default=j\n | bos_token=[BOS] eos_token=</s>");
  write("additional_chat_templates/tool_use.jinja", "t");
  write("additional_chat_templates/rag.jinja", "r");
  write("additional_chat_templates/readme.md", "x");
  EXPECT_EQ(read(),
            "default=j\n rag=r tool_use=t | bos_token=[BOS] eos_token=</s>");
}

/// jzhang38/TinyLlama#23: the file was refused, and its template was lost.
TEST_F(ChatFiles, mayHaveNumbersOfAnySize) {
  write("tokenizer_config.json",
        R"({"model_max_length": 1000000000000000019884624838656,
            "chat_template": "old", "chat_template": "new"})");
  write("special_tokens_map.json", R"({"x": 1e999, "bos_token": "<s>"})");
  EXPECT_EQ(read(), "default=new | bos_token=<s>");
}

TEST_F(ChatFiles, areBesideATokenizersFile) {
  write("tokenizer.json", "{}");
  write("chat_template.jinja", "j");
  EXPECT_EQ(readChatFiles((folder / "tokenizer.json").string())
                ->templates.front()
                .second,
            "j");
}

TEST_F(ChatFiles, mayBeAListOfNamedOnes) {
  write("tokenizer_config.json", R"({"chat_template": [
      {"name": "default", "template": "d"},
      {"name": "rag", "template": "r"}]})");
  EXPECT_EQ(read(), "default=d rag=r |");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "rag"}]})");
  EXPECT_NE(read().find("template"), std::string::npos);
  write("tokenizer_config.json", R"({"chat_template": 3})");
  EXPECT_EQ(read(), "tokenizer_config.json: expected a text or a list of named "
                    "ones at chat_template, got 3");
  write("tokenizer_config.json", R"({"chat_template": [
      {"name": "a", "template": "d"}, {"name": "a", "template": "r"}]})");
  EXPECT_EQ(read(), "expected one chat template 'a', got two");
  write("tokenizer_config.json",
        R"({"chat_template": [{"name": "a b", "template": "d"}]})");
  EXPECT_EQ(read(), "expected a visible name of a chat template, got 'a b'");
}

TEST_F(ChatFiles, haveLimits) {
  write("chat_template.jinja", std::string(kMostChatTemplateBytes, 'x'));
  EXPECT_EQ(read().size(), kMostChatTemplateBytes + 10);
  write("chat_template.jinja", std::string(kMostChatTemplateBytes + 1, 'x'));
  EXPECT_EQ(read(), "expected chat template 'default' of 1 to 1048576 bytes, "
                    "got 1048577");
  write("chat_template.jinja", "x");
  write("special_tokens_map.json",
        R"({"eos_token": ")" + std::string(1025, 'x') + R"("})");
  EXPECT_EQ(read(), "expected eos_token of at most 1024 bytes, got 1025");
  write("special_tokens_map.json", "{}");
  for (int i = 0; i < 16; ++i)
    write(("additional_chat_templates/" + std::to_string(i) + ".jinja").c_str(),
          "x");
  EXPECT_EQ(read(), "expected at most 16 chat templates, got 17");
  write("special_tokens_map.json", "[");
  EXPECT_NE(read().find("special_tokens_map.json"), std::string::npos);
}
