// Errors of the simulator's compiler for unsupported input.
// REQUIRES: compiler
// RUN: split-file %s %t
// RUN: not mtp_gpu_compile %t/function.mlir --chip=sim -o %t.so 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not mtp_gpu_compile %t/asm.mlir --chip=sim -o %t.so 2>&1 | FileCheck %s --check-prefix=ASM
// RUN: not mtp_gpu_compile %t/intrinsic.mlir --chip=sim -o %t.so 2>&1 | FileCheck %s --check-prefix=INTRINSIC
// RUN: not mtp_gpu_compile %t/two.mlir --chip=sim -o %t.so 2>&1 | FileCheck %s --check-prefix=TWO

// An image exports one symbol and imports no symbol of the simulator.
// RUN: mtp_gpu_compile %S/Inputs/collectives.mlir --chip=sim -o %t.so
// RUN: llvm-readelf --dyn-symbols %t.so | FileCheck %s --check-prefix=SYMBOLS
// SYMBOLS-NOT: UND {{[^ ]}}
// SYMBOLS: mtp_sim_image

//--- function.mlir
// FUNCTION: expected shared variable 'box' in kernels alone, got it in function 'help'
gpu.module @kernels {
  llvm.mlir.global internal @box() {addr_space = 3 : i32} : !llvm.array<4 x i8>
  llvm.func @help() -> i8 {
    %p = llvm.mlir.addressof @box : !llvm.ptr<3>
    %v = llvm.load %p : !llvm.ptr<3> -> i8
    llvm.return %v : i8
  }
  gpu.func @k() kernel { gpu.return }
}

//--- asm.mlir
// ASM: expected only calls that gpu-sim knows in 'k', got PTX as text
gpu.module @kernels {
  gpu.func @k() kernel {
    llvm.inline_asm has_side_effects "membar.gl;", "" : () -> ()
    gpu.return
  }
}

//--- intrinsic.mlir
// INTRINSIC: expected only calls that gpu-sim knows in 'k', got 'llvm.nvvm.nanosleep'
gpu.module @kernels {
  gpu.func @k(%ns: i32) kernel {
    llvm.call_intrinsic "llvm.nvvm.nanosleep"(%ns) : (i32) -> ()
    gpu.return
  }
}

//--- two.mlir
// TWO: expected one gpu.module
gpu.module @a { gpu.func @k() kernel { gpu.return } }
gpu.module @b { gpu.func @k() kernel { gpu.return } }
