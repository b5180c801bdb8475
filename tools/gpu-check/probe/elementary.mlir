// exp as on the CPU (compiler/Codegen/Rows/MathApprox.cpp), quotient and square
// root: one element per thread.
module attributes {gpu.container_module} {
gpu.module @kernels {
  gpu.func @exp(%x: !llvm.ptr<1>, %z: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %v1 = gpu.block_id x
    %v2 = arith.index_cast %v1 : index to i64
    %v3 = arith.constant 256 : i64
    %v4 = arith.muli %v2, %v3 : i64
    %v5 = gpu.thread_id x
    %v6 = arith.index_cast %v5 : index to i64
    %v7 = arith.addi %v4, %v6 : i64
    %v8 = arith.constant 4 : i64
    %v9 = arith.muli %v7, %v8 : i64
    %v10 = llvm.getelementptr %x[%v9] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v11 = llvm.load %v10 {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %v12 = llvm.getelementptr %z[%v9] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v13 = llvm.load %v12 {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %v14 = arith.constant -104.0 : f32
    %v15 = arith.cmpf olt, %v11, %v14 : f32
    %v16 = arith.select %v15, %v14, %v11 : f32
    %v17 = arith.constant 89.0 : f32
    %v18 = arith.cmpf ogt, %v16, %v17 : f32
    %v19 = arith.select %v18, %v17, %v16 : f32
    %v20 = arith.constant 12582912.0 : f32
    %v21 = arith.constant 1.4426950408889634 : f32
    %v22 = llvm.intr.fma(%v19, %v21, %v20) : (f32, f32, f32) -> f32
    %v23 = arith.bitcast %v22 : f32 to i32
    %v24 = arith.bitcast %v20 : f32 to i32
    %v25 = arith.subi %v23, %v24 : i32
    %v26 = arith.subf %v20, %v22 : f32
    %v27 = arith.constant 0.693359375 : f32
    %v28 = llvm.intr.fma(%v26, %v27, %v19) : (f32, f32, f32) -> f32
    %v29 = arith.constant -0.00021219444005469057 : f32
    %v30 = llvm.intr.fma(%v26, %v29, %v28) : (f32, f32, f32) -> f32
    %v31 = arith.constant 0.0001984126984126984 : f32
    %v32 = arith.constant 0.001388888888888889 : f32
    %v33 = llvm.intr.fma(%v31, %v30, %v32) : (f32, f32, f32) -> f32
    %v34 = arith.constant 0.008333333333333333 : f32
    %v35 = llvm.intr.fma(%v33, %v30, %v34) : (f32, f32, f32) -> f32
    %v36 = arith.constant 0.041666666666666664 : f32
    %v37 = llvm.intr.fma(%v35, %v30, %v36) : (f32, f32, f32) -> f32
    %v38 = arith.constant 0.16666666666666666 : f32
    %v39 = llvm.intr.fma(%v37, %v30, %v38) : (f32, f32, f32) -> f32
    %v40 = arith.constant 0.5 : f32
    %v41 = llvm.intr.fma(%v39, %v30, %v40) : (f32, f32, f32) -> f32
    %v42 = arith.constant 1.0 : f32
    %v43 = llvm.intr.fma(%v41, %v30, %v42) : (f32, f32, f32) -> f32
    %v44 = arith.constant 1.0 : f32
    %v45 = llvm.intr.fma(%v43, %v30, %v44) : (f32, f32, f32) -> f32
    %v46 = arith.constant 256 : i32
    %v47 = arith.addi %v25, %v46 : i32
    %v48 = arith.constant 1 : i32
    %v49 = arith.shrui %v47, %v48 : i32
    %v50 = arith.constant 128 : i32
    %v51 = arith.subi %v49, %v50 : i32
    %v52 = arith.constant 127 : i32
    %v53 = arith.addi %v51, %v52 : i32
    %v54 = arith.constant 23 : i32
    %v55 = arith.shli %v53, %v54 : i32
    %v56 = arith.bitcast %v55 : i32 to f32
    %v57 = arith.mulf %v45, %v56 : f32
    %v58 = arith.subi %v25, %v51 : i32
    %v59 = arith.constant 127 : i32
    %v60 = arith.addi %v58, %v59 : i32
    %v61 = arith.constant 23 : i32
    %v62 = arith.shli %v60, %v61 : i32
    %v63 = arith.bitcast %v62 : i32 to f32
    %v64 = arith.mulf %v57, %v63 : f32
    %v65 = llvm.getelementptr %y[%v9] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %v64, %v65 {alignment = 4 : i64} : f32, !llvm.ptr<1>
    gpu.return
  }
  gpu.func @quotient(%x: !llvm.ptr<1>, %z: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %v1 = gpu.block_id x
    %v2 = arith.index_cast %v1 : index to i64
    %v3 = arith.constant 256 : i64
    %v4 = arith.muli %v2, %v3 : i64
    %v5 = gpu.thread_id x
    %v6 = arith.index_cast %v5 : index to i64
    %v7 = arith.addi %v4, %v6 : i64
    %v8 = arith.constant 4 : i64
    %v9 = arith.muli %v7, %v8 : i64
    %v10 = llvm.getelementptr %x[%v9] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v11 = llvm.load %v10 {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %v12 = llvm.getelementptr %z[%v9] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v13 = llvm.load %v12 {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %v14 = arith.divf %v11, %v13 : f32
    %v15 = llvm.getelementptr %y[%v9] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %v14, %v15 {alignment = 4 : i64} : f32, !llvm.ptr<1>
    gpu.return
  }
  gpu.func @root(%x: !llvm.ptr<1>, %z: !llvm.ptr<1>, %y: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %v1 = gpu.block_id x
    %v2 = arith.index_cast %v1 : index to i64
    %v3 = arith.constant 256 : i64
    %v4 = arith.muli %v2, %v3 : i64
    %v5 = gpu.thread_id x
    %v6 = arith.index_cast %v5 : index to i64
    %v7 = arith.addi %v4, %v6 : i64
    %v8 = arith.constant 4 : i64
    %v9 = arith.muli %v7, %v8 : i64
    %v10 = llvm.getelementptr %x[%v9] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v11 = llvm.load %v10 {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %v12 = llvm.getelementptr %z[%v9] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v13 = llvm.load %v12 {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %v14 = llvm.call_intrinsic "llvm.sqrt.f32"(%v11) : (f32) -> f32
    %v15 = llvm.getelementptr %y[%v9] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %v14, %v15 {alignment = 4 : i64} : f32, !llvm.ptr<1>
    gpu.return
  }
}
}
