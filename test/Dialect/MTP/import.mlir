// The reader of a file resolves its imports, except for standard input.
// RUN: mtp-opt --verify-roundtrip < %s | FileCheck %s

// CHECK: mtp.import "drafters/eagle.mlir" [@step, @keep]
mtp.import "drafters/eagle.mlir" [@step, @keep]
// CHECK: mtp.import "<lookup.mlir>" [@lookup]
mtp.import "<lookup.mlir>" [@lookup]
