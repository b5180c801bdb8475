// A head that tensor cores can multiply stays apart from the embedding if the
// target orders fragments. A head in another format replaces it.

// RUN: mtp-opt %s '--exec-quantize-weights=head-format=int8 tie' | FileCheck %s --check-prefix=TIED
// RUN: mtp-opt %s '--exec-quantize-weights=head-format=int8 tie tie-fragments=false' | FileCheck %s --check-prefix=APART
// RUN: mtp-opt %s '--exec-quantize-weights=head-format=int6 tie tie-fragments=false' | FileCheck %s --check-prefix=TIED

// TIED-NOT: exec.weight @table
// TIED: exec.embed %{{.*}} in %{{.*}} rows 96 as <int{{[68]}}, group = 64
// APART: exec.weight @table #exec.raw {{.*}} : <bf16>{{$}}
// APART: exec.weight @head #exec.panels<32> {{.*}} : <int8, group = 64>
// APART: exec.embed %{{.*}} in %{{.*}} as <bf16>

exec.weight @table #exec.raw k 64 n 96 stack 1 [#exec.source<key = "head">] : <bf16>
exec.weight @head #exec.panels<32> k 64 n 96 stack 1 [#exec.source<key = "head">] : <bf16>

exec.program @picks function {
  %ids = exec.input "ids" : tensor<4xi32>
  %t = exec.ref @table : memref<96x64xbf16>
  %x = exec.embed %ids in %t as <bf16>
    : (memref<96x64xbf16>, tensor<4xi32>) -> tensor<4x64xf32>
  %h = exec.ref @head : memref<3x32x32x2xbf16>
  %l = exec.linear %x, %h as <bf16> role head
    : (tensor<4x64xf32>, memref<3x32x32x2xbf16>) -> tensor<4x96xf32>
  %a = exec.argmax %l : (tensor<4x96xf32>) -> tensor<4xi32>
}
