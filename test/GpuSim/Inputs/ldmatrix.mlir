// ldmatrix: each thread stores a row of 8 elements at its number times `stride`
// bytes, and the warp loads the rows as fragments.
module attributes {gpu.container_module} {
gpu.module @kernels {
  llvm.mlir.global internal @box() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<1024 x i8>

  gpu.func @x1(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %shift: i64) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %c16 = arith.constant 16 : i64
    %o = arith.muli %i, %c16 : i64
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %px = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v = llvm.load %px {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %ps = llvm.getelementptr %box[%o] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    llvm.store %v, %ps {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
    gpu.barrier
    %pr = llvm.getelementptr %ps[%shift] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %r = nvvm.ldmatrix %pr {num = 1 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32
    %c4 = arith.constant 4 : i64
    %q = arith.muli %i, %c4 : i64
    %py = llvm.getelementptr %y[%q] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %r, %py {alignment = 4 : i64} : i32, !llvm.ptr<1>
    gpu.return
  }

  gpu.func @x1_trans(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %shift: i64) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %c16 = arith.constant 16 : i64
    %o = arith.muli %i, %c16 : i64
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %px = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v = llvm.load %px {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %ps = llvm.getelementptr %box[%o] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    llvm.store %v, %ps {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
    gpu.barrier
    %pr = llvm.getelementptr %ps[%shift] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %r = nvvm.ldmatrix %pr {num = 1 : i32, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32
    %c4 = arith.constant 4 : i64
    %q = arith.muli %i, %c4 : i64
    %py = llvm.getelementptr %y[%q] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %r, %py {alignment = 4 : i64} : i32, !llvm.ptr<1>
    gpu.return
  }

  gpu.func @x2(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %shift: i64) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %c16 = arith.constant 16 : i64
    %o = arith.muli %i, %c16 : i64
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %px = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v = llvm.load %px {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %ps = llvm.getelementptr %box[%o] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    llvm.store %v, %ps {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
    gpu.barrier
    %pr = llvm.getelementptr %ps[%shift] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %r = nvvm.ldmatrix %pr {num = 2 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
    %c4 = arith.constant 8 : i64
    %q = arith.muli %i, %c4 : i64
    %py = llvm.getelementptr %y[%q] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %r, %py {alignment = 4 : i64} : !llvm.struct<(i32, i32)>, !llvm.ptr<1>
    gpu.return
  }

  gpu.func @x2_trans(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %shift: i64) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %c16 = arith.constant 16 : i64
    %o = arith.muli %i, %c16 : i64
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %px = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v = llvm.load %px {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %ps = llvm.getelementptr %box[%o] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    llvm.store %v, %ps {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
    gpu.barrier
    %pr = llvm.getelementptr %ps[%shift] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %r = nvvm.ldmatrix %pr {num = 2 : i32, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
    %c4 = arith.constant 8 : i64
    %q = arith.muli %i, %c4 : i64
    %py = llvm.getelementptr %y[%q] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %r, %py {alignment = 4 : i64} : !llvm.struct<(i32, i32)>, !llvm.ptr<1>
    gpu.return
  }

  gpu.func @x4(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %shift: i64) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %c16 = arith.constant 16 : i64
    %o = arith.muli %i, %c16 : i64
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %px = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v = llvm.load %px {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %ps = llvm.getelementptr %box[%o] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    llvm.store %v, %ps {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
    gpu.barrier
    %pr = llvm.getelementptr %ps[%shift] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %r = nvvm.ldmatrix %pr {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    %c4 = arith.constant 16 : i64
    %q = arith.muli %i, %c4 : i64
    %py = llvm.getelementptr %y[%q] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %r, %py {alignment = 4 : i64} : !llvm.struct<(i32, i32, i32, i32)>, !llvm.ptr<1>
    gpu.return
  }

  gpu.func @x4_trans(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %shift: i64) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %c16 = arith.constant 16 : i64
    %o = arith.muli %i, %c16 : i64
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %px = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v = llvm.load %px {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %ps = llvm.getelementptr %box[%o] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    llvm.store %v, %ps {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
    gpu.barrier
    %pr = llvm.getelementptr %ps[%shift] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %r = nvvm.ldmatrix %pr {num = 4 : i32, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    %c4 = arith.constant 16 : i64
    %q = arith.muli %i, %c4 : i64
    %py = llvm.getelementptr %y[%q] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %r, %py {alignment = 4 : i64} : !llvm.struct<(i32, i32, i32, i32)>, !llvm.ptr<1>
    gpu.return
  }

  gpu.func @no_barrier(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %shift: i64) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %c16 = arith.constant 16 : i64
    %o = arith.muli %i, %c16 : i64
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %px = llvm.getelementptr %x[%o] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %v = llvm.load %px {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %ps = llvm.getelementptr %box[%o] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    llvm.store %v, %ps {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
    %pr = llvm.getelementptr %ps[%shift] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %r = nvvm.ldmatrix %pr {num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    %c4 = arith.constant 16 : i64
    %q = arith.muli %i, %c4 : i64
    %py = llvm.getelementptr %y[%q] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    llvm.store %r, %py {alignment = 4 : i64} : !llvm.struct<(i32, i32, i32, i32)>, !llvm.ptr<1>
    gpu.return
  }
}
}
