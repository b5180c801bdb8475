// Kernels that race, and similar kernels that do not.
module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.mlir.global internal @box() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<1024 x i8>

  // box[tid] = 0, and a barrier; box[tid] = tid; then, by `sync`: 1 a barrier
  // of the block, 2 a barrier of the warp, 3 a barrier of each half of a warp;
  // at last y[tid] = box[tid ^ distance].
  gpu.func @exchange(%y: !llvm.ptr<1>, %sync: i32, %distance: i64) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %v = arith.trunci %i : i64 to i32
    %nothing = arith.constant 0 : i32
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %ps = llvm.getelementptr %box[%i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i32
    llvm.store %nothing, %ps : i32, !llvm.ptr<3>
    gpu.barrier
    llvm.store %v, %ps : i32, !llvm.ptr<3>
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %full = arith.constant -1 : i32
    %is1 = arith.cmpi eq, %sync, %one : i32
    scf.if %is1 {
      gpu.barrier
    }
    %is2 = arith.cmpi eq, %sync, %two : i32
    scf.if %is2 {
      nvvm.bar.warp.sync %full : i32
    }
    %three = arith.constant 3 : i32
    %is3 = arith.cmpi eq, %sync, %three : i32
    scf.if %is3 {
      %sixteen = arith.constant 16 : i32
      %low = arith.constant 0xffff : i32
      %half = arith.andi %v, %sixteen : i32
      %mask = arith.shli %low, %half : i32
      nvvm.bar.warp.sync %mask : i32
    }
    %j = arith.xori %i, %distance : i64
    %pr = llvm.getelementptr %box[%j] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i32
    %r = llvm.load %pr : !llvm.ptr<3> -> i32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %r, %py : i32, !llvm.ptr<1>
    gpu.return
  }

  // Each thread writes a byte of shared memory at `stride` * tid. Neighbours in
  // one word do not race, threads with one byte do.
  gpu.func @bytes(%stride: i64) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %v = arith.trunci %i : i64 to i8
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %o = arith.muli %i, %stride : i64
    %ps = llvm.getelementptr %box[%o] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    llvm.store %v, %ps : i8, !llvm.ptr<3>
    gpu.return
  }

  // All threads read box[0], which thread 0 wrote before a barrier. Thread
  // `writer` writes it again, after another barrier if `sync` is 1.
  gpu.func @reuse(%y: !llvm.ptr<1>, %sync: i32, %writer: i64) kernel {
    %tid = gpu.thread_id x
    %zero = arith.constant 0 : i64
    %i = arith.index_cast %tid : index to i64
    %v = arith.constant 3 : i32
    %one = arith.constant 1 : i32
    %first = arith.cmpi eq, %i, %zero : i64
    %again = arith.cmpi eq, %i, %writer : i64
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    scf.if %first {
      llvm.store %v, %box : i32, !llvm.ptr<3>
    }
    gpu.barrier
    %r = llvm.load %box : !llvm.ptr<3> -> i32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %r, %py : i32, !llvm.ptr<1>
    %is1 = arith.cmpi eq, %sync, %one : i32
    scf.if %is1 {
      gpu.barrier
    }
    scf.if %again {
      llvm.store %one, %box : i32, !llvm.ptr<3>
    }
    gpu.return
  }

  // y[block * step] = block, four bytes: blocks race if step is 0.
  gpu.func @blocks_write(%y: !llvm.ptr<1>, %step: i64) kernel {
    %bid = gpu.block_id x
    %b = arith.index_cast %bid : index to i64
    %v = arith.trunci %b : i64 to i32
    %o = arith.muli %b, %step : i64
    %py = llvm.getelementptr %y[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %v, %py {alignment = 1 : i64} : i32, !llvm.ptr<1>
    gpu.return
  }

  // Block b writes y[b] and reads y[(b + shift) mod 4].
  gpu.func @blocks_read(%y: !llvm.ptr<1>, %shift: i64) kernel {
    %bid = gpu.block_id x
    %b = arith.index_cast %bid : index to i64
    %v = arith.trunci %b : i64 to i32
    %three = arith.constant 3 : i64
    %s = arith.addi %b, %shift : i64
    %j = arith.andi %s, %three : i64
    %pr = llvm.getelementptr %y[%j] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %r = llvm.load %pr : !llvm.ptr<1> -> i32
    %t = arith.addi %r, %v : i32
    %py = llvm.getelementptr %y[%b] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %t, %py : i32, !llvm.ptr<1>
    gpu.return
  }

  // All threads of all blocks add to y. Then the last thread of block 0 stores
  // to it, if `store` is 1.
  gpu.func @atomics(%y: !llvm.ptr<1>, %store: i32) kernel {
    %tid = gpu.thread_id x
    %bid = gpu.block_id x
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %old = llvm.atomicrmw add %y, %one monotonic : !llvm.ptr<1>, i32
    %sum = arith.addi %tid, %bid : index
    %first = arith.cmpi eq, %sum, %zero : index
    %is1 = arith.cmpi eq, %store, %one : i32
    %both = arith.andi %first, %is1 : i1
    scf.if %both {
      llvm.store %one, %y : i32, !llvm.ptr<1>
    }
    gpu.return
  }
}
}
