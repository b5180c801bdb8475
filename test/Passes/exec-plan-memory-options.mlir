// RUN: not mtp-opt %s --exec-plan-memory=alignment=0 2>&1 | FileCheck %s
// RUN: not mtp-opt %s --exec-plan-memory=alignment=48 2>&1 | FileCheck %s

// CHECK: error: expected a power of two for the option alignment, got {{0|48}}
exec.state @a : memref<4xi32>
