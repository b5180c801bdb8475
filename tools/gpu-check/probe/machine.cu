//===- machine.cu - Kernels that test the machine -------------------------===//
//
// Kernels for edges, barriers, ordering and bandwidth. None of them is a kernel
// of the product, so they are written in CUDA C++. All parameters are 64 bits
// wide.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cuda_runtime.h>

using u64 = unsigned long long;

namespace {
__device__ void wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ void release() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ uint32_t hash(u64 x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return (uint32_t)(x ^ (x >> 31));
}
__device__ void count(int *slots) {
  if (threadIdx.x == 0)
    slots[blockIdx.x * 8]++;
}
} // namespace

extern "C" {

// --- nodes that do almost nothing ---

__global__ void node_plain(int *slots) { count(slots); }

/// Lets its successor start at once, and waits for earlier nodes, as every
/// kernel of a chain with programmatic edges does.
__global__ void node_early(int *slots) {
  release();
  wait();
  count(slots);
}

/// Lets its successor start only at its own end.
__global__ void node_late(int *slots) {
  wait();
  count(slots);
}

/// Reads data that other blocks of the previous node have written, and writes:
/// the dependence of a real chain.
__global__ void node_read(const int *from, int *to) {
  release();
  wait();
  int i = (blockIdx.x * 37 + 11) % gridDim.x * blockDim.x + threadIdx.x;
  to[blockIdx.x * blockDim.x + threadIdx.x] = __ldcg(from + i) + 1;
}

// --- barriers of a persistent kernel ---

__global__ void barrier_counter(unsigned *counters, u64 rounds) {
  for (u64 i = 0; i < rounds; ++i) {
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned *c = counters + i * 32, n;
      asm volatile(
          "fence.acq_rel.gpu; red.release.gpu.global.add.u32 [%0], 1;" ::"l"(c)
          : "memory");
      do
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(n)
                     : "l"(c)
                     : "memory");
      while (n < gridDim.x);
    }
    __syncthreads();
  }
}

/// Every block has a word of its own, and one thread for each block reads all
/// of them.
__global__ void barrier_flags(unsigned *flags, u64 rounds) {
  for (u64 i = 1; i <= rounds; ++i) {
    __syncthreads();
    if (threadIdx.x == 0)
      asm volatile(
          "fence.acq_rel.gpu; st.release.gpu.global.u32 [%0], %1;" ::"l"(
              flags + blockIdx.x),
          "r"((unsigned)i)
          : "memory");
    if (threadIdx.x < gridDim.x) {
      unsigned n;
      do
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(n)
                     : "l"(flags + threadIdx.x)
                     : "memory");
      while (n < i);
    }
    __syncthreads();
  }
}

// --- is ordering transitive over programmatic edges? ---

/// Node `number` of a chain. Writes its number into its own buffer, one of
/// `buffers`, late and at uneven times. Reads the buffers of the `back` nodes
/// before it, at places that other blocks wrote. With `mode` 0 all threads
/// wait. With 1 one thread of a block waits. With 2 no thread waits: the
/// control that shows stale reads.
__global__ void order(int *data, int *errors, u64 number, u64 buffers, u64 back,
                      u64 mode) {
  release();
  if (mode == 0 || (mode == 1 && threadIdx.x == 0))
    wait();
  __syncthreads();
  u64 size = (u64)gridDim.x * blockDim.x;
  u64 me = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (mode == 2 && number % 3 != 2) {
    // In the control, only every third node waits, so that the chain does not
    // collapse into one heap of kernels.
  } else if (mode == 2) {
    wait();
  }
  for (u64 b = 1; b <= back && b <= number; ++b) {
    u64 node = number - b;
    const int *from = data + (node % buffers) * size;
    // Plain loads, through L1: a line kept from an earlier use shows as stale.
    for (int k = 0; k < 4; ++k) {
      u64 i = (me + (u64)(k * 41 + 17) * blockDim.x) % size;
      if (from[i] != (int)node)
        atomicAdd(errors + b, 1);
    }
  }
  // Uneven: a few blocks are slow, others run far ahead.
  u64 start = clock64(),
      length = hash(number * 1000 + blockIdx.x) % 16 == 0 ? 12000 : 200;
  while (clock64() - start < length)
    ;
  data[(number % buffers) * size + me] = (int)number;
}

// --- kernels with much shared memory next to kernels with none ---

/// Reads weights of its own, some of them before the wait, and needs the
/// dynamic shared memory of a product. `vectors` is the number for each block,
/// a multiple of 8 * 512.
__global__ void __launch_bounds__(512, 2)
    weights_node(const uint4 *weights, u64 vectors, const int *from, int *to) {
  extern __shared__ uint32_t stage[];
  release();
  const uint4 *own = weights + blockIdx.x * vectors + threadIdx.x;
  uint32_t sum = 0;
  bool isEarly = true;
  for (u64 i = 0; i < vectors; i += 8 * 512) {
    uint4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k)
      asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                   : "l"(own + i + k * 512));
    if (isEarly)
      wait();
    isEarly = false;
#pragma unroll
    for (int k = 0; k < 8; ++k)
      sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  stage[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0)
    to[blockIdx.x] = __ldcg(from + blockIdx.x) + (int)(stage[511] & 1);
}

// --- a ring that one kernel writes and a later one releases ---

/// Writes a round's entry in pinned memory, by plain stores of one block, which
/// changes from round to round and is sometimes late.
__global__ void ring_write(u64 *ring, u64 entries, const u64 *turns) {
  release();
  wait();
  u64 turn = __ldcg(turns);
  u64 start = clock64(), length = hash(turn) % 16 == 0 ? 6000 : 0;
  while (clock64() - start < length)
    ;
  if (blockIdx.x == turn % gridDim.x)
    ring[turn % entries * blockDim.x + threadIdx.x] = turn + 1;
}

// --- loops ---

extern __device__ void cudaGraphSetConditional(cudaGraphConditionalHandle,
                                               unsigned);

/// Tells the host that the entry of a ring is there, as the kernel after a
/// round does. With `waits` 0 it is the control.
__global__ void ring_release(u64 handle, u64 *turns, u64 *count, u64 limit,
                             u64 waits) {
  release();
  if (waits)
    wait();
  u64 n = __ldcg(turns) + 1;
  *turns = n;
  asm volatile("fence.acq_rel.sys; st.relaxed.sys.global.u64 [%0], %1;" ::"l"(
                   count),
               "l"(n)
               : "memory");
  cudaGraphSetConditional((cudaGraphConditionalHandle)handle, n < limit);
}

__global__ void set_while(u64 handle, u64 *counter, u64 limit) {
  cudaGraphSetConditional((cudaGraphConditionalHandle)handle,
                          ++*counter < limit);
}

/// set_while with a counter that starts again, for a loop inside a loop.
__global__ void set_inner(u64 handle, u64 *counter, u64 limit) {
  bool more = ++*counter % limit != 0;
  cudaGraphSetConditional((cudaGraphConditionalHandle)handle, more);
}

/// Publishes its number of runs to the host, after about 20 us.
__global__ void publish(u64 *ring, u64 *turns) {
  u64 start = clock64();
  while (clock64() - start < 35000)
    ;
  u64 n = ++*turns;
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(ring), "l"(n)
               : "memory");
}

__global__ void set_value(u64 handle, u64 value) {
  cudaGraphSetConditional((cudaGraphConditionalHandle)handle, (unsigned)value);
}

__global__ void add_value(u64 *to, u64 value) { *to += value; }

// --- bandwidth ---

/// Writes numbers of size 0.5 to 1 in bf16. As bytes or f32 they are finite,
/// too.
__global__ void fill(uint32_t *to, u64 words, u64 seed) {
  u64 step = (u64)gridDim.x * blockDim.x;
  for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step)
    to[i] =
        (hash(i + seed * 0x9e3779b97f4a7c15ull) & 0x807f807fu) | 0x3f003f00u;
}

}

namespace {
/// Reads `vectors` vectors, at their numbers masked with `mask`.
__device__ void readVectors(const uint4 *from, u64 vectors, u64 mask,
                            uint4 *to) {
  uint4 sum = {0, 0, 0, 0};
  u64 step = (u64)gridDim.x * blockDim.x;
  u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  for (; i + 7 * step < vectors; i += 8 * step) {
    uint4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k)
      asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w)
                   : "l"(from + ((i + k * step) & mask)));
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      sum.x ^= v[k].x;
      sum.y ^= v[k].y;
      sum.z ^= v[k].z;
      sum.w ^= v[k].w;
    }
  }
  if ((sum.x & sum.y & sum.z & sum.w) == 0x12345678)
    *to = sum;
}
} // namespace

extern "C" {

__global__ void __launch_bounds__(512)
    read_all(const uint4 *from, u64 vectors, uint4 *to) {
  readVectors(from, vectors, ~u64(0), to);
}

/// Reads a buffer of `mask` + 1 vectors again and again: from the L2 cache if
/// it fits there.
__global__ void __launch_bounds__(512)
    read_cached(const uint4 *from, u64 vectors, u64 mask, uint4 *to) {
  readVectors(from, vectors, mask, to);
}

// --- one mma at a time ---

/// Case i: 16 x 16 and 16 x 8 in bf16 (row and column major), 16 x 8 in f32.
__global__ void mma_cases(const uint32_t *a, const uint32_t *b, const float *c,
                          float *d) {
  u64 i = blockIdx.x;
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const uint32_t *pa = a + i * 128, *pb = b + i * 64;
  const float *pc = c + i * 128;
  float *pd = d + i * 128;
  uint32_t a0 = pa[g * 8 + t], a1 = pa[(g + 8) * 8 + t], a2 = pa[g * 8 + t + 4],
           a3 = pa[(g + 8) * 8 + t + 4], b0 = pb[g * 8 + t],
           b1 = pb[g * 8 + t + 4];
  float r[4] = {pc[g * 8 + 2 * t], pc[g * 8 + 2 * t + 1],
                pc[(g + 8) * 8 + 2 * t], pc[(g + 8) * 8 + 2 * t + 1]};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  pd[g * 8 + 2 * t] = r[0];
  pd[g * 8 + 2 * t + 1] = r[1];
  pd[(g + 8) * 8 + 2 * t] = r[2];
  pd[(g + 8) * 8 + 2 * t + 1] = r[3];
}

} // extern "C"
