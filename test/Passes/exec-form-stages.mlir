// RUN: mtp-opt %s --exec-form-stages --split-input-file | FileCheck %s
// RUN: mtp-opt %s --exec-form-stages=solo-elements=16384 --split-input-file | FileCheck %s
// RUN: mtp-opt %s --exec-form-stages=solo-elements=0 --split-input-file | FileCheck %s --check-prefix=SHARED

// Projections of one input share a stage, even if another call was between
// them. Their sum is light, and needs all of both.
// CHECK-LABEL: exec.program @independent
// CHECK: %[[X:.*]] = exec.input "x"
// CHECK: %[[A:.*]] = exec.linear %[[X]], {{.*}} as <f32> :
// CHECK: %[[B:.*]] = exec.linear %[[X]], {{.*}} as <f32> :
// CHECK: %[[SUM:.*]] = exec.add %[[A]], %[[A]] :
// CHECK: exec.add %[[SUM]], %[[B]] :
// CHECK: exec.output
// CHECK: exec.schedule from 0 {{\[\[}}all, all], [solo, solo]]{{$}}
exec.program @independent function {
  %x = exec.input "x" : tensor<4x8xf32>
  %w = exec.input "w" : tensor<64x8xf32>
  %a = exec.linear %x, %w as <f32> : (tensor<4x8xf32>, tensor<64x8xf32>) -> tensor<4x64xf32>
  %aa = exec.add %a, %a : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  %b = exec.linear %x, %w as <f32> : (tensor<4x8xf32>, tensor<64x8xf32>) -> tensor<4x64xf32>
  %sum = exec.add %aa, %b : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  exec.output "sum" %sum : tensor<4x64xf32>
}

// -----

// A thread reads the rows that it wrote. A gather reads any rows, so it waits,
// and so do its readers.
// SHARED-LABEL: exec.program @rows
// SHARED: %[[A:.*]] = exec.add %{{.*}}, %{{[a-z0-9]+}} :
// SHARED: %[[B:.*]] = exec.add %[[A]], %{{.*}} :
// SHARED: %[[C:.*]] = exec.gather_rows %[[B]], %{{[a-z0-9]+}} :
// SHARED: exec.add %[[C]], %[[C]] :
// SHARED: exec.schedule from 0 {{\[\[}}all, all], [all], [all]]{{$}}
// If one thread runs all calls, there are no barriers.
// CHECK-LABEL: exec.program @rows
// CHECK: exec.add {{.*}} :
// CHECK: exec.add {{.*}} :
// CHECK: exec.gather_rows {{.*}} :
// CHECK: exec.add {{.*}} :
// CHECK: exec.schedule from 0 {{\[\[}}solo, solo, solo, solo]]{{$}}
exec.program @rows function {
  %x = exec.input "x" : tensor<4x8xf32>
  %i = exec.input "i" : tensor<2xi32>
  %a = exec.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = exec.add %a, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = exec.gather_rows %b, %i : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  %d = exec.add %c, %c : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  exec.output "d" %d : tensor<2x8xf32>
}

// -----

// Half the number of rows are other threads' rows, though both calls go row by
// row.
// SHARED-LABEL: exec.program @fewer
// SHARED: %[[A:.*]] = exec.add %{{.*}}, %{{[a-z0-9]+}} :
// SHARED: exec.moe_combine %[[A]] by %{{.*}} at %{{[a-z0-9]+}} :
// SHARED: exec.schedule from 0 {{\[\[}}all], [all]]{{$}}
exec.program @fewer function {
  %x = exec.input "x" : tensor<4x8xf32>
  %w = exec.input "w" : tensor<2x2xf32>
  %p = exec.input "p" : tensor<2xi32>
  %a = exec.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = exec.moe_combine %a by %w at %p
    : (tensor<2xi32>, tensor<2x2xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  exec.output "b" %b : tensor<2x8xf32>
}

// -----

// A cache's reader waits for the writer before it, and the next writer for that
// reader. Another layer is independent of both.
// SHARED-LABEL: exec.program @cache
// SHARED: exec.kv_append %{{.*}} into %[[L0:.*]] slots {{.*}} pages %{{[a-z0-9]+}} :
// SHARED: exec.kv_append %{{.*}} into %[[L1:.*]] slots {{.*}} :
// SHARED: exec.attention %{{.*}} in %[[L0]] slots {{.*}} kv_heads 1 :
// SHARED: exec.kv_append %{{.*}} into %[[L0]] slots {{.*}} pages %{{[a-z0-9]+}} :
// SHARED: exec.schedule from 0 {{\[\[}}all, all], [all], [all]]{{$}}
exec.cache @target layers 2 entry 16 page 16 : bf16
exec.state @page_table : memref<1x4xi32>
exec.program @cache function {
  %x = exec.input "x" : tensor<4x16xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %t = exec.ref @page_table : memref<1x4xi32>
  %0 = exec.ref @target : memref<?x16x16xbf16>
  %1 = exec.ref @target layer 1 : memref<?x16x16xbf16>
  exec.kv_append %x into %0 slots %s positions %p pages %t
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
  %x_0 = exec.columns %x[0 to 8] : tensor<4x16xf32>
  %y = exec.attention %x_0 in %0 slots %s positions %p pages %t heads 1 kv_heads 1
    : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> tensor<4x16xf32>
  exec.kv_append %x into %0 slots %s positions %p pages %t
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
  exec.kv_append %x into %1 slots %s positions %p pages %t
    : (tensor<4x16xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
  exec.output "y" %y : tensor<4x16xf32>
}

// -----

// A small call for a divided call is divided like its reader. A call for which
// another thread's work waits as well is not.
// CHECK-LABEL: exec.program @feeding
// CHECK: %[[L:.*]] = exec.add %[[X:.*]], %[[X]] :
// CHECK: exec.concat %[[L]], {{.*}} :
// CHECK: %[[M:.*]] = exec.add %[[PART:.*]], %[[PART]] :
// CHECK: exec.gather_rows %[[M]], {{.*}} :
// CHECK: exec.concat %[[M]], %{{[a-z0-9]+}} :
// CHECK: exec.schedule from 0 {{\[\[}}all, all, solo, solo], [all]]{{$}}
exec.program @feeding function {
  %x = exec.input "x" : tensor<4x512xf32>
  %b = exec.input "b" : tensor<4x4096xf32>
  %i = exec.input "i" : tensor<2xi32>
  %l = exec.add %x, %x : (tensor<4x512xf32>, tensor<4x512xf32>) -> tensor<4x512xf32>
  %h = exec.concat %l, %b : (tensor<4x512xf32>, tensor<4x4096xf32>) -> tensor<4x4608xf32>
  %x_0 = exec.columns %x[0 to 256] : tensor<4x512xf32>
  %m = exec.add %x_0, %x_0 : (tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
  %t = exec.gather_rows %m, %i : (tensor<4x256xf32>, tensor<2xi32>) -> tensor<2x256xf32>
  %g = exec.concat %m, %b : (tensor<4x256xf32>, tensor<4x4096xf32>) -> tensor<4x4352xf32>
  exec.output "h" %h : tensor<4x4608xf32>
  exec.output "t" %t : tensor<2x256xf32>
  exec.output "g" %g : tensor<4x4352xf32>
}

// -----

// Two parts of one activation are as light as one call that reads all of it.
// CHECK-LABEL: exec.program @parts
// CHECK: exec.add {{.*}} :
// CHECK: exec.schedule from 0 {{\[\[}}solo]]{{$}}
exec.program @parts function {
  %x = exec.input "x" : tensor<4x2560xf32>
  %x_0 = exec.columns %x[0 to 1280] : tensor<4x2560xf32>
  %x_1280 = exec.columns %x[1280 to 2560] : tensor<4x2560xf32>
  %y = exec.add %x_0, %x_1280
    : (tensor<4x1280xf32>, tensor<4x1280xf32>) -> tensor<4x1280xf32>
  exec.output "y" %y : tensor<4x1280xf32>
}

// -----

// Two appends to a layer share a stage if a thread's rows are the same entries
// in both. Rows at other positions, or with pages of another kind, may be
// entries that another thread writes.
// SHARED-LABEL: exec.program @appends
// SHARED: exec.kv_append %[[X:.*]] into {{.*}} pages %[[T:[a-z0-9]+]] :
// SHARED: exec.kv_append %[[X]] at 8 into {{.*}} pages %[[T]] :
// SHARED: exec.kv_append %[[X]] at 1 into {{.*}} pages %[[T]] :
// SHARED: exec.kv_append %[[X]] at 7 into {{.*}} pages %[[T]] :
// SHARED: exec.kv_append %[[X]] into {{.*}} divided by 2 {{.*}} pages %[[T]] :
// SHARED: exec.schedule from 0 {{\[\[}}all, all], [all, all], [all]]{{$}}
exec.cache @target layers 1 entry 16 page 16 : bf16
exec.state @page_table : memref<1x4xi32>
exec.program @appends function {
  %x = exec.input "x" : tensor<4x8xf32>
  %s = exec.input "s" : tensor<4xi32>
  %p = exec.input "p" : tensor<4xi32>
  %q = exec.input "q" : tensor<4xi32>
  %t = exec.ref @page_table : memref<1x4xi32>
  %0 = exec.ref @target : memref<?x16x16xbf16>
  %1 = exec.ref @target : memref<?x16x16xbf16>
  exec.kv_append %x into %0 slots %s positions %p pages %t
    : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
  exec.kv_append %x at 8 into %1 slots %s positions %p pages %t
    : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
  exec.kv_append %x at 1 into %0 slots %s positions %q pages %t
    : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
  exec.kv_append %x at 7 into %0 slots %s positions %q pages %t
    : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
  exec.kv_append %x into %0 divided by 2 slots %s positions %q pages %t
    : (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi32>, memref<1x4xi32>, memref<?x16x16xbf16>) -> ()
}

// -----

// A table that a call makes is read in rows that other threads wrote.
// SHARED-LABEL: exec.program @tables
// SHARED: %[[A:.*]] = exec.add %{{.*}}, %{{[a-z0-9]+}} :
// SHARED: exec.embed %{{.*}} in %[[A]] as <f32> :
// SHARED: exec.add %{{.*}}, %{{[a-z0-9]+}} :
// SHARED: exec.schedule from 0 {{\[\[}}all], [all, all]]{{$}}
exec.program @tables function {
  %x = exec.input "x" : tensor<4x8xf32>
  %t = exec.input "t" : tensor<4xi32>
  %a = exec.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = exec.embed %t in %a as <f32> : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %y = exec.add %e, %e : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  exec.output "y" %y : tensor<4x8xf32>
}

// -----

// A view moves with the call of its source, and its readers wait for that call.
// CHECK-LABEL: exec.program @views
// CHECK: %[[A:.*]] = exec.linear {{.*}} as <f32> :
// CHECK-NEXT: %[[V:.*]] = exec.columns %[[A]][8 to 16]
// CHECK-NEXT: exec.linear {{.*}} as <f32> :
// CHECK-NEXT: exec.add %[[V]], %[[V]] :
// CHECK: exec.schedule from 0 {{\[\[}}all, all], [solo]]{{$}}
exec.program @views function {
  %x = exec.input "x" : tensor<4x8xf32>
  %w = exec.input "w" : tensor<64x8xf32>
  %a = exec.linear %x, %w as <f32> : (tensor<4x8xf32>, tensor<64x8xf32>) -> tensor<4x64xf32>
  %v = exec.columns %a[8 to 16] : tensor<4x64xf32>
  %y = exec.add %v, %v : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = exec.linear %x, %w as <f32> : (tensor<4x8xf32>, tensor<64x8xf32>) -> tensor<4x64xf32>
  exec.output "y" %y : tensor<4x8xf32>
  exec.output "b" %b : tensor<4x64xf32>
}

// -----

// Accesses to an allocation of the program stay in program order, too.
// SHARED-LABEL: exec.program @buffers
// SHARED: exec.write_state %[[FIRST:.*]] to %[[D:.*]] of
// SHARED: exec.write_state %[[SECOND:.*]] to %[[D]] of
// SHARED: exec.schedule from 0 {{\[\[}}all], [all]]{{$}}
exec.program @buffers function {
  %t = exec.input "t" : tensor<4xi32>
  %x = exec.input "x" : tensor<4x8xf32>
  %y = exec.input "y" : tensor<4x8xf32>
  %d = exec.alloc : memref<4x8xf32>
  exec.write_state %x to %d of %t : (tensor<4x8xf32>, tensor<4xi32>, memref<4x8xf32>) -> ()
  exec.write_state %y to %d of %t : (tensor<4x8xf32>, tensor<4xi32>, memref<4x8xf32>) -> ()
}

// -----

// A call may be light for few rows and heavy for many: stages change with n,
// from 65 rows on, where a sum has more than 16384 elements. The rows that it
// reads are fewer, but are divided like those of the sum.
// CHECK-LABEL: exec.program @spans
// CHECK: exec.schedule from 1 {{\[\[}}solo, solo], [all]]
// CHECK: exec.schedule from 65 {{\[\[}}all, all], [all]]
// CHECK-NOT: exec.schedule
// CHECK: }
exec.state shared @active : memref<256xi32>
exec.program @spans decode k 0 n 1 to 256 {
  %t = exec.ref @active first n : memref<?xi32>
  %w = exec.alloc : memref<16x128xf32>
  %v = exec.alloc : memref<2x128x32xf32>
  %x = exec.embed %t in %w as <f32> : (memref<16x128xf32>, memref<?xi32>) -> tensor<?x128xf32, #exec.count<n>>
  %y = exec.add %x, %x : (tensor<?x128xf32, #exec.count<n>>, tensor<?x128xf32, #exec.count<n>>) -> tensor<?x128xf32, #exec.count<n>>
  %z = exec.linear %y, %v as <f32> : (tensor<?x128xf32, #exec.count<n>>, memref<2x128x32xf32>) -> tensor<?x64xf32, #exec.count<n>>
  exec.output "z" %z : tensor<?x64xf32, #exec.count<n>>
}

// -----

// Threads divide packed rows by the number of active ones. A call on all rows
// divides them differently from a call on active rows, so the latter waits. The
// next call divides like the latter.
// SHARED-LABEL: exec.program @live
// SHARED: exec.pack
// SHARED: exec.add
// SHARED: exec.embed
// SHARED: exec.add
// SHARED: exec.add
// SHARED: exec.schedule from 0 {{\[\[}}all, all], [all, all, all]]{{$}}
exec.program @live function {
  %x = exec.input "x" : tensor<4x8xf32>
  %p = exec.input "p" : tensor<4xi32>
  %w = exec.input "w" : tensor<64x8xf32>
  %q, %places, %live = exec.pack %p, () : (tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<1xi32>)
  %a = exec.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = exec.embed %q in %w as <f32> : (tensor<64x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %c = exec.add %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = exec.add %c, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  exec.output "d" %d : tensor<4x8xf32>
}

// -----

// No call crosses the point at which a round may stop, and there is a barrier,
// though one thread runs everything, and the last call waits for nothing.
// CHECK-LABEL: exec.program @halves
// CHECK: %[[A:.*]] = exec.add
// CHECK: %[[B:.*]] = exec.add %[[A]], %[[A]] :
// CHECK-NEXT: exec.await_host
// CHECK: exec.linear
// CHECK: exec.output "b"
// CHECK: exec.schedule from 4 {{\[\[}}solo, solo], [all, solo]]{{$}}
exec.program @halves decode k 1 n 4 to 4 {
  %x = exec.input "x" : tensor<4x8xf32>
  %w = exec.input "w" : tensor<64x8xf32>
  %a = exec.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = exec.add %a, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  exec.output "b" %b : tensor<4x8xf32>
  exec.await_host
  %l = exec.linear %x, %w as <f32> : (tensor<4x8xf32>, tensor<64x8xf32>) -> tensor<4x64xf32>
  %c = exec.add %b, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  exec.output "l" %l : tensor<4x64xf32>
  exec.output "c" %c : tensor<4x8xf32>
}

// -----

// This also holds for calls for requests, after both halves.
// CHECK-LABEL: exec.program @asked
// CHECK: exec.linear
// CHECK-NEXT: exec.await_host
// CHECK: %[[C:.*]] = exec.add
// CHECK-NEXT: exec.on_request
// CHECK-NEXT: exec.add %[[C]], %[[C]] :
// CHECK: exec.schedule from 4 {{\[\[}}all], [solo], [solo]]{{$}}
exec.program @asked decode k 1 n 4 to 4 {
  %x = exec.input "x" : tensor<4x8xf32>
  %w = exec.input "w" : tensor<64x8xf32>
  %l = exec.linear %x, %w as <f32> : (tensor<4x8xf32>, tensor<64x8xf32>) -> tensor<4x64xf32>
  exec.await_host
  %c = exec.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  exec.on_request
  %d = exec.add %c, %c : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  exec.output "l" %l : tensor<4x64xf32>
  exec.output "d" %d for tokens : tensor<4x8xf32>
}
