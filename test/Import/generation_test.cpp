//===- generation_test.cpp - Recommended sampling parameters --------------===//

#include "compiler/Import/config/ConfigReader.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::importer;

namespace {

/// Returns a config with additional fields at the front.
std::string config(const std::string &fields = "") {
  return "{" + fields +
         "\"model_type\":\"llama\",\"vocab_size\":127,\"hidden_size\":64,"
         "\"num_attention_heads\":4,\"num_hidden_layers\":3}";
}

ModelConfig read(const std::string &text, const std::string &generation = "") {
  Result<ModelConfig> result = parseModelConfig(text, generation);
  EXPECT_TRUE(result.isOk()) << result.status().toString();
  return result ? *result : ModelConfig();
}

void expectError(const std::string &text, const std::string &error,
                 const std::string &generation = "") {
  Result<ModelConfig> result = parseModelConfig(text, generation);
  ASSERT_FALSE(result.isOk()) << "expected: " << error;
  EXPECT_NE(result.status().message().find(error), std::string_view::npos)
      << result.status().toString();
}

/// The authors' recommended parameters are used (ggml-org/llama.cpp#27659,
/// jundot/omlx#21).
TEST(Generation, ReadsSamplingAsItIsMeant) {
  auto sampling = [](const std::string &fields) {
    return read(config(), "{\"do_sample\":true" + fields + "}").generation;
  };
  EXPECT_EQ(sampling("").temperature, 1.0);
  EXPECT_EQ(sampling(",\"top_p\":0.95,\"temperature\":null").temperature, 1.0);
  EXPECT_EQ(sampling(",\"temperature\":0").temperature, 0.0);
  for (const char *off : {"-1", "0"})
    EXPECT_EQ(sampling(std::string(",\"top_k\":") + off).topK, 0);
  EXPECT_FALSE(sampling(",\"top_k\":null").topK);
  EXPECT_EQ(sampling(",\"top_p\":1,\"min_p\":0").topP, 1.0);
  const std::pair<const char *, const char *> wrong[] = {
      {"\"top_p\":0",
       "\"top_p\": expected a number above 0 and up to 1, got 0"},
      {"\"top_p\":1e-60", "\"top_p\": expected a number above 0"},
      {"\"top_p\":1.5", "\"top_p\": expected a number above 0 and up to 1"},
      {"\"min_p\":-0.1", "\"min_p\": expected a number of 0 to 1, got -0.1"},
      {"\"temperature\":-1", "\"temperature\": expected a number of 0 to 100"},
      {"\"temperature\":1e30",
       "\"temperature\": expected a number of 0 to 100"},
      {"\"temperature\":NaN", "\"temperature\": expected a number"},
      {"\"top_k\":-2", "\"top_k\": expected an integer of -1 to 2147483647"},
      {"\"top_k\":1.5", "\"top_k\": expected an integer"}};
  for (const auto &[field, error] : wrong) {
    expectError(config(),
                "generation_config.json: config key " + std::string(error),
                std::string("{\"do_sample\":true,") + field + "}");
    // Without generation_config.json the config has the recommendations.
    expectError(config(std::string("\"do_sample\":true,") + field + ","),
                "config.json: config key " + std::string(error));
  }
  EXPECT_EQ(read(config("\"do_sample\":true,\"top_k\":7,")).generation.topK, 7);
  EXPECT_FALSE(
      read(config("\"do_sample\":true,\"top_k\":7,"), "{}").generation.topK);
}

/// Without do_sample, too, as in vLLM.
TEST(Generation, ReadsTheRepetitionPenalty) {
  auto penalty = [](const std::string &value) {
    return read(config(), "{\"repetition_penalty\":" + value + "}")
        .generation.repetitionPenalty;
  };
  EXPECT_EQ(penalty("1.05"), 1.05);
  EXPECT_EQ(penalty("0.5"), 0.5);
  EXPECT_FALSE(penalty("1.0"));
  EXPECT_FALSE(penalty("null"));
  for (const char *wrong : {"0", "-1", "1e6", "\"x\""})
    expectError(config(),
                "generation_config.json: config key \"repetition_penalty\": "
                "expected a number",
                std::string("{\"repetition_penalty\":") + wrong + "}");
}

TEST(Generation, NotesWhatIsNotApplied) {
  auto warnings = [](const std::string &text) {
    return read(config(), text).generation.warnings;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(warnings("{\"encoder_repetition_penalty\":1.05}"),
            Texts{"generation_config.json recommends "
                  "\"encoder_repetition_penalty\": 1.05, which is not "
                  "applied"});
  EXPECT_EQ(warnings("{\"repetition_penalty\":1.0,\"num_beams\":1,"
                     "\"no_repeat_ngram_size\":0,\"suppress_tokens\":null,"
                     "\"bad_words_ids\":[],\"typical_p\":1,\"top_k\":5}"),
            Texts());
  EXPECT_EQ(warnings("{\"suppress_tokens\":[5],\"stop_strings\":\"x\","
                     "\"num_beams\":4,\"max_new_tokens\":7}")
                .size(),
            4u);
  EXPECT_EQ(read(config("\"presence_penalty\":1.5,")).generation.warnings,
            Texts{"config.json recommends \"presence_penalty\": 1.5, which is "
                  "not applied"});
}

} // namespace
