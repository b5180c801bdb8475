//===- Parts.h - The parts of the probes ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_GPU_CHECK_PROBE_PARTS_H
#define MTP_TOOLS_GPU_CHECK_PROBE_PARTS_H

namespace mtp::gpu_check {

/// Measures the device, its driver, and the rates that shares refer to.
void runBandwidth();
/// Tests which cubins and PTX with cudaGraphSetConditional the driver loads.
void runLoad();
/// Measures the cost of a node, an iteration, a launch and a barrier.
void runEdges();
/// Tests that programmatic edges keep a chain in order.
void runOrder();
/// Tests that data which one kernel writes to the host's memory is there when a
/// later kernel announces it.
void runRing();
/// Measures the cost of kernels with different shared memory in a chain.
void runCarveout();
/// Tests and times graphs: nested loops, updates, capture, time and memory.
void runGraphs();
/// Models one bf16 mma bit by bit.
void runNumbers();
/// Compares exp, quotient and root with the host's.
void runElementary();
/// Runs kernels on the inputs that tests recorded.
void runReplay();
/// Times a model's products in chains, with cold weights.
void runProducts();
/// Times cuBLASLt's best algorithm for the same shapes.
void runCublasLt();

} // namespace mtp::gpu_check

#endif // MTP_TOOLS_GPU_CHECK_PROBE_PARTS_H
