// RUN: mtp-opt %s --verify-roundtrip | FileCheck %s
// RUN: mtp-opt %s --mlir-print-op-generic | mtp-opt | FileCheck %s

// A call of each family, with and without its optional operands.
exec.cache @kv layers 1 entry 32 page 16 : bf16
exec.state @sampling : memref<2x8xi32>
exec.state @rules : memref<2x256xi32>
exec.state @node_masks : memref<2x4x2xi32>
exec.state @counts : memref<2x64xi32>
exec.state @path : memref<2x8xi32>
exec.state @length : memref<2xi32>
exec.state @page_table : memref<2x4xi32>
exec.constant @vocabulary dense<3> : tensor<64x1xi32>
exec.constant @masks dense<[1, 3, 5, 7]> : tensor<4xi64>

// CHECK-LABEL: exec.program @products
exec.program @products function {
  %x = exec.input "x" : tensor<4x192xf32>
  %n = exec.input "n" : tensor<192xf32>
  %w = exec.input "w" : tensor<2x96x32x2xbf16>
  %q = exec.input "q" : tensor<2x3456xi8>
  %b = exec.input "b" : tensor<64xf32>
  %r = exec.input "r" : tensor<4x64xf32>
  %s = exec.input "s" : tensor<4xi32>
  %sampling = exec.ref @sampling : memref<2x8xi32>
  // CHECK: %[[Y:.*]] = exec.linear %[[X:.*]], %{{.*}} as <bf16> : (tensor<4x192xf32>, tensor<2x96x32x2xbf16>) -> tensor<4x64xf32>
  %y = exec.linear %x, %w as <bf16> : (tensor<4x192xf32>, tensor<2x96x32x2xbf16>) -> tensor<4x64xf32>
  // CHECK: exec.linear %[[X]], %{{.*}} as <int4, group = 64> norm %{{.*}} eps 9.99999997E-7 offset 1 bias %{{.*}} residual %{{.*}} :
  %y1 = exec.linear %x, %q as <int4, group = 64> norm %n eps 1.0e-6 offset 1 bias %b residual %r
    : (tensor<4x192xf32>, tensor<192xf32>, tensor<2x3456xi8>, tensor<64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  // CHECK: exec.linear {{.*}} as <bf16> role head : {{.*}} -> tensor<4x64xf32>
  %yh = exec.linear %x, %w as <bf16> role head : (tensor<4x192xf32>, tensor<2x96x32x2xbf16>) -> tensor<4x64xf32>
  // CHECK: exec.linear {{.*}} as <bf16> activation geglu_tanh : {{.*}} -> tensor<4x32xf32>
  %yt = exec.linear %x, %w as <bf16> activation geglu_tanh
    : (tensor<4x192xf32>, tensor<2x96x32x2xbf16>) -> tensor<4x32xf32>
  // CHECK: exec.linear {{.*}} as <bf16> activation swiglu : {{.*}} -> tensor<4x32xf32>
  %y2 = exec.linear %x, %w as <bf16> activation swiglu
    : (tensor<4x192xf32>, tensor<2x96x32x2xbf16>) -> tensor<4x32xf32>
  %fragments = exec.input "fragments" : tensor<2x6x32x32xbf16>
  // CHECK: %[[PREPARED:.*]] = exec.prepare_rows %[[X]] as <int8, group = 64> norm %{{.*}} eps 9.99999997E-7 offset 1 : (tensor<4x192xf32>, tensor<192xf32>) -> tensor<4x216xi8>
  %prepared = exec.prepare_rows %x as <int8, group = 64> norm %n eps 1.0e-6 offset 1
    : (tensor<4x192xf32>, tensor<192xf32>) -> tensor<4x216xi8>
  // CHECK: exec.linear %[[PREPARED]], %{{.*}} as <int4, group = 64> prepared 192 bias %{{.*}} : (tensor<4x216xi8>, tensor<2x3456xi8>, tensor<64xf32>) -> tensor<4x64xf32>
  %yp = exec.linear %prepared, %q as <int4, group = 64> prepared 192 bias %b
    : (tensor<4x216xi8>, tensor<2x3456xi8>, tensor<64xf32>) -> tensor<4x64xf32>
  // CHECK: %[[HALVES:.*]] = exec.prepare_rows %[[X]] as <bf16> : (tensor<4x192xf32>) -> tensor<4x192xbf16>
  %halves = exec.prepare_rows %x as <bf16> : (tensor<4x192xf32>) -> tensor<4x192xbf16>
  // CHECK: exec.linear_argmax %[[HALVES]], %{{.*}} n 64 as <bf16> prepared 192 :
  %bp, %cp = exec.linear_argmax %halves, %fragments n 64 as <bf16> prepared 192
    : (tensor<4x192xbf16>, tensor<2x6x32x32xbf16>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  // CHECK: %[[ROWS:.*]] = exec.round_rows %[[X]] : (tensor<4x192xf32>) -> tensor<4x192xbf16>
  %rows = exec.round_rows %x : (tensor<4x192xf32>) -> tensor<4x192xbf16>
  // CHECK: exec.round_rows %[[X]] norm %{{.*}} eps 9.99999997E-7 offset 1 :
  %rows1 = exec.round_rows %x norm %n eps 1.0e-6 offset 1
    : (tensor<4x192xf32>, tensor<192xf32>) -> tensor<4x192xbf16>
  // CHECK: %[[MATRIX:.*]] = exec.unpack %{{.*}} : (tensor<2x6x32x32xbf16>) -> tensor<64x192xbf16>
  %matrix = exec.unpack %fragments : (tensor<2x6x32x32xbf16>) -> tensor<64x192xbf16>
  // CHECK: exec.unpack %{{.*}} gated : (tensor<2x6x32x32xbf16>) -> tensor<40x192xbf16>
  %gated = exec.unpack %fragments gated : (tensor<2x6x32x32xbf16>) -> tensor<40x192xbf16>
  // CHECK: %[[G:.*]], %{{.*}} = exec.gemm %[[ROWS]], %[[MATRIX]] : (tensor<4x192xbf16>, tensor<64x192xbf16>) -> (tensor<4x64xf32>, tensor<256xi8>)
  %g, %space = exec.gemm %rows, %matrix
    : (tensor<4x192xbf16>, tensor<64x192xbf16>) -> (tensor<4x64xf32>, tensor<256xi8>)
  // CHECK: exec.add_bias %[[G]], %{{.*}} : (tensor<4x64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
  %biased = exec.add_bias %g, %b : (tensor<4x64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
  // CHECK: %{{.*}}, %{{.*}} = exec.linear_argmax {{.*}} n 64 as <bf16> :
  %b0, %c0 = exec.linear_argmax %x, %w n 64 as <bf16>
    : (tensor<4x192xf32>, tensor<2x96x32x2xbf16>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}} = exec.linear_argmax {{.*}} n 64 as <int4, group = 64> norm %{{.*}} eps {{.*}} bias %{{.*}} logits(%{{.*}}, %{{.*}}) :
  %b1, %c1, %l1 = exec.linear_argmax %x, %q n 64 as <int4, group = 64> norm %n eps 1.0e-6 bias %b logits (%s, %sampling)
    : (tensor<4x192xf32>, tensor<192xf32>, tensor<2x3456xi8>, tensor<64xf32>, tensor<4xi32>, memref<2x8xi32>)
      -> (tensor<4x2xf32>, tensor<4x2xi32>, tensor<4x64xf32>)
  %hw = exec.input "hw" : tensor<8x16x32x2xbf16>
  %table = exec.input "table" : tensor<64x16xf32>
  // CHECK: exec.head_linear {{.*}} heads 4 cols 0 to 32 as <bf16> :
  %h0 = exec.head_linear %x, %hw heads 4 cols 0 to 32 as <bf16>
    : (tensor<4x192xf32>, tensor<8x16x32x2xbf16>) -> tensor<4x256xf32>
  // CHECK: exec.head_linear {{.*}} heads 4 cols 0 to 32 keep 32 to 48 as <bf16> rotated <dim = 16, offset = 32> by(%{{.*}}, %{{.*}}) :
  %h1 = exec.head_linear %x, %hw heads 4 cols 0 to 32 keep 32 to 48 as <bf16> rotated <dim = 16, offset = 32> by (%table, %s)
    : (tensor<4x192xf32>, tensor<8x16x32x2xbf16>, tensor<64x16xf32>, tensor<4xi32>) -> tensor<4x320xf32>
}

// CHECK-LABEL: exec.program @picks
exec.program @picks function {
  %l = exec.input "l" : tensor<4x64xf32>
  %b = exec.input "b" : tensor<4x2xf32>
  %c = exec.input "c" : tensor<4x2xi32>
  %s = exec.input "s" : tensor<4xi32>
  %f = exec.input "f" : tensor<4x412xi32>
  %sampling = exec.ref @sampling : memref<2x8xi32>
  %v = exec.ref @vocabulary : memref<64x1xi32>
  // CHECK: exec.argmax %[[L:.*]] : (tensor<4x64xf32>) -> tensor<4xi32>
  %p0 = exec.argmax %l : (tensor<4x64xf32>) -> tensor<4xi32>
  // CHECK: exec.argmax_parts %[[B:.*]], %[[C:.*]] : (tensor<4x2xf32>, tensor<4x2xi32>) -> tensor<4xi32>
  %p1 = exec.argmax_parts %b, %c : (tensor<4x2xf32>, tensor<4x2xi32>) -> tensor<4xi32>
  // CHECK: exec.sample %[[L]] slots %{{.*}} positions %{{.*}} by %{{.*}} :
  %p2 = exec.sample %l slots %s positions %s by %sampling
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<2x8xi32>) -> tensor<4xi32>
  // CHECK: exec.sample scan %[[L]] best(%[[B]], %[[C]]) tokens %{{.*}} slots
  %p3 = exec.sample scan %l best (%b, %c) tokens %v slots %s positions %s by %sampling
    : (tensor<4x2xf32>, tensor<4x2xi32>, tensor<4x64xf32>, memref<64x1xi32>, tensor<4xi32>, tensor<4xi32>, memref<2x8xi32>) -> tensor<4x412xi32>
  %rules = exec.ref @rules : memref<2x256xi32>
  %counts = exec.ref @counts : memref<2x64xi32>
  %path = exec.ref @path : memref<2x8xi32>
  %length = exec.ref @length : memref<2xi32>
  // CHECK: exec.process_logits draft %{{.*}} slots %{{.*}} positions %{{.*}} by(%{{.*}}, %[[N:.*]], %[[N]]) :
  %l1 = exec.process_logits draft %l slots %s positions %s by (%rules, %counts, %counts)
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<2x256xi32>, memref<2x64xi32>, memref<2x64xi32>) -> tensor<4x64xf32>
  // CHECK: exec.process_logits draft %{{.*}} by(%{{.*}}, %[[N]], %[[N]]) tokens %{{.*}} :
  %l4 = exec.process_logits draft %l slots %s positions %s by (%rules, %counts, %counts) tokens %v
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<2x256xi32>, memref<2x64xi32>, memref<2x64xi32>, memref<64x1xi32>) -> tensor<4x64xf32>
  %masks = exec.ref @node_masks : memref<2x4x2xi32>
  // CHECK: exec.process_logits %{{.*}} by(%{{.*}}, %[[N]], %[[N]]) masks %{{.*}} :
  %l3 = exec.process_logits %l slots %s positions %s path (%path, %length) depth 3 by (%rules, %counts, %counts) masks %masks
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<2x8xi32>, memref<2xi32>, memref<2x256xi32>, memref<2x64xi32>, memref<2x64xi32>, memref<2x4x2xi32>) -> tensor<4x64xf32>
  // CHECK: exec.process_logits %{{.*}} best(%{{.*}}, %{{.*}}) slots %{{.*}} positions %{{.*}} places %{{.*}} path(%{{.*}}, %{{.*}}) depth 3 by(%{{.*}}, %[[N]], %[[N]]) :
  %l2:3 = exec.process_logits %l1 best (%b, %c) slots %s positions %s places %s path (%path, %length) depth 3 by (%rules, %counts, %counts)
    : (tensor<4x2xf32>, tensor<4x2xi32>, tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, memref<2x8xi32>, memref<2xi32>, memref<2x256xi32>, memref<2x64xi32>, memref<2x64xi32>)
      -> (tensor<4x64xf32>, tensor<4x2xf32>, tensor<4x2xi32>)
  // CHECK: exec.sample %[[L]] best(%[[B]], %[[C]]) slots {{.*}} found %{{.*}} :
  %p4 = exec.sample %l best (%b, %c) slots %s positions %s by %sampling found %f
    : (tensor<4x2xf32>, tensor<4x2xi32>, tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<2x8xi32>, tensor<4x412xi32>) -> tensor<4xi32>
}

// CHECK-LABEL: exec.program @rows
exec.program @rows function {
  %x = exec.input "x" : tensor<4x16xf32>
  %t = exec.input "t" : tensor<4xi32>
  %i = exec.input "i" : tensor<2xi32>
  %e = exec.input "e" : tensor<64x16xbf16>
  %n = exec.input "n" : tensor<8xf32>
  // CHECK: %[[C:.*]] = exec.columns %[[X:.*]][8 to 16] : tensor<4x16xf32>
  %c = exec.columns %x[8 to 16] : tensor<4x16xf32>
  // CHECK: exec.reshape %[[X]] : tensor<4x16xf32> -> tensor<2x2x16xf32>
  %g = exec.reshape %x : tensor<4x16xf32> -> tensor<2x2x16xf32>
  // CHECK: exec.embed %{{.*}} in %{{.*}} as <bf16> :
  %y0 = exec.embed %t in %e as <bf16> : (tensor<64x16xbf16>, tensor<4xi32>) -> tensor<4x16xf32>
  // CHECK: exec.embed %{{.*}} in %{{.*}} as <bf16> scale 4.000000e+00 :
  %ys = exec.embed %t in %e as <bf16> scale 4.0 : (tensor<64x16xbf16>, tensor<4xi32>) -> tensor<4x16xf32>
  // CHECK: exec.mask_first %[[X]] at %{{.*}} :
  %y1 = exec.mask_first %x at %t : (tensor<4x16xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  // CHECK: exec.rms_norm %[[X]] by %{{.*}} groups 2 eps 9.99999997E-7 offset 1 :
  %y2 = exec.rms_norm %x by %n groups 2 eps 1.0e-6 offset 1 : (tensor<4x16xf32>, tensor<8xf32>) -> tensor<4x16xf32>
  // CHECK: exec.add %[[C]], %[[C]] :
  %y3 = exec.add %c, %c : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: exec.swiglu %[[C]], %[[C]] :
  %y4 = exec.swiglu %c, %c : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: exec.geglu_tanh %[[C]], %[[C]] :
  %yg = exec.geglu_tanh %c, %c : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: exec.silu %[[C]] :
  %y8 = exec.silu %c : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: exec.concat %[[X]], %[[C]] :
  %y5 = exec.concat %x, %c : (tensor<4x16xf32>, tensor<4x8xf32>) -> tensor<4x24xf32>
  // CHECK: exec.copy %[[C]] :
  %y6 = exec.copy %c : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: exec.gather_rows %[[X]], %{{.*}} :
  %y7 = exec.gather_rows %x, %i : (tensor<4x16xf32>, tensor<2xi32>) -> tensor<2x16xf32>
}

// CHECK-LABEL: exec.program @packed
exec.program @packed function {
  %p = exec.input "p" : tensor<6xi32>
  %t = exec.input "t" : tensor<6xi32>
  %m = exec.input "m" : tensor<6xi64>
  // CHECK: %{{.*}}, %[[NUMBERS:.*]]:2, %[[PLACES:.*]], %{{.*}} = exec.pack %[[P:.*]], (%[[T:.*]], %{{.*}}) : (tensor<6xi32>, tensor<6xi32>, tensor<6xi64>) -> (tensor<6xi32>, tensor<6xi32>, tensor<6xi64>, tensor<6xi32>, tensor<1xi32>)
  %y:5 = exec.pack %p, (%t, %m) : (tensor<6xi32>, tensor<6xi32>, tensor<6xi64>) -> (tensor<6xi32>, tensor<6xi32>, tensor<6xi64>, tensor<6xi32>, tensor<1xi32>)
  // CHECK: exec.pack %[[P]], () : (tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi32>, tensor<1xi32>)
  %z:3 = exec.pack %p, () : (tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi32>, tensor<1xi32>)
  // CHECK: exec.pack %[[P]], () : (tensor<6xi32>) -> (tensor<4xi32>, tensor<6xi32>, tensor<1xi32>)
  %few:3 = exec.pack %p, () : (tensor<6xi32>) -> (tensor<4xi32>, tensor<6xi32>, tensor<1xi32>)
  // CHECK: exec.pack_prompts(%[[P]], %[[T]]) and(%[[T]], %[[P]]) : (tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) -> (tensor<12xi32>, tensor<12xi32>, tensor<6xi32>, tensor<6xi32>, tensor<1xi32>)
  %b:5 = exec.pack_prompts (%p, %t) and (%t, %p) : (tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>) -> (tensor<12xi32>, tensor<12xi32>, tensor<6xi32>, tensor<6xi32>, tensor<1xi32>)
  // CHECK: exec.unpack_rows %[[NUMBERS]]#0, %[[PLACES]] : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
  %u = exec.unpack_rows %y#1, %y#3 : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
  %x = exec.input "x" : tensor<4x16xf32>
  // CHECK: exec.unpack_rows %{{.*}}, %[[T]] : (tensor<4x16xf32>, tensor<6xi32>) -> tensor<6x16xf32>
  %v = exec.unpack_rows %x, %t : (tensor<4x16xf32>, tensor<6xi32>) -> tensor<6x16xf32>
}

// CHECK-LABEL: exec.program @attention
exec.program @attention function {
  %q = exec.input "q" : tensor<4x32xf32>
  %k = exec.input "k" : tensor<4x16xf32>
  %t = exec.input "t" : tensor<64x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  %pages = exec.ref @page_table : memref<2x4xi32>
  %layer = exec.ref @kv : memref<?x16x32xbf16>
  %masks = exec.ref @masks : memref<4xi64>
  // CHECK: exec.rope %[[Q:.*]] heads 4 <dim = 4, offset = 2, layout = interleaved> by %{{.*}} at %{{.*}} :
  %t4 = exec.input "t4" : tensor<64x4xf32>
  %r = exec.rope %q heads 4 <dim = 4, offset = 2, layout = interleaved> by %t4 at %s
    : (tensor<4x32xf32>, tensor<64x4xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  // CHECK: exec.kv_append %[[K:.*]] at 16 into %[[LAYER:.*]] divided by 2 slots %{{.*}} positions %{{.*}} pages %{{.*}} :
  exec.kv_append %k at 16 into %layer divided by 2 slots %s positions %s pages %pages
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<2x4xi32>, memref<?x16x32xbf16>) -> ()
  // CHECK: exec.rope_append keys %[[K]], values %[[K]] heads 2 <dim = 8> by %{{.*}} at %{{.*}} keys_at 0 values_at 16 into %[[LAYER]] slots
  exec.rope_append keys %k, values %k heads 2 <dim = 8> by %t at %s keys_at 0 values_at 16 into %layer slots %s positions %s pages %pages
    : (tensor<4x16xf32>, tensor<4x16xf32>, tensor<64x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, memref<2x4xi32>, memref<?x16x32xbf16>) -> ()
  // CHECK: exec.rope_append keys %[[K]], values %[[K]] queries %[[Q]] heads 2 <dim = 8>
  %r1 = exec.rope_append keys %k, values %k queries %q heads 2 <dim = 8> by %t at %s keys_at 0 values_at 16 into %layer slots %s positions %s pages %pages
    : (tensor<4x32xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<64x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, memref<2x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  // CHECK: exec.attention %[[Q]] in %[[LAYER]] slots %{{.*}} positions %{{.*}} pages %{{.*}} heads 4 kv_heads 2 values_at 16 scale 2.500000e-01 split 512 window 600 :
  %y0 = exec.attention %q in %layer slots %s positions %s pages %pages heads 4 kv_heads 2 values_at 16 scale 0.25 split 512 window 600
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<2x4xi32>, memref<?x16x32xbf16>) -> tensor<4x32xf32>
  // CHECK: exec.attention %[[Q]] in %[[LAYER]] divided by 2 slots {{.*}} tree %{{.*}} heads 4 kv_heads 2 window 8 :
  %y1 = exec.attention %q in %layer divided by 2 slots %s positions %s pages %pages tree %masks heads 4 kv_heads 2 window 8
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<2x4xi32>, memref<?x16x32xbf16>, memref<4xi64>) -> tensor<4x32xf32>
  // CHECK: %[[LEFT:.*]] = exec.attention_split_kv %[[Q]] in %[[LAYER]] slots {{.*}} values 8 splits 2 tasks_per_tile 2 heads 4 kv_heads 2 split 512 :
  %left = exec.attention_split_kv %q in %layer slots %s positions %s pages %pages values 8 splits 2 tasks_per_tile 2 heads 4 kv_heads 2 split 512
    : (tensor<4x32xf32>, tensor<4xi32>, tensor<4xi32>, memref<2x4xi32>, memref<?x16x32xbf16>) -> tensor<4x256xf32>
  // CHECK: exec.attention_combine %[[LEFT]] positions %{{.*}} splits 2 heads 4 kv_heads 2 split 512 as bf16 :
  %y2 = exec.attention_combine %left positions %s splits 2 heads 4 kv_heads 2 split 512 as bf16
    : (tensor<4xi32>, tensor<4x256xf32>) -> tensor<4x32xf32>
}

// CHECK-LABEL: exec.program @experts
exec.program @experts function {
  %x = exec.input "x" : tensor<4x16xf32>
  %l = exec.input "l" : tensor<4x8xf32>
  %b = exec.input "b" : tensor<8xf32>
  %p = exec.input "p" : tensor<4xi32>
  %up = exec.input "up" : tensor<16x8x32x2xbf16>
  %down = exec.input "down" : tensor<8x16x32x2xbf16>
  // CHECK: %[[E:.*]], %[[W:.*]] = exec.moe_route %{{.*}} bias %{{.*}} sigmoid groups 4 keep 2 normalized scale 2.500000e+00 :
  %e, %w = exec.moe_route %l bias %b sigmoid groups 4 keep 2 normalized scale 2.5
    : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x2xi32>, tensor<4x2xf32>)
  // CHECK: %[[S:.*]], %[[O:.*]] = exec.moe_plan %[[E]] at %{{.*}} :
  %s, %o = exec.moe_plan %e at %p : (tensor<4xi32>, tensor<4x2xi32>) -> (tensor<9xi32>, tensor<8xi32>)
  // CHECK: %[[A:.*]] = exec.moe_gate_up %[[X:.*]], %{{.*}} as <bf16> rows(%[[S]], %[[O]]) :
  %a = exec.moe_gate_up %x, %up as <bf16> rows (%s, %o)
    : (tensor<4x16xf32>, tensor<16x8x32x2xbf16>, tensor<9xi32>, tensor<8xi32>) -> tensor<8x32xf32>
  // CHECK: %[[D:.*]] = exec.moe_down %[[A]], %{{.*}} as <bf16> rows(%[[S]], %[[O]]) top_k 2 :
  %d = exec.moe_down %a, %down as <bf16> rows (%s, %o) top_k 2
    : (tensor<8x32xf32>, tensor<8x16x32x2xbf16>, tensor<9xi32>, tensor<8xi32>) -> tensor<8x16xf32>
  // CHECK: exec.moe_combine %[[D]] by %[[W]] at %{{.*}} residual %[[X]] shared %[[X]] :
  %y = exec.moe_combine %d by %w at %p residual %x shared %x
    : (tensor<4xi32>, tensor<4x2xf32>, tensor<8x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
}
