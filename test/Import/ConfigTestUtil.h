//===- ConfigTestUtil.h - Configs of tests ----------------------*- C++ -*-===//

#ifndef MTP_TEST_IMPORT_CONFIGTESTUTIL_H
#define MTP_TEST_IMPORT_CONFIGTESTUTIL_H

#include "compiler/Import/config/ConfigReader.h"

#include <gtest/gtest.h>
#include <map>
#include <string>

namespace mtp::importer::test {

/// A config as keys and JSON values, so that a test can change one of them.
class Config {
public:
  explicit Config(std::map<std::string, std::string> fields)
      : fields(std::move(fields)) {}

  Config with(const std::string &key, const std::string &value) const {
    Config changed = *this;
    changed.fields[key] = value;
    return changed;
  }
  Config without(const std::string &key) const {
    Config changed = *this;
    changed.fields.erase(key);
    return changed;
  }
  std::string text() const {
    std::string text;
    for (const auto &[key, value] : fields) {
      text += text.empty() ? "\"" : ",\"";
      text += key;
      text += "\":";
      text += value;
    }
    return "{" + text + "}";
  }

private:
  std::map<std::string, std::string> fields;
};

inline const Config kLlama({{"model_type", "\"llama\""},
                            {"vocab_size", "127"},
                            {"hidden_size", "64"},
                            {"num_attention_heads", "4"},
                            {"num_key_value_heads", "2"},
                            {"num_hidden_layers", "3"},
                            {"intermediate_size", "96"},
                            {"max_position_embeddings", "512"},
                            {"rms_norm_eps", "1e-5"},
                            {"eos_token_id", "2"}});

inline const Config kDeepSeek = kLlama.with("model_type", "\"deepseek_v3\"")
                                    .with("num_key_value_heads", "4")
                                    .with("kv_lora_rank", "32")
                                    .with("q_lora_rank", "48")
                                    .with("qk_nope_head_dim", "16")
                                    .with("qk_rope_head_dim", "8")
                                    .with("v_head_dim", "12")
                                    .with("first_k_dense_replace", "1")
                                    .with("n_routed_experts", "8")
                                    .with("num_experts_per_tok", "2")
                                    .with("n_shared_experts", "2")
                                    .with("moe_intermediate_size", "40")
                                    .with("n_group", "2")
                                    .with("topk_group", "1")
                                    .with("routed_scaling_factor", "2.5")
                                    .with("num_nextn_predict_layers", "1");

inline const Config kQwen3Moe = kLlama.with("model_type", "\"qwen3_moe\"")
                                    .with("head_dim", "24")
                                    .with("num_experts", "8")
                                    .with("num_experts_per_tok", "2")
                                    .with("moe_intermediate_size", "40");

inline const Config kGlm = kDeepSeek.with("model_type", "\"glm4_moe\"")
                               .with("num_key_value_heads", "2")
                               .with("head_dim", "16");

inline ModelConfig read(const Config &config,
                        const std::string &generation = "") {
  Result<ModelConfig> result = parseModelConfig(config.text(), generation);
  EXPECT_TRUE(result.isOk()) << result.status().toString();
  return result ? *result : ModelConfig();
}

inline void expectError(const std::string &config, const std::string &text,
                        const std::string &generation = "") {
  Result<ModelConfig> result = parseModelConfig(config, generation);
  ASSERT_FALSE(result.isOk()) << "expected: " << text;
  EXPECT_NE(result.status().message().find(text), std::string_view::npos)
      << result.status().toString();
}

inline void expectError(const Config &config, const std::string &text) {
  expectError(config.text(), text);
}

} // namespace mtp::importer::test

#endif // MTP_TEST_IMPORT_CONFIGTESTUTIL_H
