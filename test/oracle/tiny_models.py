"""The configs, seeds and peculiarities of the tiny models (tiny.py)."""
BASE = {"vocab_size": 112, "hidden_size": 64, "hidden_act": "silu", "attention_dropout": 0.0,
        "max_position_embeddings": 512, "initializer_range": 0.02, "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0, "tie_word_embeddings": False, "use_cache": True,
        "bos_token_id": 0, "eos_token_id": 0}


def cfg(arch, model_type, **kw):
    return {"architectures": [arch], "model_type": model_type, **BASE, **kw}


DS = dict(num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=4, n_shared_experts=1,
          topk_method="noaux_tc", scoring_func="sigmoid", norm_topk_prob=True, first_k_dense_replace=1,
          moe_layer_freq=1, attention_bias=False, rope_scaling=None)

MODELS = {
    # MLA with q-LoRA, MoE, one MTP module
    "dsv3-mtp1": cfg("DeepseekV3ForCausalLM", "deepseek_v3", **{**DS, **dict(
        intermediate_size=112, moe_intermediate_size=48, n_routed_experts=8, num_experts_per_tok=2,
        n_group=2, topk_group=1, routed_scaling_factor=2.5, q_lora_rank=48, kv_lora_rank=32,
        qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, num_nextn_predict_layers=1)}),
    # no q-LoRA, YaRN with mscale, 4 groups of experts, two MTP modules
    "dsv3-yarn-mtp2": cfg("DeepseekV3ForCausalLM", "deepseek_v3", **{**DS, **dict(
        intermediate_size=96, moe_intermediate_size=40, n_routed_experts=16, num_experts_per_tok=4,
        n_shared_experts=2, n_group=4, topk_group=2, routed_scaling_factor=1.8, q_lora_rank=None,
        kv_lora_rank=40, qk_nope_head_dim=24, qk_rope_head_dim=16, v_head_dim=20,
        num_hidden_layers=2, num_nextn_predict_layers=2, max_position_embeddings=640,
        rope_scaling={"type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0,
                      "mscale_all_dim": 1.0, "original_max_position_embeddings": 16})}),
    "llama-gqa": cfg("LlamaForCausalLM", "llama", vocab_size=127, num_hidden_layers=3, num_attention_heads=4,
                     num_key_value_heads=2, head_dim=16, intermediate_size=96, attention_bias=False,
                     mlp_bias=False, rms_norm_eps=1e-5, rope_theta=500000.0,
                     rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                   "high_freq_factor": 4.0, "original_max_position_embeddings": 32}),
    "llama-tied": cfg("LlamaForCausalLM", "llama", hidden_size=48, num_hidden_layers=2, num_attention_heads=3,
                      num_key_value_heads=1, head_dim=16, intermediate_size=112, attention_bias=False,
                      mlp_bias=False, rms_norm_eps=1e-5, rope_scaling=None, tie_word_embeddings=True),
    "qwen2": cfg("Qwen2ForCausalLM", "qwen2", vocab_size=120, num_hidden_layers=3, num_attention_heads=4,
                 num_key_value_heads=2, intermediate_size=112, rope_theta=1000000.0,
                 use_sliding_window=False, sliding_window=512, max_window_layers=3),
    "qwen3": cfg("Qwen3ForCausalLM", "qwen3", num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2, head_dim=24, intermediate_size=96, attention_bias=False,
                 rope_theta=1000000.0, rope_scaling=None, use_sliding_window=False, sliding_window=None,
                 max_window_layers=2),
    "qwen3moe": cfg("Qwen3MoeForCausalLM", "qwen3_moe", num_hidden_layers=2, num_attention_heads=4,
                    num_key_value_heads=2, head_dim=16, intermediate_size=96, moe_intermediate_size=40,
                    num_experts=8, num_experts_per_tok=2, norm_topk_prob=True, decoder_sparse_step=1,
                    mlp_only_layers=[], attention_bias=False, rope_theta=1000000.0, rope_scaling=None,
                    use_sliding_window=False, sliding_window=None, max_window_layers=2,
                    router_aux_loss_coef=0.001),
    "mimo-mtp1": cfg("MiMoForCausalLM", "mimo", num_hidden_layers=2, num_attention_heads=4,
                     num_key_value_heads=2, head_dim=16, intermediate_size=112, attention_bias=True,
                     rms_norm_eps=1e-5, rope_theta=640000.0, use_sliding_window=False, sliding_window=512,
                     max_window_layers=2, use_mrope=False, num_nextn_predict_layers=1),
    "glm4moe-mtp1": cfg("Glm4MoeForCausalLM", "glm4_moe", num_hidden_layers=2, num_attention_heads=4,
                        num_key_value_heads=2, head_dim=16, partial_rotary_factor=0.5, attention_bias=True,
                        use_qk_norm=False, intermediate_size=112, moe_intermediate_size=48,
                        n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=2, n_group=1,
                        topk_group=1, norm_topk_prob=True, routed_scaling_factor=1.0,
                        first_k_dense_replace=1, rms_norm_eps=1e-5, rope_theta=1000000.0,
                        rope_scaling=None, num_nextn_predict_layers=1),
}
MODELS["glm4moe-qknorm-mtp1"] = {**MODELS["glm4moe-mtp1"], "use_qk_norm": True, "head_dim": 24,
                                 "num_experts_per_tok": 3, "routed_scaling_factor": 2.5}
# As dsv3-mtp1, with weights tuned so that the greedy target often accepts the drafts. Row j of lm_head
# gets 0.5 x embedding row j - 7 (mod vocabulary) added. The matrix eh_proj gets twice the identity
# added on its embedding half. So both mostly continue t with t + 7.
MODELS["dsv3-chain-mtp2"] = {**MODELS["dsv3-mtp1"], "num_nextn_predict_layers": 2, "n_group": 1}
# With a third module, for trees whose last module runs over nodes of two depths. The modules are
# not tuned, because a tuned module's drafts hardly depend on the preceding state.
MODELS["dsv3-chain-mtp3"] = {**MODELS["dsv3-chain-mtp2"], "num_nextn_predict_layers": 3}
# The target of tiny_drafters.py, with a tuned lm_head. Its number of layers makes EAGLE-3's three
# default taps differ.
MODELS["llama-chain"] = cfg("LlamaForCausalLM", "llama", num_hidden_layers=8, num_attention_heads=4,
                            num_key_value_heads=2, head_dim=16, intermediate_size=96, attention_bias=False,
                            mlp_bias=False, rms_norm_eps=1e-5, rope_scaling=None)
TREES = {"dsv3-chain-mtp3"}   # only for make_drafters.py
CHAINED = {"dsv3-chain-mtp2", "dsv3-chain-mtp3", "llama-chain"}
CHAIN_HEAD, CHAIN_PROJ = 0.5, 2.0
# Groups of experts whose biased scores are all below 0 (see BIAS). A dropped group must rank below
# all of them, not count as 0.
MODELS["dsv3-negative"] = {**MODELS["dsv3-mtp1"], "num_nextn_predict_layers": 0, "n_routed_experts": 12,
                           "n_group": 3, "topk_group": 2, "num_experts_per_tok": 3}
MODELS["glm4moe-negative"] = {**MODELS["glm4moe-mtp1"], "num_nextn_predict_layers": 0, "n_group": 4,
                              "topk_group": 1}
BIAS = {"dsv3-negative": -1.5, "glm4moe-negative": -1.5}  # added to e_score_correction_bias


def without(c, *keys):
    return {k: v for k, v in c.items() if k not in keys}


# Configs whose meaning depends on the configuration classes: absent keys, duplicate keys, and keys
# with other names.
MODELS["mistral"] = without(
    cfg("MistralForCausalLM", "mistral", num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=None, intermediate_size=96, sliding_window=8), "rope_theta", "rms_norm_eps")
# Two spellings of rope, a separate head although tied, and a partial rotation that this family
# ignores.
MODELS["llama-keys"] = without(
    cfg("LlamaForCausalLM", "llama", num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=None,
        intermediate_size=96, tie_word_embeddings=True, original_max_position_embeddings=24,
        rope_parameters={"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
                         "high_freq_factor": 4.0, "original_max_position_embeddings": 32},
        rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16,
                      "beta_fast": 8, "beta_slow": 0}), "rms_norm_eps")
MODELS["llama-partial"] = cfg("LlamaForCausalLM", "llama", num_hidden_layers=2, num_attention_heads=4,
                              num_key_value_heads=4, head_dim=24, intermediate_size=96, partial_rotary_factor=0.5,
                              rope_scaling={"type": "default"})
# Attention scaled by mscale_all_dim with a scaling other than YaRN; one shared expert by default.
MODELS["dsv3-keys"] = without(MODELS["dsv3-mtp1"], "n_shared_experts", "num_nextn_predict_layers", "routed_scaling_factor",
                              "norm_topk_prob", "num_key_value_heads", "rope_scaling")
MODELS["dsv3-keys"].update(num_key_value_heads=None, n_routed_experts=4, num_local_experts=8,
                           rope_parameters={"type": "linear", "factor": 4.0, "mscale_all_dim": 1.0})
# As transformers 5 saves it. The window has the default width, which is longer than the test's
# text.
MODELS["qwen3moe-keys"] = without(MODELS["qwen3moe"], "num_experts", "sliding_window", "norm_topk_prob",
                                  "decoder_sparse_step", "mlp_only_layers", "head_dim")
MODELS["qwen3moe-keys"].update(num_local_experts=8, use_sliding_window=True,
                               rope_scaling={"rope_type": "dynamic", "factor": 4.0})
# Families similar to others. Latent attention with other defaults, and its dense variant. Sigmoid
# routing under another name, with windows from a layer on. Biases on q, k, v by default and on o by
# a key. YaRN with a scale of queries that is 1 up to the original context.
MODELS["glm4lite-mtp1"] = without(MODELS["dsv3-mtp1"], "first_k_dense_replace", "rope_theta", "rope_scaling",
                                  "moe_layer_freq", "rms_norm_eps", "routed_scaling_factor")
MODELS["glm4lite-mtp1"].update(architectures=["Glm4MoeLiteForCausalLM"], model_type="glm4_moe_lite", n_group=1,
                               rope_parameters={"rope_type": "default", "rope_theta": 1000000.0})
MODELS["youtu"] = cfg("YoutuForCausalLM", "youtu", num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
                      intermediate_size=96, q_lora_rank=48, kv_lora_rank=32, qk_nope_head_dim=16,
                      qk_rope_head_dim=8, v_head_dim=24, tie_word_embeddings=True, rope_theta=1600000.0)
MODELS["dots1"] = cfg("Dots1ForCausalLM", "dots1", num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
                      head_dim=24, intermediate_size=96, moe_intermediate_size=40, n_routed_experts=8,
                      n_shared_experts=2, num_experts_per_tok=3, first_k_dense_replace=1, attention_bias=True,
                      scoring_func="noaux_tc", routed_scaling_factor=2.5, sliding_window=8, max_window_layers=2)
MODELS["seed-oss"] = without(
    cfg("SeedOssForCausalLM", "seed_oss", num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=24, intermediate_size=96, attention_out_bias=True, mlp_bias=False), "rms_norm_eps")
MODELS["ministral3"] = without(
    cfg("Ministral3ForCausalLM", "ministral3", num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=24, intermediate_size=96, max_position_embeddings=256,
        rope_parameters={"type": "yarn", "rope_theta": 1000000.0, "factor": 4.0, "beta_fast": 32.0,
                         "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1,
                         "original_max_position_embeddings": 64}), "rope_theta", "rms_norm_eps")
NEAR = {"glm4lite-mtp1", "youtu", "dots1", "seed-oss", "ministral3"}
# Families with their own names and rotations. Neighbours rotate. Softmax routing with a bias, stored
# as [1, n]. One norm for all heads of a row, a partial rotation, Mixtral's names. The router's own
# names, and an MTP module.
MODELS["ernie"] = without(
    cfg("Ernie4_5ForCausalLM", "ernie4_5", num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=24, intermediate_size=96, use_bias=False), "rope_theta", "rms_norm_eps", "tie_word_embeddings")
MODELS["ernie"]["tie_word_embeddings"] = True
MODELS["ernie-moe"] = cfg("Ernie4_5_MoeForCausalLM", "ernie4_5_moe", num_hidden_layers=4, num_attention_heads=4,
                          num_key_value_heads=2, intermediate_size=96, moe_intermediate_size=40, moe_num_experts=8,
                          moe_k=3, moe_num_shared_experts=2, moe_layer_start_index=1, moe_layer_end_index=2,
                          moe_layer_interval=1, use_bias=False)
MODELS["minimax-m2"] = without(
    cfg("MiniMaxM2ForCausalLM", "minimax_m2", num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=24, rotary_dim=12, intermediate_size=40, num_local_experts=8, num_experts_per_tok=3,
        scoring_func="sigmoid", use_qk_norm=True, attn_type_list=[1, 1]), "rope_theta")
MODELS["hy3-mtp1"] = without(
    cfg("HYV3ForCausalLM", "hy_v3", num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=24,
        intermediate_size=96, moe_intermediate_size=40, num_experts=8, num_experts_per_tok=2, num_shared_experts=1,
        router_scaling_factor=1.7, qk_norm=True, route_norm=True, first_k_dense_replace=1,
        num_nextn_predict_layers=1), "rope_theta")
NEAR |= {"ernie", "ernie-moe", "minimax-m2"}
# As in Kimi-K2: YaRN's two bounds are equal except for rounding, and here exactly equal.
MODELS["dsv3-beta"] = {**MODELS["dsv3-yarn-mtp2"], "num_nextn_predict_layers": 0}
MODELS["dsv3-beta"]["rope_scaling"] = {**MODELS["dsv3-yarn-mtp2"]["rope_scaling"], "beta_fast": 1.0,
                                       "beta_slow": 1.0, "truncate": False}
# Three layers of four have a recurrence: projections by key head or separate, experts numbered or
# stacked, text models alone or within others.
HYBRID = dict(num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, head_dim=16, intermediate_size=96,
              full_attention_interval=4, linear_conv_kernel_dim=4, linear_key_head_dim=64, linear_value_head_dim=24,
              linear_num_key_heads=2, linear_num_value_heads=4, max_position_embeddings=2048, attention_bias=False)
HYBRID_MOE = dict(moe_intermediate_size=40, shared_expert_intermediate_size=48, num_experts=8, num_experts_per_tok=2)
MROPE = {"mrope_interleaved": True, "mrope_section": [2, 1, 1], "rope_type": "default", "rope_theta": 10000000,
         "partial_rotary_factor": 0.5}


def wrapped(arch, model_type, **kw):
    c = without(cfg(arch, model_type + "_text", **kw), "architectures", "rope_theta")
    c.update(rope_parameters=MROPE, mtp_num_hidden_layers=1, mtp_use_dedicated_embeddings=False,
             attn_output_gate=True, mamba_ssm_dtype="float32",
             layer_types=["linear_attention"] * 3 + ["full_attention"])
    return {"architectures": [arch], "model_type": model_type, "tie_word_embeddings": c["tie_word_embeddings"],
            "text_config": c, "vision_config": {"hidden_size": 8, "depth": 1}}


MODELS["qwen3next-mtp1"] = cfg("Qwen3NextForCausalLM", "qwen3_next", **HYBRID, **HYBRID_MOE, norm_topk_prob=True,
                               decoder_sparse_step=1, mlp_only_layers=[], partial_rotary_factor=0.25,
                               rope_scaling=None, use_sliding_window=False)
MODELS["qwen3next-mtp1"]["rope_theta"] = 10000000
MODELS["qwen35-mtp1"] = wrapped("Qwen3_5ForConditionalGeneration", "qwen3_5", **HYBRID)
MODELS["qwen35moe-mtp1"] = wrapped("Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe",
                                   **without(HYBRID, "intermediate_size"), **HYBRID_MOE, mlp_only_layers=[])
HYBRIDS = {"qwen3next-mtp1", "qwen35-mtp1", "qwen35moe-mtp1"}
CHAINED.add("qwen35-mtp1")
# Windows in all layers but each third, norms around parts, scaled embeddings, a scale of scores that is
# not the head's, two thetas. In the old spelling, and in the new one within another model.
GEMMA = dict(hidden_size=80, num_attention_heads=4, num_key_value_heads=2, head_dim=24, intermediate_size=112,
             hidden_activation="gelu_pytorch_tanh", query_pre_attn_scalar=20, sliding_window=8, attention_bias=False,
             attn_logit_softcapping=None, final_logit_softcapping=None, tie_word_embeddings=True)
MODELS["gemma3"] = without(
    cfg("Gemma3ForCausalLM", "gemma3_text", **GEMMA, num_hidden_layers=7, sliding_window_pattern=3,
        rope_local_base_freq=100.0, rope_scaling={"rope_type": "linear", "factor": 8.0}), "hidden_act")
MODELS["gemma3-wrapped"] = {
    "architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "tie_word_embeddings": True,
    "text_config": without(
        cfg("", "gemma3_text", **GEMMA, num_hidden_layers=3,
            layer_types=["full_attention", "sliding_attention", "full_attention"],
            rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": 5000.0},
                             "sliding_attention": {"rope_type": "default", "rope_theta": 300.0}}),
        "architectures", "hidden_act", "rope_theta"),
    "vision_config": {"hidden_size": 8}}
GEMMAS = {"gemma3", "gemma3-wrapped"}  # reference_gemma.py computes their results
KEYS = {"dsv3-beta", "mistral", "llama-keys", "llama-partial", "dsv3-keys", "qwen3moe-keys"} | NEAR
STORED_HEADS = {"llama-keys"}  # stores a head with other values although the config ties it

# Default seeds (0 if not listed), chosen so that no greedy choice and no expert choice is nearly a
# tie.
SEEDS = {"dsv3-mtp1": 42, "dsv3-chain-mtp2": 2, "dsv3-chain-mtp3": 2, "dsv3-yarn-mtp2": 9, "llama-gqa": 1, "qwen3": 3, "qwen3moe": 8,
         "glm4moe-mtp1": 5, "glm4moe-qknorm-mtp1": 17, "dsv3-negative": 3, "glm4moe-negative": 10,
         "dsv3-keys": 1, "llama-partial": 1, "qwen3moe-keys": 3, "glm4lite-mtp1": 11, "youtu": 8, "dots1": 7,
         "seed-oss": 2, "ministral3": 2, "dsv3-beta": 1, "ernie": 10, "ernie-moe": 2, "minimax-m2": 3,
         "hy3-mtp1": 12, "qwen35-mtp1": 1, "qwen3next-mtp1": 19, "qwen35moe-mtp1": 17, "gemma3": 27,
         "gemma3-wrapped": 31}

SHARDED = {"qwen2"}          # written as two shards with an index
DUPLICATES = {"glm4moe-mtp1"}  # stores embed_tokens and shared_head.head in the MTP layer too, as GLM does
