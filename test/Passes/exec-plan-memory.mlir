// RUN: mtp-opt %s --exec-plan-memory --split-input-file --verify-diagnostics | FileCheck %s
// RUN: mtp-opt %s --exec-plan-memory=alignment=256 --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=WIDE

// CHECK: module attributes {exec.plan = {arena_bytes = 1600 : i64, state_bytes = 128 : i64}}
// WIDE: module attributes {exec.plan = {arena_bytes = 6144 : i64, state_bytes = 512 : i64}}
exec.kernel @add #exec.add<width = 8>
// CHECK: exec.state @length at 0 : memref<4xi32>
// CHECK: exec.state @active at 64 : memref<4xi32>
// WIDE: exec.state @active at 256 : memref<4xi32>
exec.state @length : memref<4xi32>
exec.state @active : memref<4xi32>

// c lives after a died and takes its place; b lives between the two.
// CHECK-LABEL: exec.program @reuse
// CHECK: exec.alloc at 0 : memref<2x8xf32>
// CHECK: exec.alloc at 64 : memref<2x8xf32>
// CHECK: exec.alloc at 0 : memref<2x8xf32>
// CHECK: exec.alloc at 64 : memref<2x8xf32>
// WIDE-LABEL: exec.program @reuse
// WIDE: exec.alloc at 256 : memref<2x8xf32>
exec.program @reuse decode k 0 n 1 to 1 {
  %a = exec.alloc : memref<2x8xf32>
  %b = exec.alloc : memref<2x8xf32>
  exec.dispatch @add(%a, %a, %b) params [2] offsets [0, 0, 0] outputs 1
    : memref<2x8xf32>, memref<2x8xf32>, memref<2x8xf32>
  %c = exec.alloc : memref<2x8xf32>
  exec.dispatch @add(%b, %b, %c) params [2] offsets [0, 0, 0] outputs 1
    : memref<2x8xf32>, memref<2x8xf32>, memref<2x8xf32>
  %d = exec.alloc : memref<2x8xf32>
  exec.dispatch @add(%c, %c, %d) params [2] offsets [0, 0, 0] outputs 1
    : memref<2x8xf32>, memref<2x8xf32>, memref<2x8xf32>
}

// No lifetime ends within a stage: one thread may still read a while another
// writes c.
// CHECK-LABEL: exec.program @stage
// CHECK: exec.alloc at 0 : memref<2x8xf32>
// CHECK: exec.alloc at 64 : memref<2x8xf32>
// CHECK: exec.alloc at 128 : memref<2x8xf32>
// CHECK: exec.alloc at 0 : memref<2x8xf32>
exec.program @stage decode k 0 n 1 to 1 {
  %a = exec.alloc : memref<2x8xf32>
  %b = exec.alloc : memref<2x8xf32>
  exec.dispatch @add(%a, %a, %b) params [2] offsets [0, 0, 0] outputs 1
    : memref<2x8xf32>, memref<2x8xf32>, memref<2x8xf32>
  %c = exec.alloc : memref<2x8xf32>
  exec.dispatch @add(%b, %b, %c) params [2] offsets [0, 0, 0] outputs 1
    : memref<2x8xf32>, memref<2x8xf32>, memref<2x8xf32>
  %d = exec.alloc : memref<2x8xf32>
  exec.dispatch @add(%c, %c, %d) params [2] offsets [0, 0, 0] outputs 1
    : memref<2x8xf32>, memref<2x8xf32>, memref<2x8xf32>
  exec.schedule from 1 [[all, all], [all]]
}

// Inputs are filled before the program, read or not, and outputs are read after
// it. So neither shares an address with buffers that live at these times.
// CHECK-LABEL: exec.program @ends
// CHECK: exec.alloc input "unused" at 0 : memref<2x8xf32>
// CHECK: exec.alloc input "late" at 64 : memref<2x8xf32>
// CHECK: %[[Y:.*]] = exec.alloc at 0 : memref<2x8xf32>
// CHECK: %[[Z:.*]] = exec.alloc at 128 : memref<2x8xf32>
exec.program @ends function {
  %unused = exec.alloc input "unused" : memref<2x8xf32>
  %late = exec.alloc input "late" : memref<2x8xf32>
  %y = exec.alloc : memref<2x8xf32>
  exec.dispatch @add(%late, %late, %y) params [2] offsets [0, 0, 0] outputs 1
    : memref<2x8xf32>, memref<2x8xf32>, memref<2x8xf32>
  exec.output "y" %y : memref<2x8xf32>
  %z = exec.alloc : memref<2x8xf32>
  exec.dispatch @add(%late, %late, %z) params [2] offsets [0, 0, 0] outputs 1
    : memref<2x8xf32>, memref<2x8xf32>, memref<2x8xf32>
}

// The largest comes first: no hole is left below it.
// CHECK-LABEL: exec.program @largest
// CHECK: exec.alloc input "a" at 128 : memref<2x8xf32>
// CHECK: exec.alloc input "b" at 192 : memref<2x8xf32>
// CHECK: exec.alloc at 0 : memref<4x8xf32>
exec.program @largest function {
  %a = exec.alloc input "a" : memref<2x8xf32>
  %b = exec.alloc input "b" : memref<2x8xf32>
  %c = exec.alloc : memref<4x8xf32>
  exec.dispatch @add(%a, %b, %c) params [2] offsets [0, 0, 0] outputs 1
    : memref<2x8xf32>, memref<2x8xf32>, memref<4x8xf32>
}

// Buffers that grow with n come after fixed ones, in units of 64 bytes per n:
// if two do not overlap at one n, they do not overlap at any. A row of 32 bytes
// takes 64, three take 128. c takes the place of a.
// CHECK-LABEL: exec.program @grows
// CHECK: exec.alloc at 64 + 128 * n rows n : memref<?x8xf32>
// CHECK: exec.alloc at 64 rows 3 * n : memref<?x8xf32>
// CHECK: exec.alloc at 0 : memref<2x8xf32>
// CHECK: exec.alloc at 64 + 128 * n rows n : memref<?x8xf32>
exec.program @grows decode k 0 n 1 to 8 {
  %a = exec.alloc rows n : memref<?x8xf32>
  %b = exec.alloc rows 3 * n : memref<?x8xf32>
  exec.dispatch @add(%a, %a, %b) params [n] offsets [0, 0, 0] outputs 1
    : memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>
  %f = exec.alloc : memref<2x8xf32>
  exec.dispatch @add(%b, %b, %f) params [1] offsets [0, 0, 0] outputs 1
    : memref<?x8xf32>, memref<?x8xf32>, memref<2x8xf32>
  %c = exec.alloc rows n : memref<?x8xf32>
  exec.dispatch @add(%b, %b, %c) params [n] offsets [0, 0, 0] outputs 1
    : memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>
}

// A barrier ends a lifetime only if it exists at every n. From n = 4 on there
// is none between the first and the second call, so c does not take the place
// of a.
// CHECK-LABEL: exec.program @schedules
// CHECK: exec.alloc at 0 rows n : memref<?x8xf32>
// CHECK: exec.alloc at 64 * n rows n : memref<?x8xf32>
// CHECK: exec.alloc at 128 * n rows n : memref<?x8xf32>
// CHECK: exec.alloc at 0 rows n : memref<?x8xf32>
exec.program @schedules decode k 0 n 1 to 8 {
  %a = exec.alloc rows n : memref<?x8xf32>
  %b = exec.alloc rows n : memref<?x8xf32>
  exec.dispatch @add(%a, %a, %b) params [n] offsets [0, 0, 0] outputs 1
    : memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>
  %c = exec.alloc rows n : memref<?x8xf32>
  exec.dispatch @add(%b, %b, %c) params [n] offsets [0, 0, 0] outputs 1
    : memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>
  %d = exec.alloc rows n : memref<?x8xf32>
  exec.dispatch @add(%c, %c, %d) params [n] offsets [0, 0, 0] outputs 1
    : memref<?x8xf32>, memref<?x8xf32>, memref<?x8xf32>
  exec.schedule from 1 [[all], [all], [all]]
  exec.schedule from 4 [[all, all], [all]]
}

// -----

exec.kernel @add #exec.add<width = 8>
exec.program @p function {
  %a = exec.alloc : memref<1152921504606846976xf32>
  // expected-error @+1 {{'exec.alloc' op expected the bytes of all buffers to fit 63 bits, got more at 'memref<1152921504606846976xf32>'}}
  %b = exec.alloc : memref<1152921504606846976xf32>
}

// -----

exec.state @a : memref<1152921504606846976xf32>
// expected-error @+1 {{'exec.state' op expected the bytes of all states to fit 63 bits, got more at 'memref<1152921504606846976xf32>'}}
exec.state @b : memref<1152921504606846976xf32>
