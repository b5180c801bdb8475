// Kernels for barriers and for collectives of a warp.
module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.mlir.global internal @box() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<512 x i8>

  // Reverses the block's values through shared memory.
  gpu.func @reverse(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel {
    %tid = gpu.thread_id x
    %size = gpu.block_dim x
    %one = arith.constant 1 : index
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %i = arith.index_cast %tid : index to i64
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %v = llvm.load %px : !llvm.ptr<1> -> i32
    %ps = llvm.getelementptr %box[%i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i32
    llvm.store %v, %ps : i32, !llvm.ptr<3>
    gpu.barrier
    %last = arith.subi %size, %one : index
    %from = arith.subi %last, %tid : index
    %j = arith.index_cast %from : index to i64
    %pr = llvm.getelementptr %box[%j] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i32
    %r = llvm.load %pr : !llvm.ptr<3> -> i32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %r, %py : i32, !llvm.ptr<1>
    gpu.return
  }

  // Threads below `limit` come to the barrier, the others end.
  gpu.func @some_at_barrier(%limit: i64) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %inside = arith.cmpi ult, %i, %limit : i64
    scf.if %inside {
      gpu.barrier
    }
    gpu.return
  }

  // Threads below `limit` are at a barrier, the others in a shuffle.
  gpu.func @barrier_or_shuffle(%y: !llvm.ptr<1>, %limit: i64) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %inside = arith.cmpi ult, %i, %limit : i64
    %one = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    scf.if %inside {
      gpu.barrier
    } else {
      %s, %ok = gpu.shuffle xor %one, %one, %width : i32
      %p = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
      llvm.store %s, %p : i32, !llvm.ptr<1>
    }
    gpu.return
  }

  // Threads below `limit` are at barrier 1, the others at barrier 2.
  gpu.func @two_barriers(%limit: i64) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %inside = arith.cmpi ult, %i, %limit : i64
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    scf.if %inside {
      nvvm.barrier id = %one
    } else {
      nvvm.barrier id = %two
    }
    gpu.return
  }

  // Shuffles up, down, xor and idx by `offset`, in segments of `width`. Stores
  // values and whether the lane was inside: 8 words of a thread.
  gpu.func @shuffles(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %offset: i32, %width: i32) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %v = llvm.load %px : !llvm.ptr<1> -> i32
    %u, %uk = gpu.shuffle up %v, %offset, %width : i32
    %d, %dk = gpu.shuffle down %v, %offset, %width : i32
    %b, %bk = gpu.shuffle xor %v, %offset, %width : i32
    %n, %nk = gpu.shuffle idx %v, %offset, %width : i32
    %u1 = arith.extui %uk : i1 to i32
    %d1 = arith.extui %dk : i1 to i32
    %b1 = arith.extui %bk : i1 to i32
    %n1 = arith.extui %nk : i1 to i32
    %eight = arith.constant 8 : i64
    %o = arith.muli %i, %eight : i64
    %py = llvm.getelementptr %y[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %all = vector.from_elements %u, %u1, %d, %d1, %b, %b1, %n, %n1 : vector<8xi32>
    llvm.store %all, %py {alignment = 32 : i64} : vector<8xi32>, !llvm.ptr<1>
    gpu.return
  }

  // Shuffles up, down, xor and idx with the caller's clamp: 4 words.
  gpu.func @segments(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %offset: i32, %up: i32, %clamp: i32) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %v = llvm.load %px : !llvm.ptr<1> -> i32
    %full = arith.constant -1 : i32
    %a = llvm.call_intrinsic "llvm.nvvm.shfl.sync.up.i32"(%full, %v, %offset, %up) : (i32, i32, i32, i32) -> i32
    %b = llvm.call_intrinsic "llvm.nvvm.shfl.sync.down.i32"(%full, %v, %offset, %clamp) : (i32, i32, i32, i32) -> i32
    %c = llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.i32"(%full, %v, %offset, %clamp) : (i32, i32, i32, i32) -> i32
    %d = llvm.call_intrinsic "llvm.nvvm.shfl.sync.idx.i32"(%full, %v, %offset, %clamp) : (i32, i32, i32, i32) -> i32
    %four = arith.constant 4 : i64
    %o = arith.muli %i, %four : i64
    %py = llvm.getelementptr %y[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %r = vector.from_elements %a, %b, %c, %d : vector<4xi32>
    llvm.store %r, %py {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  // A shuffle of floats without the predicate.
  gpu.func @sum_of_warp(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %v = llvm.load %px : !llvm.ptr<1> -> f32
    %width = arith.constant 32 : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c5 = arith.constant 5 : i32
    %sum = scf.for %k = %c0 to %c5 step %c1 iter_args(%s = %v) -> (f32) : i32 {
      %distance = arith.shli %c1, %k : i32
      %other, %ok = gpu.shuffle xor %s, %distance, %width : f32
      %t = arith.addf %s, %other : f32
      scf.yield %t : f32
    }
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %sum, %py : f32, !llvm.ptr<1>
    gpu.return
  }

  // The lanes of each warp half shuffle among themselves.
  gpu.func @halves(%y: !llvm.ptr<1>, %low: i32, %high: i32, %distance: i32) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %lane = arith.trunci %i : i64 to i32
    %c16 = arith.constant 16 : i64
    %inside = arith.cmpi ult, %i, %c16 : i64
    %clamp = arith.constant 31 : i32
    %mask = arith.select %inside, %low, %high : i32
    %r = llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.i32"(%mask, %lane, %distance, %clamp) : (i32, i32, i32, i32) -> i32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %r, %py : i32, !llvm.ptr<1>
    gpu.return
  }

  // Stores all, any, uni and ballot of x != 0: 4 words of a thread.
  gpu.func @votes(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %v = llvm.load %px : !llvm.ptr<1> -> i32
    %zero = arith.constant 0 : i32
    %yes = arith.cmpi ne, %v, %zero : i32
    %full = arith.constant -1 : i32
    %all = llvm.call_intrinsic "llvm.nvvm.vote.all.sync"(%full, %yes) : (i32, i1) -> i1
    %any = llvm.call_intrinsic "llvm.nvvm.vote.any.sync"(%full, %yes) : (i32, i1) -> i1
    %uni = llvm.call_intrinsic "llvm.nvvm.vote.uni.sync"(%full, %yes) : (i32, i1) -> i1
    %ballot = llvm.call_intrinsic "llvm.nvvm.vote.ballot.sync"(%full, %yes) : (i32, i1) -> i32
    %a = arith.extui %all : i1 to i32
    %b = arith.extui %any : i1 to i32
    %c = arith.extui %uni : i1 to i32
    %four = arith.constant 4 : i64
    %o = arith.muli %i, %four : i64
    %py = llvm.getelementptr %y[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %r = vector.from_elements %a, %b, %c, %ballot : vector<4xi32>
    llvm.store %r, %py {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  // Stores add, min, max, umin, umax, and, or, xor: 8 words of a thread.
  gpu.func @redux(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %v = llvm.load %px : !llvm.ptr<1> -> i32
    %full = arith.constant -1 : i32
    %a = llvm.call_intrinsic "llvm.nvvm.redux.sync.add"(%v, %full) : (i32, i32) -> i32
    %b = llvm.call_intrinsic "llvm.nvvm.redux.sync.min"(%v, %full) : (i32, i32) -> i32
    %c = llvm.call_intrinsic "llvm.nvvm.redux.sync.max"(%v, %full) : (i32, i32) -> i32
    %d = llvm.call_intrinsic "llvm.nvvm.redux.sync.umin"(%v, %full) : (i32, i32) -> i32
    %e = llvm.call_intrinsic "llvm.nvvm.redux.sync.umax"(%v, %full) : (i32, i32) -> i32
    %f = llvm.call_intrinsic "llvm.nvvm.redux.sync.and"(%v, %full) : (i32, i32) -> i32
    %g = llvm.call_intrinsic "llvm.nvvm.redux.sync.or"(%v, %full) : (i32, i32) -> i32
    %h = llvm.call_intrinsic "llvm.nvvm.redux.sync.xor"(%v, %full) : (i32, i32) -> i32
    %eight = arith.constant 8 : i64
    %o = arith.muli %i, %eight : i64
    %py = llvm.getelementptr %y[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %r = vector.from_elements %a, %b, %c, %d, %e, %f, %g, %h : vector<8xi32>
    llvm.store %r, %py {alignment = 32 : i64} : vector<8xi32>, !llvm.ptr<1>
    gpu.return
  }
}
}
