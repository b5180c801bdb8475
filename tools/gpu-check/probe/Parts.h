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
/// Whether what one kernel writes to the host's memory is there when a later
/// one says so.
void runRing();
/// What kernels with different shared memory cost in a chain.
void runCarveout();
/// Building graphs: loops inside loops, updates, capture, time and memory.
void runGraphs();
/// What one mma does with bf16, bit by bit.
void runNumbers();
/// exp, quotient and root against the host's.
void runElementary();
/// Kernels on what tests recorded.
void runReplay();
/// A model's products in chains, with cold weights.
void runProducts();
/// cuBLASLt's best algorithm for the same shapes.
void runCublasLt();

} // namespace mtp::gpu_check

#endif // MTP_GPU_CHECK_PARTS_H
