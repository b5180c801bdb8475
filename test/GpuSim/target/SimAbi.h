//===- SimAbi.h - Interface of images and simulator -----------------------===//
//
// An image for gpu-sim is a shared ELF image that exports one symbol,
// `mtp_sim_image`, and needs nothing but memcpy, memset and memmove. A table of
// imports names the functions of the simulator that it calls, and the simulator
// fills the table when it loads the image. So neither side needs the other's
// symbols, and an image for another version is refused with a message instead
// of a crash.
//
// The compiler and the simulator include this header. It does not use LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TEST_GPUSIM_TARGET_SIMABI_H
#define MTP_TEST_GPUSIM_TARGET_SIMABI_H

#include <cstdint>

namespace mtp::gpusim {

/// Name that plans use for the driver of such images.
inline constexpr char kDriverName[] = "gpu-sim";

inline constexpr char kImageMagic[8] = {'M', 'T', 'P', 'G', 'S', 'I', 'M', 0};
inline constexpr uint32_t kImageVersion = 2;
inline constexpr const char *kImageSymbol = "mtp_sim_image";

/// Kind of an access, in the low bits of its flags. The address space that the
/// kernel named is in the bits from kSpaceShift on.
enum AccessFlags : uint32_t {
  kRead = 1,
  kWrite = 2,
  kAtomic = 4,
  /// A load that may have to wait for an earlier one (see HostChecks).
  kWaits = 8,
  kSpaceShift = 8
};

/// A kernel. `entry` takes pointers to the values of the parameters, as the
/// driver's launch does, and runs one thread.
struct ImageKernel {
  const char *name;
  void (*entry)(void *const *params);
  uint64_t staticShared;
  uint64_t usesDynamicShared;
  /// Maximum number of threads of a block (`.maxntid`), or 0 if the kernel
  /// states none.
  uint64_t maxThreads;
  uint64_t paramCount;
  const uint32_t *paramBytes;
};

/// A variable of the module in global or constant memory.
struct ImageGlobal {
  const char *name;
  void *address;
  uint64_t bytes;
  uint64_t isConstant;
};

/// A function of the simulator by its name in MTP_SIM_CALLS or kHelpers, and
/// the place of its address in the image.
struct ImageImport {
  const char *name;
  void **slot;
};

/// Kernels that were compiled together, usually one.
struct ImageUnit {
  uint64_t kernelCount;
  const ImageKernel *kernels;
  uint64_t globalCount;
  const ImageGlobal *globals;
  uint64_t importCount;
  const ImageImport *imports;
};

/// Section in which each unit has a pointer to its ImageUnit.
inline constexpr const char *kUnitSection = "mtp_sim_units";

struct Image {
  char magic[8];
  uint64_t version;
  const ImageUnit *const *begin;
  const ImageUnit *const *end;
};

/// `void *shared_base(void)`: returns the start of the block's shared memory.
inline constexpr const char *kSharedBase = "shared_base";
/// `void access(const void *, uint64_t bytes, uint32_t flags, uint32_t align)`:
/// called before each access to memory, except clear accesses to the thread's
/// local variables.
inline constexpr const char *kAccess = "access";

/// Every other call has the form
/// `void call(void *result, const void *arguments)`. `arguments` points to a
/// struct of the arguments and `result` to room for the result. The name is the
/// intrinsic's without "llvm.nvvm.", with '_' for '.'. The list has all calls
/// of the simulator. A call that is missing here is an error of the compiler. A
/// call that is missing in the simulator does not link.
#define MTP_SIM_SREGS(X)                                                       \
  X(read_ptx_sreg_tid_x)                                                       \
  X(read_ptx_sreg_tid_y)                                                       \
  X(read_ptx_sreg_tid_z)                                                       \
  X(read_ptx_sreg_ntid_x)                                                      \
  X(read_ptx_sreg_ntid_y)                                                      \
  X(read_ptx_sreg_ntid_z)                                                      \
  X(read_ptx_sreg_ctaid_x)                                                     \
  X(read_ptx_sreg_ctaid_y)                                                     \
  X(read_ptx_sreg_ctaid_z)                                                     \
  X(read_ptx_sreg_nctaid_x)                                                    \
  X(read_ptx_sreg_nctaid_y)                                                    \
  X(read_ptx_sreg_nctaid_z)                                                    \
  X(read_ptx_sreg_laneid)                                                      \
  X(read_ptx_sreg_warpsize)

#define MTP_SIM_COLLECTIVES(X)                                                 \
  X(barrier_cta_sync_aligned_all)                                              \
  X(bar_warp_sync)                                                             \
  X(shfl_sync_up_i32)                                                          \
  X(shfl_sync_up_f32)                                                          \
  X(shfl_sync_down_i32)                                                        \
  X(shfl_sync_down_f32)                                                        \
  X(shfl_sync_bfly_i32)                                                        \
  X(shfl_sync_bfly_f32)                                                        \
  X(shfl_sync_idx_i32)                                                         \
  X(shfl_sync_idx_f32)                                                         \
  X(shfl_sync_up_i32p)                                                         \
  X(shfl_sync_up_f32p)                                                         \
  X(shfl_sync_down_i32p)                                                       \
  X(shfl_sync_down_f32p)                                                       \
  X(shfl_sync_bfly_i32p)                                                       \
  X(shfl_sync_bfly_f32p)                                                       \
  X(shfl_sync_idx_i32p)                                                        \
  X(shfl_sync_idx_f32p)                                                        \
  X(vote_all_sync)                                                             \
  X(vote_any_sync)                                                             \
  X(vote_uni_sync)                                                             \
  X(vote_ballot_sync)                                                          \
  X(redux_sync_add)                                                            \
  X(redux_sync_min)                                                            \
  X(redux_sync_max)                                                            \
  X(redux_sync_umin)                                                           \
  X(redux_sync_umax)                                                           \
  X(redux_sync_and)                                                            \
  X(redux_sync_or)                                                             \
  X(redux_sync_xor)

#define MTP_SIM_FENCES(X)                                                      \
  X(membar_cta)                                                                \
  X(membar_gl)                                                                 \
  X(membar_sys)

#define MTP_SIM_MMA(X)                                                         \
  X(mma_m16n8k16_row_col_bf16)                                                 \
  X(mma_m16n8k16_row_col_f32_f32)                                              \
  X(mma_m16n8k32_row_col_s8)                                                   \
  X(mma_m16n8k32_row_col_u8_s8)                                                \
  X(mma_m16n8k32_row_col_s8_u8)                                                \
  X(mma_m16n8k32_row_col_u8)                                                   \
  X(mma_m16n8k32_row_col_satfinite_s8)                                         \
  X(mma_m16n8k32_row_col_satfinite_u8_s8)                                      \
  X(mma_m16n8k32_row_col_satfinite_s8_u8)                                      \
  X(mma_m16n8k32_row_col_satfinite_u8)                                         \
  X(idp4a_s_s)                                                                 \
  X(idp4a_u_s)                                                                 \
  X(prmt)

#define MTP_SIM_MATRICES(X)                                                    \
  X(ldmatrix_sync_aligned_m8n8_x1_b16_p3)                                      \
  X(ldmatrix_sync_aligned_m8n8_x2_b16_p3)                                      \
  X(ldmatrix_sync_aligned_m8n8_x4_b16_p3)                                      \
  X(ldmatrix_sync_aligned_m8n8_x1_trans_b16_p3)                                \
  X(ldmatrix_sync_aligned_m8n8_x2_trans_b16_p3)                                \
  X(ldmatrix_sync_aligned_m8n8_x4_trans_b16_p3)

#define MTP_SIM_COPIES(X)                                                      \
  X(cp_async_ca_shared_global_4)                                               \
  X(cp_async_ca_shared_global_8)                                               \
  X(cp_async_ca_shared_global_16)                                              \
  X(cp_async_cg_shared_global_16)                                              \
  X(cp_async_ca_shared_global_4_s)                                             \
  X(cp_async_ca_shared_global_8_s)                                             \
  X(cp_async_ca_shared_global_16_s)                                            \
  X(cp_async_cg_shared_global_16_s)                                            \
  X(cp_async_commit_group)                                                     \
  X(cp_async_wait_group)                                                       \
  X(cp_async_wait_all)

#define MTP_SIM_GRID(X)                                                        \
  X(griddepcontrol_wait)                                                       \
  X(griddepcontrol_launch_dependents)                                          \
  X(prefetch_global_L2)                                                        \
  X(cudaGraphSetConditional)

#define MTP_SIM_CALLS(X)                                                       \
  MTP_SIM_SREGS(X)                                                             \
  MTP_SIM_COLLECTIVES(X)                                                       \
  MTP_SIM_FENCES(X)                                                            \
  MTP_SIM_MMA(X)                                                               \
  MTP_SIM_MATRICES(X)                                                          \
  MTP_SIM_COPIES(X)                                                            \
  MTP_SIM_GRID(X)

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_TARGET_SIMABI_H
