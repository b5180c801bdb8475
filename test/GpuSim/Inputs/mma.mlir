// mma.sync: each thread loads its registers of A (4), B (2) and C (4), and
// stores its registers of D.
module attributes {gpu.container_module} {
gpu.module @kernels {
  gpu.func @bf16(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %d: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    %va = llvm.load %pa {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %pb = llvm.getelementptr %b[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<2xi32>
    %vb = llvm.load %pb {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xi32>
    %pc = llvm.getelementptr %c[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xf32>
    %vc = llvm.load %pc {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %a0, %a1, %a2, %a3 = vector.to_elements %va : vector<4xi32>
    %b0, %b1 = vector.to_elements %vb : vector<2xi32>
    %c0, %c1, %c2, %c3 = vector.to_elements %vc : vector<4xf32>
    %r = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%c0, %c1, %c2, %c3]
      {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
       multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>,
       shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %d0 = llvm.extractvalue %r[0] : !llvm.struct<(f32, f32, f32, f32)>
    %d1 = llvm.extractvalue %r[1] : !llvm.struct<(f32, f32, f32, f32)>
    %d2 = llvm.extractvalue %r[2] : !llvm.struct<(f32, f32, f32, f32)>
    %d3 = llvm.extractvalue %r[3] : !llvm.struct<(f32, f32, f32, f32)>
    %vd = vector.from_elements %d0, %d1, %d2, %d3 : vector<4xf32>
    %pd = llvm.getelementptr %d[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xf32>
    llvm.store %vd, %pd {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }

  gpu.func @f16(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %d: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    %va = llvm.load %pa {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %pb = llvm.getelementptr %b[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<2xi32>
    %vb = llvm.load %pb {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xi32>
    %pc = llvm.getelementptr %c[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xf32>
    %vc = llvm.load %pc {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %a0, %a1, %a2, %a3 = vector.to_elements %va : vector<4xi32>
    %b0, %b1 = vector.to_elements %vb : vector<2xi32>
    %c0, %c1, %c2, %c3 = vector.to_elements %vc : vector<4xf32>
    %ha0 = llvm.bitcast %a0 : i32 to vector<2xf16>
    %ha1 = llvm.bitcast %a1 : i32 to vector<2xf16>
    %ha2 = llvm.bitcast %a2 : i32 to vector<2xf16>
    %ha3 = llvm.bitcast %a3 : i32 to vector<2xf16>
    %hb0 = llvm.bitcast %b0 : i32 to vector<2xf16>
    %hb1 = llvm.bitcast %b1 : i32 to vector<2xf16>
    %r = nvvm.mma.sync A[%ha0, %ha1, %ha2, %ha3] B[%hb0, %hb1] C[%c0, %c1, %c2, %c3]
      {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
       shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %d0 = llvm.extractvalue %r[0] : !llvm.struct<(f32, f32, f32, f32)>
    %d1 = llvm.extractvalue %r[1] : !llvm.struct<(f32, f32, f32, f32)>
    %d2 = llvm.extractvalue %r[2] : !llvm.struct<(f32, f32, f32, f32)>
    %d3 = llvm.extractvalue %r[3] : !llvm.struct<(f32, f32, f32, f32)>
    %vd = vector.from_elements %d0, %d1, %d2, %d3 : vector<4xf32>
    %pd = llvm.getelementptr %d[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xf32>
    llvm.store %vd, %pd {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }

  gpu.func @s8_s8(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %d: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    %va = llvm.load %pa {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %pb = llvm.getelementptr %b[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<2xi32>
    %vb = llvm.load %pb {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xi32>
    %pc = llvm.getelementptr %c[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    %vc = llvm.load %pc {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %a0, %a1, %a2, %a3 = vector.to_elements %va : vector<4xi32>
    %b0, %b1 = vector.to_elements %vb : vector<2xi32>
    %c0, %c1, %c2, %c3 = vector.to_elements %vc : vector<4xi32>
    %r = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%c0, %c1, %c2, %c3]
      {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
       intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>,
       multiplicandAPtxType = #nvvm.mma_type<s8>, multiplicandBPtxType = #nvvm.mma_type<s8>,
       shape = #nvvm.shape<m = 16, n = 8, k = 32>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
    %d0 = llvm.extractvalue %r[0] : !llvm.struct<(i32, i32, i32, i32)>
    %d1 = llvm.extractvalue %r[1] : !llvm.struct<(i32, i32, i32, i32)>
    %d2 = llvm.extractvalue %r[2] : !llvm.struct<(i32, i32, i32, i32)>
    %d3 = llvm.extractvalue %r[3] : !llvm.struct<(i32, i32, i32, i32)>
    %vd = vector.from_elements %d0, %d1, %d2, %d3 : vector<4xi32>
    %pd = llvm.getelementptr %d[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    llvm.store %vd, %pd {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  gpu.func @s8_u8(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %d: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    %va = llvm.load %pa {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %pb = llvm.getelementptr %b[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<2xi32>
    %vb = llvm.load %pb {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xi32>
    %pc = llvm.getelementptr %c[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    %vc = llvm.load %pc {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %a0, %a1, %a2, %a3 = vector.to_elements %va : vector<4xi32>
    %b0, %b1 = vector.to_elements %vb : vector<2xi32>
    %c0, %c1, %c2, %c3 = vector.to_elements %vc : vector<4xi32>
    %r = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%c0, %c1, %c2, %c3]
      {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
       intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>,
       multiplicandAPtxType = #nvvm.mma_type<s8>, multiplicandBPtxType = #nvvm.mma_type<u8>,
       shape = #nvvm.shape<m = 16, n = 8, k = 32>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
    %d0 = llvm.extractvalue %r[0] : !llvm.struct<(i32, i32, i32, i32)>
    %d1 = llvm.extractvalue %r[1] : !llvm.struct<(i32, i32, i32, i32)>
    %d2 = llvm.extractvalue %r[2] : !llvm.struct<(i32, i32, i32, i32)>
    %d3 = llvm.extractvalue %r[3] : !llvm.struct<(i32, i32, i32, i32)>
    %vd = vector.from_elements %d0, %d1, %d2, %d3 : vector<4xi32>
    %pd = llvm.getelementptr %d[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    llvm.store %vd, %pd {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  gpu.func @u8_s8(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %d: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    %va = llvm.load %pa {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %pb = llvm.getelementptr %b[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<2xi32>
    %vb = llvm.load %pb {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xi32>
    %pc = llvm.getelementptr %c[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    %vc = llvm.load %pc {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %a0, %a1, %a2, %a3 = vector.to_elements %va : vector<4xi32>
    %b0, %b1 = vector.to_elements %vb : vector<2xi32>
    %c0, %c1, %c2, %c3 = vector.to_elements %vc : vector<4xi32>
    %r = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%c0, %c1, %c2, %c3]
      {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
       intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>,
       multiplicandAPtxType = #nvvm.mma_type<u8>, multiplicandBPtxType = #nvvm.mma_type<s8>,
       shape = #nvvm.shape<m = 16, n = 8, k = 32>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
    %d0 = llvm.extractvalue %r[0] : !llvm.struct<(i32, i32, i32, i32)>
    %d1 = llvm.extractvalue %r[1] : !llvm.struct<(i32, i32, i32, i32)>
    %d2 = llvm.extractvalue %r[2] : !llvm.struct<(i32, i32, i32, i32)>
    %d3 = llvm.extractvalue %r[3] : !llvm.struct<(i32, i32, i32, i32)>
    %vd = vector.from_elements %d0, %d1, %d2, %d3 : vector<4xi32>
    %pd = llvm.getelementptr %d[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    llvm.store %vd, %pd {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  gpu.func @u8_u8(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %d: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    %va = llvm.load %pa {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %pb = llvm.getelementptr %b[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<2xi32>
    %vb = llvm.load %pb {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xi32>
    %pc = llvm.getelementptr %c[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    %vc = llvm.load %pc {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %a0, %a1, %a2, %a3 = vector.to_elements %va : vector<4xi32>
    %b0, %b1 = vector.to_elements %vb : vector<2xi32>
    %c0, %c1, %c2, %c3 = vector.to_elements %vc : vector<4xi32>
    %r = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%c0, %c1, %c2, %c3]
      {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
       intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>,
       multiplicandAPtxType = #nvvm.mma_type<u8>, multiplicandBPtxType = #nvvm.mma_type<u8>,
       shape = #nvvm.shape<m = 16, n = 8, k = 32>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
    %d0 = llvm.extractvalue %r[0] : !llvm.struct<(i32, i32, i32, i32)>
    %d1 = llvm.extractvalue %r[1] : !llvm.struct<(i32, i32, i32, i32)>
    %d2 = llvm.extractvalue %r[2] : !llvm.struct<(i32, i32, i32, i32)>
    %d3 = llvm.extractvalue %r[3] : !llvm.struct<(i32, i32, i32, i32)>
    %vd = vector.from_elements %d0, %d1, %d2, %d3 : vector<4xi32>
    %pd = llvm.getelementptr %d[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    llvm.store %vd, %pd {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  gpu.func @s8_satfinite(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %d: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    %va = llvm.load %pa {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %pb = llvm.getelementptr %b[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<2xi32>
    %vb = llvm.load %pb {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xi32>
    %pc = llvm.getelementptr %c[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    %vc = llvm.load %pc {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %a0, %a1, %a2, %a3 = vector.to_elements %va : vector<4xi32>
    %b0, %b1 = vector.to_elements %vb : vector<2xi32>
    %c0, %c1, %c2, %c3 = vector.to_elements %vc : vector<4xi32>
    %r = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%c0, %c1, %c2, %c3]
      {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
       intOverflowBehavior = #nvvm.mma_int_overflow<satfinite>,
       multiplicandAPtxType = #nvvm.mma_type<s8>, multiplicandBPtxType = #nvvm.mma_type<s8>,
       shape = #nvvm.shape<m = 16, n = 8, k = 32>} : (i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
    %d0 = llvm.extractvalue %r[0] : !llvm.struct<(i32, i32, i32, i32)>
    %d1 = llvm.extractvalue %r[1] : !llvm.struct<(i32, i32, i32, i32)>
    %d2 = llvm.extractvalue %r[2] : !llvm.struct<(i32, i32, i32, i32)>
    %d3 = llvm.extractvalue %r[3] : !llvm.struct<(i32, i32, i32, i32)>
    %vd = vector.from_elements %d0, %d1, %d2, %d3 : vector<4xi32>
    %pd = llvm.getelementptr %d[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, vector<4xi32>
    llvm.store %vd, %pd {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    gpu.return
  }

  // The dot product of four signed bytes, added to c, in each thread.
  gpu.func @dot_bytes(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %d: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %va = llvm.load %pa : !llvm.ptr<1> -> i32
    %pb = llvm.getelementptr %b[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %vb = llvm.load %pb : !llvm.ptr<1> -> i32
    %pc = llvm.getelementptr %c[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %vc = llvm.load %pc : !llvm.ptr<1> -> i32
    %r = llvm.call_intrinsic "llvm.nvvm.idp4a.s.s"(%va, %vb, %vc) : (i32, i32, i32) -> i32
    %pd = llvm.getelementptr %d[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %r, %pd : i32, !llvm.ptr<1>
    gpu.return
  }

  // The dot product of four unsigned bytes with four signed bytes, added to c, in each thread.
  gpu.func @dot_unsigned(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %d: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %va = llvm.load %pa : !llvm.ptr<1> -> i32
    %pb = llvm.getelementptr %b[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %vb = llvm.load %pb : !llvm.ptr<1> -> i32
    %pc = llvm.getelementptr %c[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %vc = llvm.load %pc : !llvm.ptr<1> -> i32
    %r = llvm.call_intrinsic "llvm.nvvm.idp4a.u.s"(%va, %vb, %vc) : (i32, i32, i32) -> i32
    %pd = llvm.getelementptr %d[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %r, %pd : i32, !llvm.ptr<1>
    gpu.return
  }

  // The bytes of a and b that the numbers in c pick.
  gpu.func @permute(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>, %d: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %i = arith.index_cast %tid : index to i64
    %pa = llvm.getelementptr %a[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %va = llvm.load %pa : !llvm.ptr<1> -> i32
    %pb = llvm.getelementptr %b[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %vb = llvm.load %pb : !llvm.ptr<1> -> i32
    %pc = llvm.getelementptr %c[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    %vc = llvm.load %pc : !llvm.ptr<1> -> i32
    %r = llvm.call_intrinsic "llvm.nvvm.prmt"(%va, %vb, %vc) : (i32, i32, i32) -> i32
    %pd = llvm.getelementptr %d[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %r, %pd : i32, !llvm.ptr<1>
    gpu.return
  }
}
}
