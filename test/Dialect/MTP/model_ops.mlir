// RUN: mtp-opt %s --verify-roundtrip | FileCheck %s
// RUN: mtp-opt %s --mlir-print-op-generic | mtp-opt | FileCheck %s

// CHECK-LABEL: module
// CHECK-SAME: mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 1024, prefill_chunk = 64, page = 16>
module attributes {
  mtp.envelope = #mtp.envelope<max_k = 4, max_batch = 4, max_context = 1024,
                               prefill_chunk = 64, page = 16>,
  mtp.generation = {bos = 1 : i32, eos = array<i32: 0, 2>},
  mtp.tokenizer = "hf"} {

// CHECK: mtp.weights files ["hf/model.safetensors"]
mtp.weights files ["hf/model.safetensors"]

// CHECK: mtp.cache @target layers 4 entry 256 : bf16
mtp.cache @target layers 4 entry 256 : bf16

// CHECK-LABEL: func.func private @weights
func.func private @weights() {
  // CHECK: mtp.weight "norm.weight" : tensor<192xf32>
  %0 = mtp.weight "norm.weight" : tensor<192xf32>
  // CHECK: mtp.weight "/lm_head.weight" : tensor<4096x192xbf16>
  %1 = mtp.weight "/lm_head.weight" : tensor<4096x192xbf16>
  // CHECK: mtp.weight "eh_proj.weight" rows 0 to 192 of 200 cols 192 to 384 : tensor<192x192xbf16>
  %2 = mtp.weight "eh_proj.weight" rows 0 to 192 of 200 cols 192 to 384 : tensor<192x192xbf16>
  // CHECK: mtp.weight "qkv.weight" rows 0 to 64 cols 0 to 96 : tensor<64x96xbf16>
  %3 = mtp.weight "qkv.weight" rows 0 to 64 cols 0 to 96 : tensor<64x96xbf16>
  // CHECK: mtp.weight "experts.{}.up_proj.weight" stack 8 : tensor<8x64x192xbf16>
  %4 = mtp.weight "experts.{}.up_proj.weight" stack 8 : tensor<8x64x192xbf16>
  // CHECK: mtp.weight "q_proj.weight" rows 32 to 64 of 256 : tensor<128x192xbf16>
  %5 = mtp.weight "q_proj.weight" rows 32 to 64 of 256 : tensor<128x192xbf16>
  // CHECK: mtp.weight "experts.gate_up_proj" rows 64 to 128 of 128 stack 8 : tensor<8x64x192xbf16>
  %6 = mtp.weight "experts.gate_up_proj" rows 64 to 128 of 128 stack 8 : tensor<8x64x192xbf16>
  return
}

// CHECK-LABEL: func.func private @rows_one_by_one
func.func private @rows_one_by_one(%tokens: tensor<?xi32>, %rows: !mtp.rows,
    %table: tensor<4096x192xbf16>, %n: tensor<192xbf16>, %hn: tensor<48xf32>,
    %w: tensor<256x192xbf16>, %b: tensor<256xf32>) -> tensor<?xi32> {
  // CHECK: mtp.embed %{{.*}}, %{{.*}} : tensor<?xi32>, tensor<4096x192xbf16> -> tensor<?x192xf32>
  %e = mtp.embed %tokens, %table : tensor<?xi32>, tensor<4096x192xbf16> -> tensor<?x192xf32>
  // CHECK: mtp.mask_first %{{.*}}, %{{.*}} : tensor<?x192xf32>
  %m = mtp.mask_first %e, %rows : tensor<?x192xf32>
  // CHECK: mtp.rms_norm %{{.*}}, %{{.*}} eps 9.99{{.*}}E-7 : tensor<?x192xf32>, tensor<192xbf16>
  %x = mtp.rms_norm %m, %n eps 1.0e-6 : tensor<?x192xf32>, tensor<192xbf16>
  // CHECK: mtp.rms_norm %{{.*}}, %{{.*}} groups 4 eps {{.*}} offset 1 : tensor<?x192xf32>, tensor<48xf32>
  %g = mtp.rms_norm %x, %hn groups 4 eps 1.0e-6 offset 1 : tensor<?x192xf32>, tensor<48xf32>
  // CHECK: mtp.concat %{{.*}}, %{{.*}} : tensor<?x192xf32>, tensor<?x192xf32> -> tensor<?x384xf32>
  %c = mtp.concat %x, %g : tensor<?x192xf32>, tensor<?x192xf32> -> tensor<?x384xf32>
  // CHECK: mtp.slice %{{.*}} cols 192 to 384 : tensor<?x384xf32> -> tensor<?x192xf32>
  %s = mtp.slice %c cols 192 to 384 : tensor<?x384xf32> -> tensor<?x192xf32>
  // CHECK: mtp.linear %{{.*}}, %{{.*}} : tensor<?x192xf32>, tensor<256x192xbf16> -> tensor<?x256xf32>
  %l = mtp.linear %s, %w : tensor<?x192xf32>, tensor<256x192xbf16> -> tensor<?x256xf32>
  // CHECK: mtp.linear %{{.*}}, %{{.*}} role head : tensor<?x192xf32>, tensor<256x192xbf16> -> tensor<?x256xf32>
  %lh = mtp.linear %s, %w role head : tensor<?x192xf32>, tensor<256x192xbf16> -> tensor<?x256xf32>
  // CHECK: mtp.linear %{{.*}}, %{{.*}} bias %{{.*}} : tensor<?x192xf32>, tensor<256x192xbf16>, tensor<256xf32> -> tensor<?x256xf32>
  %lb = mtp.linear %s, %w bias %b : tensor<?x192xf32>, tensor<256x192xbf16>, tensor<256xf32> -> tensor<?x256xf32>
  // CHECK: mtp.add %{{.*}}, %{{.*}} : tensor<?x256xf32>
  %a = mtp.add %l, %lb : tensor<?x256xf32>
  // CHECK: mtp.swiglu %{{.*}}, %{{.*}} : tensor<?x256xf32>
  %u = mtp.swiglu %a, %lb : tensor<?x256xf32>
  // CHECK: mtp.geglu_tanh %{{.*}}, %{{.*}} : tensor<?x256xf32>
  %ge = mtp.geglu_tanh %a, %lb : tensor<?x256xf32>
  // CHECK: mtp.silu %{{.*}} : tensor<?x256xf32>
  %su = mtp.silu %u : tensor<?x256xf32>
  // CHECK: mtp.argmax %{{.*}} : tensor<?x256xf32> -> tensor<?xi32>
  %i = mtp.argmax %u : tensor<?x256xf32> -> tensor<?xi32>
  // CHECK: mtp.gather_rows %{{.*}}, %{{.*}} : tensor<?x256xf32>, tensor<?xi32> -> tensor<?x256xf32>
  %t = mtp.gather_rows %u, %i : tensor<?x256xf32>, tensor<?xi32> -> tensor<?x256xf32>
  // CHECK: mtp.sample %{{.*}}, %{{.*}} : tensor<?x256xf32> -> tensor<?xi32>
  %p = mtp.sample %t, %rows : tensor<?x256xf32> -> tensor<?xi32>
  return %p : tensor<?xi32>
}

// CHECK-LABEL: func.func private @attention
func.func private @attention(%q: tensor<?x256xf32>, %k: tensor<?x128xf32>,
    %c: tensor<?x64xf32>, %pe: tensor<?x16xf32>, %kvb: tensor<256x64xbf16>,
    %mq: tensor<?x192xf32>, %rows: !mtp.rows) {
  // CHECK: mtp.rope %{{.*}}, %{{.*}} by <dim = 64, theta = 1.000000e+04> heads 4 of 64 : tensor<?x256xf32>
  %0 = mtp.rope %q, %rows by <dim = 64, theta = 10000.0> heads 4 of 64 : tensor<?x256xf32>
  // CHECK: mtp.rope %{{.*}}, %{{.*}} by <dim = 16, theta = 1.000000e+04, layout = interleaved, scaling = yarn, factor = 4.000000e+01, attention_factor = 1.250000e+00, original_max_position = 4096> heads 4 of 48 offset 32 : tensor<?x192xf32>
  %1 = mtp.rope %mq, %rows by #mtp.rope<dim = 16, theta = 10000.0,
       layout = interleaved, scaling = yarn, factor = 40.0, beta_fast = 32.0, beta_slow = 1.0,
       attention_factor = 1.25, original_max_position = 4096> heads 4 of 48 offset 32 : tensor<?x192xf32>
  // CHECK: mtp.rope {{.*}} by <dim = 64, theta = 5.000000e+05, scaling = llama3, factor = 8.000000e+00, low_freq_factor = 2.000000e+00, original_max_position = 8192>
  %2 = mtp.rope %q, %rows by #mtp.rope<dim = 64, theta = 500000.0, scaling = llama3,
       factor = 8.0, low_freq_factor = 2.0, high_freq_factor = 4.0, original_max_position = 8192> heads 4 of 64 : tensor<?x256xf32>
  // CHECK: mtp.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} heads 4 kv_heads 2 scale 1.250000e-01 window 128 : tensor<?x256xf32>, tensor<?x128xf32>, tensor<?x128xf32> -> tensor<?x256xf32>
  %3 = mtp.attention %q, %k, %k, %rows heads 4 kv_heads 2 scale 0.125 window 128
       : tensor<?x256xf32>, tensor<?x128xf32>, tensor<?x128xf32> -> tensor<?x256xf32>
  // CHECK: mtp.attention %{{.*}}, %{{.*}}, %{{.*}} heads 4 kv_heads 1 values 48 scale 1.250000e-01 cache @target[3] : tensor<?x256xf32>, tensor<?x64xf32> -> tensor<?x192xf32>
  %4 = mtp.attention %q, %c, %rows heads 4 kv_heads 1 values 48 scale 0.125 cache @target[3]
       : tensor<?x256xf32>, tensor<?x64xf32> -> tensor<?x192xf32>
  // CHECK: mtp.mla_attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} heads 4 nope 32 rope 16 value 32 scale 1.440000e-01 : tensor<?x192xf32>, tensor<?x64xf32>, tensor<?x16xf32>, tensor<256x64xbf16> -> tensor<?x128xf32>
  %5 = mtp.mla_attention %mq, %c, %pe, %kvb, %rows heads 4 nope 32 rope 16 value 32 scale 0.144
       : tensor<?x192xf32>, tensor<?x64xf32>, tensor<?x16xf32>, tensor<256x64xbf16> -> tensor<?x128xf32>
  return
}

// CHECK-LABEL: func.func private @experts
func.func private @experts(%x: tensor<?x192xf32>, %l: tensor<?x8xf32>, %b: tensor<8xf32>,
    %g: tensor<8x64x192xbf16>, %d: tensor<8x192x64xbf16>, %rows: !mtp.rows) {
  // CHECK: mtp.moe_route %{{.*}} bias %{{.*}} sigmoid top_k 2 groups 4 keep 2 normalized scale 2.500000e+00 : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  %i, %p = mtp.moe_route %l bias %b sigmoid top_k 2 groups 4 keep 2 normalized scale 2.5
           : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  // CHECK: mtp.moe_route %{{.*}} softmax top_k 2 : tensor<?x8xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  %j, %r = mtp.moe_route %l softmax top_k 2 : tensor<?x8xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  // CHECK: mtp.moe_experts %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} experts(%{{.*}}, %{{.*}}, %{{.*}}) :
  %y = mtp.moe_experts %x, %i, %p, %rows experts(%g, %g, %d)
       : (tensor<?x192xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !mtp.rows, tensor<8x64x192xbf16>,
          tensor<8x64x192xbf16>, tensor<8x192x64xbf16>) -> tensor<?x192xf32>
  // CHECK: mtp.moe_experts %{{.*}} experts(%{{.*}}) shared %{{.*}} residual %{{.*}} :
  %z = mtp.moe_experts %x, %j, %r, %rows experts(%g, %g, %d) shared %y residual %x
       : (tensor<?x192xf32>, tensor<?x2xi32>, tensor<?x2xf32>, !mtp.rows, tensor<8x64x192xbf16>,
          tensor<8x64x192xbf16>, tensor<8x192x64xbf16>, tensor<?x192xf32>, tensor<?x192xf32>) -> tensor<?x192xf32>
  return
}

// CHECK-LABEL: func.func private @fused
func.func private @fused(%x: tensor<?x192xf32>, %n: tensor<192xbf16>, %w: tensor<192x192xbf16>,
    %b: tensor<192xf32>, %kvb: tensor<256x64xbf16>, %o: tensor<?x256xf32>) {
  // CHECK: mtp.fused_linear %{{.*}} norm %{{.*}} eps {{.*}} offset 1 weights(%{{.*}}, %{{.*}}) biases(%{{.*}}, %{{.*}}) : (tensor<?x192xf32>, tensor<192xbf16>, tensor<192x192xbf16>, tensor<192x192xbf16>, tensor<192xf32>, tensor<192xf32>) -> tensor<?x384xf32>
  %0 = mtp.fused_linear %x norm %n eps 1.0e-5 offset 1 weights(%w, %w) biases(%b, %b)
       : (tensor<?x192xf32>, tensor<192xbf16>, tensor<192x192xbf16>, tensor<192x192xbf16>, tensor<192xf32>, tensor<192xf32>) -> tensor<?x384xf32>
  // CHECK: mtp.fused_linear %{{.*}} weights(%{{.*}}, %{{.*}}) activation swiglu : (tensor<?x192xf32>, tensor<192x192xbf16>, tensor<192x192xbf16>) -> tensor<?x192xf32>
  %1 = mtp.fused_linear %x weights(%w, %w) activation swiglu
       : (tensor<?x192xf32>, tensor<192x192xbf16>, tensor<192x192xbf16>) -> tensor<?x192xf32>
  // CHECK: mtp.fused_linear %{{.*}} weights(%{{.*}}, %{{.*}}) activation geglu_tanh : (tensor<?x192xf32>, tensor<192x192xbf16>, tensor<192x192xbf16>) -> tensor<?x192xf32>
  %gt = mtp.fused_linear %x weights(%w, %w) activation geglu_tanh
       : (tensor<?x192xf32>, tensor<192x192xbf16>, tensor<192x192xbf16>) -> tensor<?x192xf32>
  // CHECK: mtp.fused_linear %{{.*}} weights(%{{.*}}) residual %{{.*}} : (tensor<?x192xf32>, tensor<192x192xbf16>, tensor<?x192xf32>) -> tensor<?x192xf32>
  %2 = mtp.fused_linear %x weights(%w) residual %1
       : (tensor<?x192xf32>, tensor<192x192xbf16>, tensor<?x192xf32>) -> tensor<?x192xf32>
  // CHECK: mtp.fused_linear %{{.*}} weights(%{{.*}}) role router : (tensor<?x192xf32>, tensor<192x192xbf16>) -> tensor<?x192xf32>
  %router = mtp.fused_linear %x weights(%w) role router
       : (tensor<?x192xf32>, tensor<192x192xbf16>) -> tensor<?x192xf32>
  // CHECK: mtp.head_linear %{{.*}}, %{{.*}} heads 4 cols 0 to 32 block 0 to 32 stride 64 transposed keep 32 to 48 : tensor<?x192xf32>, tensor<256x64xbf16> -> tensor<?x320xf32>
  %3 = mtp.head_linear %x, %kvb heads 4 cols 0 to 32 block 0 to 32 stride 64 transposed keep 32 to 48
       : tensor<?x192xf32>, tensor<256x64xbf16> -> tensor<?x320xf32>
  // CHECK: mtp.head_linear %{{.*}}, %{{.*}} heads 4 cols 0 to 64 block 32 to 64 stride 64 : tensor<?x256xf32>, tensor<256x64xbf16> -> tensor<?x128xf32>
  %4 = mtp.head_linear %o, %kvb heads 4 cols 0 to 64 block 32 to 64 stride 64
       : tensor<?x256xf32>, tensor<256x64xbf16> -> tensor<?x128xf32>
  return
}

// CHECK-LABEL: func.func private @calls
func.func private @calls(%q: tensor<?x256xf32>, %k: tensor<?x128xf32>,
    %c: tensor<?x64xf32>, %pe: tensor<?x16xf32>, %kvb: tensor<256x64xbf16>,
    %mq: tensor<?x192xf32>, %rows: !mtp.rows) {
  // CHECK: mtp.apply @weights() : () -> ()
  mtp.apply @weights() : () -> ()
  // CHECK: mtp.apply @attention(%{{.*}}) weights "model.layers.0." cache @target[2] : (
  mtp.apply @attention(%q, %k, %c, %pe, %kvb, %mq, %rows) weights "model.layers.0." cache @target[2]
    : (tensor<?x256xf32>, tensor<?x128xf32>, tensor<?x64xf32>, tensor<?x16xf32>,
       tensor<256x64xbf16>, tensor<?x192xf32>, !mtp.rows) -> ()
  return
}

// An exported function has static shapes and makes its own rows.
// CHECK-LABEL: func.func @exported
func.func @exported(%x: tensor<4x64xf32>, %slots: tensor<4xi32>, %positions: tensor<4xi32>) -> tensor<4x64xf32> {
  // CHECK: mtp.make_rows %{{.*}}, %{{.*}} : tensor<4xi32>
  %rows = mtp.make_rows %slots, %positions : tensor<4xi32>
  %y = mtp.rope %x, %rows by #mtp.rope<dim = 64, theta = 10000.0> heads 1 of 64 : tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}
}
