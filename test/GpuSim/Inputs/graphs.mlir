// Kernels for nodes of graphs.
module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.func @cudaGraphSetConditional(i64, i32)

  // y[i] = x[i] + c
  gpu.func @add(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %c: i32) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %v = llvm.load %px : !llvm.ptr<1> -> i32
    %s = arith.addi %v, %c : i32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %s, %py : i32, !llvm.ptr<1>
    gpu.return
  }

  // y[i] = x[i] + w[i]: w is loaded before the wait, x after it.
  gpu.func @prefetch(%w: !llvm.ptr<1>, %x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %pw = llvm.getelementptr %w[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %v = llvm.load %pw : !llvm.ptr<1> -> i32
    nvvm.griddepcontrol wait
    nvvm.griddepcontrol launch_dependents
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %u = llvm.load %px : !llvm.ptr<1> -> i32
    %s = arith.addi %u, %v : i32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %s, %py : i32, !llvm.ptr<1>
    gpu.return
  }

  // prefetch over blocks, with a barrier on each side of the wait.
  gpu.func @prefetch_blocks(%w: !llvm.ptr<1>, %x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel {
    %tid = gpu.thread_id x
    %bid = gpu.block_id x
    %size = gpu.block_dim x
    %base = arith.muli %bid, %size : index
    %at = arith.addi %base, %tid : index
    %i = arith.index_cast %at : index to i64
    %pw = llvm.getelementptr %w[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %v = llvm.load %pw : !llvm.ptr<1> -> i32
    gpu.barrier
    nvvm.griddepcontrol wait
    gpu.barrier
    %px = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %u = llvm.load %px : !llvm.ptr<1> -> i32
    %s = arith.addi %u, %v : i32
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %s, %py : i32, !llvm.ptr<1>
    gpu.return
  }

  // Reads, and never waits.
  gpu.func @never_waits(%x: !llvm.ptr<1>) kernel {
    %v = llvm.load volatile %x : !llvm.ptr<1> -> i32
    gpu.return
  }

  // Stores before its wait.
  gpu.func @store_early(%y: !llvm.ptr<1>) kernel {
    %one = arith.constant 1 : i32
    llvm.store %one, %y : i32, !llvm.ptr<1>
    nvvm.griddepcontrol wait
    gpu.return
  }

  // Adds 1 to a counter and continues the loop while it is below the limit.
  gpu.func @step(%c: !llvm.ptr<1>, %handle: i64, %limit: i32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %zero = arith.constant 0 : index
    %first = arith.cmpi eq, %tid, %zero : index
    scf.if %first {
      %v = llvm.load %c : !llvm.ptr<1> -> i32
      %one = arith.constant 1 : i32
      %n = arith.addi %v, %one : i32
      llvm.store %n, %c : i32, !llvm.ptr<1>
      %less = arith.cmpi slt, %n, %limit : i32
      %go = arith.extui %less : i1 to i32
      llvm.call @cudaGraphSetConditional(%handle, %go) : (i64, i32) -> ()
    }
    gpu.return
  }
}
}
