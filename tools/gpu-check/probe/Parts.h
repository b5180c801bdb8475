//===- Parts.h - What can be asked ------------------------------*- C++ -*-===//

#ifndef MTP_GPU_CHECK_PARTS_H
#define MTP_GPU_CHECK_PARTS_H

namespace mtp::gpu_check {

/// The device, its driver, and the rates that shares are counted from.
void runBandwidth();
/// What the driver loads: cubins and PTX that call cudaGraphSetConditional.
void runLoad();
/// What a node, an iteration, a launch and a barrier cost.
void runEdges();
/// Whether programmatic edges keep a chain in order.
void runOrder();
/// Building graphs: loops inside loops, updates, capture, time and memory.
void runGraphs();
/// Bits: one mma, products at several widths, exp, quotient and root.
void runNumbers();
/// Skinny products alone and in chains.
void runProducts();
/// The products of whole models in a row, as chains and as one kernel.
void runModels();
/// Decode attention over pages: bits, and shares of the copy.
void runAttention();
/// cuBLASLt's best algorithm for the same products.
void runCublasLt();

} // namespace mtp::gpu_check

#endif // MTP_GPU_CHECK_PARTS_H
