// Kernels for the count of loads that wait for each other. All have one thread,
// except the last.
module attributes {gpu.container_module} {
gpu.module @kernels {
  // Each address is the result of the previous load.
  gpu.func @chain(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel {
    %a = llvm.load %x : !llvm.ptr<1> -> i32
    %pa = llvm.getelementptr %x[%a] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %b = llvm.load %pa : !llvm.ptr<1> -> i32
    %pb = llvm.getelementptr %x[%b] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %c = llvm.load %pb : !llvm.ptr<1> -> i32
    llvm.store %c, %y : i32, !llvm.ptr<1>
    gpu.return
  }

  // No load is used before the last one is in flight.
  gpu.func @together(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel {
    %p1 = llvm.getelementptr %x[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    %p2 = llvm.getelementptr %x[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    %a = llvm.load %x : !llvm.ptr<1> -> i32
    %b = llvm.load %p1 : !llvm.ptr<1> -> i32
    %c = llvm.load %p2 : !llvm.ptr<1> -> i32
    %ab = arith.addi %a, %b : i32
    %abc = arith.addi %ab, %c : i32
    llvm.store %abc, %y : i32, !llvm.ptr<1>
    gpu.return
  }

  // The first two loads are used before the third.
  gpu.func @used_between(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel {
    %p1 = llvm.getelementptr %x[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    %p2 = llvm.getelementptr %x[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    %a = llvm.load %x : !llvm.ptr<1> -> i32
    %b = llvm.load %p1 : !llvm.ptr<1> -> i32
    %ab = arith.addi %a, %b : i32
    %c = llvm.load %p2 : !llvm.ptr<1> -> i32
    %abc = arith.addi %ab, %c : i32
    llvm.store %abc, %y : i32, !llvm.ptr<1>
    gpu.return
  }

  // Thread i loads i times in a loop, and uses the value in each turn.
  gpu.func @turns(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %sum = scf.for %j = %c0 to %tid step %c1 iter_args(%s = %zero) -> (i32) {
      %a = llvm.load %x : !llvm.ptr<1> -> i32
      %t = arith.addi %s, %a : i32
      scf.yield %t : i32
    }
    %py = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %sum, %py : i32, !llvm.ptr<1>
    gpu.return
  }
}
}
