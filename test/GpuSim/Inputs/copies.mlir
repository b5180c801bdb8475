// cp.async: 32 threads copy 16 bytes each into shared memory.
module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.mlir.global internal @box() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<1024 x i8>

  // Ends without waiting for its copy.
  gpu.func @left_over(%x: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %c16 = arith.constant 16 : i64
    %o = arith.muli %i, %c16 : i64
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %px = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %ps = llvm.getelementptr %box[%o] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    nvvm.cp.async.shared.global %ps, %px, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    gpu.return
  }

  // Waits, and then meets the other threads at a barrier.
  gpu.func @right(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %c16 = arith.constant 16 : i64
    %c31 = arith.constant 31 : i64
    %o = arith.muli %i, %c16 : i64
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %px = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %ps = llvm.getelementptr %box[%o] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    nvvm.cp.async.shared.global %ps, %px, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    gpu.barrier
    %k = arith.subi %c31, %i : i64
    %p = arith.muli %k, %c16 : i64
    %pr = llvm.getelementptr %box[%p] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %v = llvm.load %pr {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
    %py = llvm.getelementptr %y[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %v, %py {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  // Source bytes from `bytes` on are zero in shared memory.
  gpu.func @padded(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %bytes: i32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %c16 = arith.constant 16 : i64
    %c31 = arith.constant 31 : i64
    %o = arith.muli %i, %c16 : i64
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %px = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %ps = llvm.getelementptr %box[%o] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    nvvm.cp.async.shared.global %ps, %px, 16, cache = cg, %bytes : !llvm.ptr<3>, !llvm.ptr<1>, i32
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    gpu.barrier
    %k = arith.subi %c31, %i : i64
    %p = arith.muli %k, %c16 : i64
    %pr = llvm.getelementptr %box[%p] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %v = llvm.load %pr {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
    %py = llvm.getelementptr %y[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %v, %py {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  // Waits for the first of two groups, and uses that group only.
  gpu.func @first_of_two(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %c16 = arith.constant 16 : i64
    %c31 = arith.constant 31 : i64
    %o = arith.muli %i, %c16 : i64
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %px = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %ps = llvm.getelementptr %box[%o] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    nvvm.cp.async.shared.global %ps, %px, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    %px2 = llvm.getelementptr %px[512] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %ps2 = llvm.getelementptr %ps[512] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    nvvm.cp.async.shared.global %ps2, %px2, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 1
    gpu.barrier
    %k = arith.subi %c31, %i : i64
    %p = arith.muli %k, %c16 : i64
    %pr = llvm.getelementptr %box[%p] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %v = llvm.load %pr {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
    %py = llvm.getelementptr %y[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %v, %py {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    nvvm.cp.async.wait.group 0
    gpu.return
  }

  // Does not wait for the only group.
  gpu.func @too_few(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %c16 = arith.constant 16 : i64
    %c31 = arith.constant 31 : i64
    %o = arith.muli %i, %c16 : i64
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %px = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %ps = llvm.getelementptr %box[%o] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    nvvm.cp.async.shared.global %ps, %px, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 1
    gpu.barrier
    %k = arith.subi %c31, %i : i64
    %p = arith.muli %k, %c16 : i64
    %pr = llvm.getelementptr %box[%p] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %v = llvm.load %pr {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
    %py = llvm.getelementptr %y[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %v, %py {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  // Waits for its own copies, but not for the other threads.
  gpu.func @no_barrier(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %c16 = arith.constant 16 : i64
    %c31 = arith.constant 31 : i64
    %o = arith.muli %i, %c16 : i64
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %px = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %ps = llvm.getelementptr %box[%o] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    nvvm.cp.async.shared.global %ps, %px, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    %k = arith.subi %c31, %i : i64
    %p = arith.muli %k, %c16 : i64
    %pr = llvm.getelementptr %box[%p] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %v = llvm.load %pr {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
    %py = llvm.getelementptr %y[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %v, %py {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }
}
}
