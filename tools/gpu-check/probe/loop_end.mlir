// Counts up and tells whether a loop of a graph goes on. It has a module of its
// own, because the call leaves an undefined symbol in the cubin that the driver
// must resolve.
module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.func @cudaGraphSetConditional(i64, i32)
  gpu.func @loop_end(%handle: i64, %counter: !llvm.ptr<1>, %limit: i64) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %v1 = gpu.thread_id x
    %v2 = arith.index_cast %v1 : index to i64
    %v3 = arith.constant 0 : i64
    %v4 = arith.cmpi eq, %v2, %v3 : i64
    scf.if %v4 {
      %v5 = llvm.load %counter {alignment = 8 : i64} : !llvm.ptr<1> -> i64
      %v6 = arith.constant 1 : i64
      %v7 = arith.addi %v5, %v6 : i64
      llvm.store %v7, %counter {alignment = 8 : i64} : i64, !llvm.ptr<1>
      %v8 = arith.cmpi slt, %v7, %limit : i64
      %v9 = arith.extui %v8 : i1 to i32
      llvm.call @cudaGraphSetConditional(%handle, %v9) : (i64, i32) -> ()
    }
    gpu.return
  }
}
}
