// Kernels for the checks of memory. Each rule has a kernel that breaks it and a
// similar one that does not.
module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.mlir.global internal @box() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<128 x i8>
  llvm.mlir.global internal @other() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x i8>
  llvm.mlir.global external @dynamic() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  llvm.mlir.global internal constant @table(dense<[2, 3, 5, 7]> : tensor<4xi32>) {addr_space = 4 : i32} : !llvm.array<4 x i32>
  llvm.mlir.global external @counter(0 : i32) {addr_space = 1 : i32} : i32

  // y[i] = x[i + offset]
  gpu.func @copy(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %offset: i64) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %bid = gpu.block_id x
    %size = gpu.block_dim x
    %base = arith.muli %bid, %size : index
    %i = arith.addi %base, %tid : index
    %at = arith.index_cast %i : index to i64
    %from = arith.addi %at, %offset : i64
    %px = llvm.getelementptr %x[%from] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %v = llvm.load %px : !llvm.ptr<1> -> f32
    %py = llvm.getelementptr %y[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %v, %py : f32, !llvm.ptr<1>
    gpu.return
  }

  // One thread loads 16 bytes at `offset` bytes and stores them.
  gpu.func @load16(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %offset: i64) kernel {
    %px = llvm.getelementptr %x[%offset] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v = llvm.load %px {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    llvm.store %v, %y {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  // One thread writes four bytes of shared memory at `write` and reads four at
  // `read`. The variable has 128 bytes.
  gpu.func @shared(%y: !llvm.ptr<1>, %write: i64, %read: i64) kernel {
    %v = arith.constant 7 : i32
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %pw = llvm.getelementptr %box[%write] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    llvm.store %v, %pw : i32, !llvm.ptr<3>
    %pr = llvm.getelementptr %box[%read] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %r = llvm.load %pr : !llvm.ptr<3> -> i32
    llvm.store %r, %y : i32, !llvm.ptr<1>
    gpu.return
  }

  // shared, with a generic pointer.
  gpu.func @generic(%y: !llvm.ptr<1>, %write: i64, %read: i64) kernel {
    %v = arith.constant 7 : i32
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %any = llvm.addrspacecast %box : !llvm.ptr<3> to !llvm.ptr
    %pw = llvm.getelementptr %any[%write] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    llvm.store %v, %pw : i32, !llvm.ptr
    %pr = llvm.getelementptr %any[%read] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %r = llvm.load %pr : !llvm.ptr -> i32
    llvm.store %r, %y : i32, !llvm.ptr<1>
    gpu.return
  }

  // Two variables and the dynamic memory after them do not overlap.
  gpu.func @layout(%y: !llvm.ptr<1>) kernel {
    %a = arith.constant 1 : i32
    %b = arith.constant 2 : i32
    %c = arith.constant 4 : i32
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %other = llvm.mlir.addressof @other : !llvm.ptr<3>
    %dyn = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
    llvm.store %a, %box : i32, !llvm.ptr<3>
    llvm.store %b, %other : i32, !llvm.ptr<3>
    llvm.store %c, %dyn : i32, !llvm.ptr<3>
    %ra = llvm.load %box : !llvm.ptr<3> -> i32
    %rb = llvm.load %other : !llvm.ptr<3> -> i32
    %rc = llvm.load %dyn : !llvm.ptr<3> -> i32
    %s = arith.addi %ra, %rb : i32
    %t = arith.addi %s, %rc : i32
    llvm.store %t, %y : i32, !llvm.ptr<1>
    gpu.return
  }

  // y = table[i], from constant memory.
  gpu.func @lookup(%y: !llvm.ptr<1>, %i: i64) kernel {
    %t = llvm.mlir.addressof @table : !llvm.ptr<4>
    %p = llvm.getelementptr %t[%i] : (!llvm.ptr<4>, i64) -> !llvm.ptr<4>, i32
    %v = llvm.load %p : !llvm.ptr<4> -> i32
    llvm.store %v, %y : i32, !llvm.ptr<1>
    gpu.return
  }

  // One thread copies `bytes` bytes from x to y.
  gpu.func @move(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %bytes: i64) kernel {
    "llvm.intr.memcpy"(%y, %x, %bytes) <{isVolatile = false}> : (!llvm.ptr<1>, !llvm.ptr<1>, i64) -> ()
    gpu.return
  }

  // Local variables of the thread, through a pointer to one of two: y[i] is 3
  // for even threads and 4 for odd ones.
  gpu.func @own(%y: !llvm.ptr<1>) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %one = arith.constant 1 : i64
    %three = arith.constant 3 : i32
    %four = arith.constant 4 : i32
    %bit = arith.trunci %i : i64 to i1
    %a = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
    %b = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
    llvm.store volatile %three, %a : i32, !llvm.ptr
    llvm.store volatile %four, %b : i32, !llvm.ptr
    %p = llvm.select %bit, %b, %a : i1, !llvm.ptr
    %v = llvm.load volatile %p : !llvm.ptr -> i32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %v, %py : i32, !llvm.ptr<1>
    gpu.return
  }

  // Every thread that finds 0 in y stores its number plus 1 there, and all
  // threads read it. Each access is atomic.
  gpu.func @claim(%y: !llvm.ptr<1>, %seen: !llvm.ptr<1>) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %n = arith.trunci %i : i64 to i32
    %id = arith.addi %n, %one : i32
    %r = llvm.cmpxchg %y, %zero, %id syncscope("device") acq_rel monotonic : !llvm.ptr<1>, i32
    %v = llvm.load %y atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    %ps = llvm.getelementptr %seen[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %v, %ps : i32, !llvm.ptr<1>
    gpu.return
  }

  // Prefetches x at `offset` bytes, between fences of each scope.
  gpu.func @prefetch(%x: !llvm.ptr<1>, %offset: i64) kernel {
    nvvm.prefetch level = L2, %x : !llvm.ptr<1>
    llvm.call_intrinsic "llvm.nvvm.membar.cta"() : () -> ()
    llvm.call_intrinsic "llvm.nvvm.membar.gl"() : () -> ()
    llvm.call_intrinsic "llvm.nvvm.membar.sys"() : () -> ()
    llvm.fence syncscope("device") seq_cst
    %px = llvm.getelementptr %x[%offset] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    nvvm.prefetch level = L2, %px : !llvm.ptr<1>
    gpu.return
  }

  // Every thread adds 1 to the module's variable.
  gpu.func @count() kernel {
    %one = arith.constant 1 : i32
    %p = llvm.mlir.addressof @counter : !llvm.ptr<1>
    %old = llvm.atomicrmw add %p, %one monotonic : !llvm.ptr<1>, i32
    gpu.return
  }

  // y = bf16(x), by the hardware's rounding.
  gpu.func @to_bf16(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %v = llvm.load %px : !llvm.ptr<1> -> f32
    %h = arith.truncf %v : f32 to bf16
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16
    llvm.store %h, %py : bf16, !llvm.ptr<1>
    gpu.return
  }

  // y[i] = x[i] * x[i] + c with two roundings, z[i] with one.
  gpu.func @contraction(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %z: !llvm.ptr<1>, %c: f32) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %v = llvm.load %px : !llvm.ptr<1> -> f32
    %m = arith.mulf %v, %v : f32
    %s = arith.addf %m, %c : f32
    %f = llvm.intr.fma(%v, %v, %c) : (f32, f32, f32) -> f32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %s, %py : f32, !llvm.ptr<1>
    %pz = llvm.getelementptr %z[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %f, %pz : f32, !llvm.ptr<1>
    gpu.return
  }
}
}
