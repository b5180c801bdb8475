// RUN: mtp-opt %s --exec-compile-sampling | FileCheck %s
// RUN: mtp-opt %s --exec-compile-sampling --exec-bufferize | FileCheck %s --check-prefix=CODE

// A target without builtins samples with its own kernels, one per vocabulary.
// The kernels know the number of slots.
// CODE-DAG: exec.kernel @[[ONE:sample_[0-9]+]] #exec.sample<vocab = 64, slots = 2>
// CODE-DAG: exec.kernel @[[TWO:sample_[0-9]+]] #exec.sample<vocab = 70, parts = 3, mapped = true, slots = 2>
// CODE-DAG: exec.kernel @[[SCAN:sample_scan_[0-9]+]] #exec.sample_scan<vocab = 20001, parts = 626, slots = 2>
// CODE-DAG: exec.kernel @[[JOIN:sample_join_[0-9]+]] #exec.sample_join<vocab = 20001, parts = 626, slots = 2>
// CODE-NOT: mtp.sample
exec.state @sampling : memref<2x8xi32>
exec.constant @map dense<1> : tensor<70x1xi32>

// CHECK-LABEL: exec.program @sample
// CODE-LABEL: exec.program @sample
exec.program @sample function {
  %l = exec.input "l" : tensor<4x64xf32>
  %m = exec.input "m" : tensor<4x70xf32>
  %n = exec.input "n" : tensor<4x20001xf32>
  %b = exec.input "b" : tensor<4x3xf32>
  %c = exec.input "c" : tensor<4x3xi32>
  %d = exec.input "d" : tensor<4x626xf32>
  %e = exec.input "e" : tensor<4x626xi32>
  %slots = exec.input "slots" : tensor<4xi32>
  %positions = exec.input "positions" : tensor<4xi32>
  %s = exec.ref @sampling : memref<2x8xi32>
  %map = exec.ref @map : memref<70x1xi32>
  // CHECK: exec.sample compiled %{{.*}} slots %{{.*}} positions %{{.*}} by %{{.*}} :
  // CODE: exec.dispatch @[[ONE]]
  %p = exec.sample %l slots %slots positions %positions by %s
    : (tensor<4x64xf32>, tensor<4xi32>, tensor<4xi32>, memref<2x8xi32>) -> tensor<4xi32>
  // CHECK: exec.sample compiled %{{.*}} best(%{{.*}}, %{{.*}}) tokens %{{.*}} slots
  // CODE: exec.dispatch @[[TWO]]
  %q = exec.sample %m best (%b, %c) tokens %map slots %slots positions %positions by %s
    : (tensor<4x3xf32>, tensor<4x3xi32>, tensor<4x70xf32>, memref<70x1xi32>, tensor<4xi32>,
       tensor<4xi32>, memref<2x8xi32>) -> tensor<4xi32>
  // CHECK: exec.sample compiled scan %{{.*}} best(%{{.*}}, %{{.*}}) slots
  // CODE: exec.dispatch @[[SCAN]]
  %f = exec.sample scan %n best (%d, %e) slots %slots positions %positions by %s
    : (tensor<4x626xf32>, tensor<4x626xi32>, tensor<4x20001xf32>, tensor<4xi32>, tensor<4xi32>,
       memref<2x8xi32>) -> tensor<4x1236xi32>
  // CHECK: exec.sample compiled %{{.*}} best(%{{.*}}, %{{.*}}) slots {{.*}} found
  // CODE: exec.dispatch @[[JOIN]]
  %r = exec.sample %n best (%d, %e) slots %slots positions %positions by %s found %f
    : (tensor<4x626xf32>, tensor<4x626xi32>, tensor<4x20001xf32>, tensor<4xi32>, tensor<4xi32>,
       memref<2x8xi32>, tensor<4x1236xi32>) -> tensor<4xi32>
  exec.output "p" %p : tensor<4xi32>
  exec.output "q" %q : tensor<4xi32>
  exec.output "r" %r : tensor<4xi32>
}
