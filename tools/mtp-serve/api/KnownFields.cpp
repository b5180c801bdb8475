//===- KnownFields.cpp - Fields of other servers --------------------------===//

#include "tools/mtp-serve/api/KnownFields.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <charconv>

using namespace mtp;
using namespace mtp::serve;
using simdjson::dom::array;
using simdjson::dom::object;

static constexpr KnownField kFields[] = {
    // OpenAI: hints and names that no token depends on.
    {"user", "*"},
    {"metadata", "*"},
    {"store", "*"},
    {"safety_identifier", "*"},
    {"prompt_cache_key", "*"},
    {"prompt_cache_retention", "*"},
    {"service_tier", "*"},
    {"parallel_tool_calls", "*"},
    {"prediction", "*"},
    // OpenAI: the rest.
    {"best_of", "1"},
    {"suffix", "{}"},
    {"logprobs", "false"},
    {"top_logprobs", "false 0"},
    {"tools", "{}"},
    {"tool_choice", "none auto type=none type=auto"},
    {"functions", "{}"},
    {"function_call", "none auto"},
    {"modalities", "[text]"},
    {"audio", ""},
    {"web_search_options", ""},
    {"verbosity", "medium"},
    // OpenAI's responses, and Anthropic.
    {"previous_response_id", ""},
    {"conversation", ""},
    {"background", "false"},
    {"truncation", "disabled"},
    {"max_tool_calls", "*"},
    {"container", ""},
    {"mcp_servers", "{}"},
    {"context_management", "{}"},
    {"anthropic_version", "*"},
    {"betas", "*"},
    // vLLM.
    {"length_penalty", "1"},
    {"use_beam_search", "false"},
    {"prompt_logprobs", "false"},
    {"logprob_token_ids", "{}"},
    {"return_tokens_as_token_ids", "false true"},
    {"guided_decoding_backend", "*"},
    {"guided_whitespace_pattern", "*"},
    {"structural_tag", "{}"},
    {"truncate_prompt_tokens", ""},
    {"truncation_side", "*"},
    {"spaces_between_special_tokens", "*"},
    {"watermarking", "false"},
    {"thinking_token_budget", "-1"},
    {"include_reasoning", "true"},
    {"chat_template", "{}"},
    {"media_io_kwargs", "*"},
    {"mm_processor_kwargs", "*"},
    {"return_mm_kwargs", "*"},
    {"prompt_embeds", "{}"},
    {"request_id", "*"},
    {"session_id", "*"},
    {"data_parallel_rank", "*"},
    {"stream_interval", "*"},
    {"return_prompt_text", "false"},
    {"return_token_offsets", "false"},
    {"routed_experts_prompt_start", "0"},
    {"kv_transfer_params", "{}"},
    {"ec_transfer_params", "{}"},
    {"vllm_xargs", "{}"},
    {"repetition_detection", ""},
    {"lora_request", ""},
    // SGLang.
    {"lora_path", "{}"},
    {"separate_reasoning", "true"},
    {"stream_reasoning", "true"},
    {"no_stop_trim", "false"},
    {"stop_regex", "{}"},
    {"return_hidden_states", "false"},
    {"return_routed_experts", "false"},
    {"custom_logit_processor", "{}"},
    {"custom_params", "{}"},
    {"rid", "*"},
    {"input_ids", "{}"},
    // llama-server: caches, drafts, messages of a stream.
    {"cache_prompt", "*"},
    {"id_slot", "*"},
    {"slot_id", "*"},
    {"n_keep", "*"},
    {"n_discard", "*"},
    {"n_cache_reuse", "*"},
    {"sse_ping_interval", "*"},
    {"backend_sampling", "*"},
    {"speculative.n_max", "*"},
    {"speculative.n_min", "*"},
    {"speculative.type", "*"},
    // llama-server: samplers, and parameters of samplers that are off.
    {"penalty_last_n", "*"},
    {"penalize_nl", "*"},
    {"penalty_prompt", "{}"},
    {"typical_p", "1"},
    {"typ_p", "1"},
    {"tfs_z", "1"},
    {"top_n_sigma", "<=0"},
    {"mirostat", "0"},
    {"mirostat_tau", "*"},
    {"mirostat_eta", "*"},
    {"dynatemp_range", "0"},
    {"dynatemp_exponent", "*"},
    {"xtc_probability", "0"},
    {"xtc_threshold", "*"},
    {"dry_multiplier", "0"},
    {"dry_base", "*"},
    {"dry_allowed_length", "*"},
    {"dry_penalty_last_n", "*"},
    {"dry_sequence_breakers", "*"},
    {"adaptive_target", "<=0"},
    {"adaptive_decay", "*"},
    {"min_keep", "0"},
    {"n_probs", "0"},
    {"post_sampling_probs", "false true"},
    {"n_indent", "0"},
    {"t_max_predict_ms", "<=0"},
    {"t_max_prompt_ms", "<=0"},
    {"grammar_lazy", "false"},
    {"grammar_triggers", "{}"},
    {"preserved_tokens", "{}"},
    {"lora", "{}"},
    {"reasoning_format", "auto deepseek"},
    {"reasoning_in_content", "false"},
    {"thinking_forced_open", "false"},
    {"parse_tool_calls", "*"},
    {"image_data", "{}"},
    {"input_prefix", "{}"},
    {"input_suffix", "{}"},
    {"input_extra", "{}"},
    {"system_prompt", "{}"},
    // Ollama, and clients that send its options to every server.
    {"keep_alive", "*"},
    {"num_ctx", "*"},
    {"num_gpu", "*"},
    {"num_thread", "*"},
    {"num_batch", "*"},
    {"num_keep", "*"},
    {"low_vram", "*"},
    {"use_mmap", "*"},
    {"use_mlock", "*"},
    {"options", "{}"},
    {"format", "{}"},
    {"template", "{}"},
    {"context", "{}"},
    {"images", "{}"},
    {"raw", "false"},
    // Text Generation WebUI, KoboldCpp and TabbyAPI.
    {"rep_pen", "1"},
    {"rep_pen_range", "*"},
    {"rep_pen_slope", "*"},
    {"repetition_penalty_range", "*"},
    {"encoder_repetition_penalty", "1"},
    {"no_repeat_ngram_size", "0"},
    {"num_beams", "1"},
    {"penalty_alpha", "0"},
    {"typical", "1"},
    {"tfs", "1"},
    {"top_a", "0"},
    {"nsigma", "<=0"},
    {"epsilon_cutoff", "0"},
    {"eta_cutoff", "0"},
    {"smoothing_factor", "0"},
    {"smoothing_curve", "*"},
    {"dynamic_temperature", "false"},
    {"dynatemp_low", "*"},
    {"dynatemp_high", "*"},
    {"mirostat_mode", "0"},
    {"guidance_scale", "1"},
    {"negative_prompt", "{}"},
    {"ban_eos_token", "false"},
    {"banned_tokens", "{}"},
    {"banned_strings", "{}"},
    {"custom_token_bans", "{}"},
    {"sampler_order", ""},
    {"sampler_priority", ""},
    {"sampler_seed", "-1"},
    {"truncation_length", "*"},
    {"skew", "0"},
};

static bool isEmpty(const JsonElement &element) {
  object dict;
  array list;
  std::string_view text;
  return (!element.get(dict) && dict.size() == 0) ||
         (!element.get(list) && list.size() == 0) ||
         (!element.get(text) && text.empty());
}

static bool isText(const JsonElement &element, std::string_view expected) {
  std::string_view text;
  return !element.get(text) && text == expected;
}

static bool isOnly(const JsonElement &element, std::string_view word) {
  array list;
  if (element.get(list))
    return false;
  return std::ranges::all_of(
      list, [word](JsonElement item) { return isText(item, word); });
}

static bool getNumber(std::string_view text, double &number) {
  auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

/// Returns whether a value is the neutral value `word` (KnownField::neutral).
static bool matches(const JsonElement &element, std::string_view word) {
  bool flag = false;
  double value = 0, number = 0;
  JsonElement type;
  if (word == "*")
    return true;
  if (word == "{}")
    return isEmpty(element);
  if (word == "true" || word == "false")
    return !element.get(flag) && flag == (word == "true");
  if (word.starts_with("<="))
    return !element.get(value) && getNumber(word.substr(2), number) &&
           value <= number;
  if (getNumber(word, number))
    return !element.get(value) && value == number;
  if (word.starts_with("type="))
    return !element.at_key("type").get(type) && isText(type, word.substr(5));
  if (word.starts_with("["))
    return isOnly(element, word.substr(1, word.size() - 2));
  return isText(element, word);
}

static const KnownField *find(std::string_view name) {
  auto found = std::ranges::find(kFields, name, &KnownField::name);
  return found == std::ranges::end(kFields) ? nullptr : &*found;
}

std::span<const KnownField> serve::knownFields() { return kFields; }

bool serve::isKnownField(std::string_view name) { return find(name); }

MaybeError serve::checkKnownField(std::string_view name,
                                  const JsonElement &element) {
  const KnownField *field = find(name);
  std::string_view rest = field ? field->neutral : "*";
  while (!rest.empty()) {
    std::string_view word = rest.substr(0, rest.find(' '));
    if (matches(element, word))
      return std::nullopt;
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return wrongField(std::string(name),
                    strCat("expected no '", name,
                           "', which this server does not support, got ",
                           describe(element)));
}
