//===- CublasLt.cpp - The entry points of cuBLASLt that the runtime uses --===//
//
// Products of bf16 with f32 sums: D = A^T B, column by column. Options that are
// not simulated, and calls that would work on a device only by luck, are
// refused with a message.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#if __has_include(<cublasLt.h>)

#include "Graph.h"
#include "Handles.h"
#include "Stream.h"
#include <algorithm>
#include <cstring>
#include <cublasLt.h>

using namespace mtp::gpusim;

#define MTP_LT_API extern "C" __attribute__((visibility("default")))

namespace {

struct LtHandle {};

struct Description {
  int32_t transA = CUBLAS_OP_N, transB = CUBLAS_OP_N;
};

struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t stride;

  bool operator==(const Layout &) const = default;
};

struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

/// Contents of cublasLtMatmulAlgo_t here.
struct Algorithm {
  uint64_t magic, rows, outputs, inputs, chains;
};

constexpr uint64_t kMagic = 0x6d69735f636c6f67;
constexpr size_t kAlignment = 16;

} // namespace

template <typename T>
static Handles<T> &all() {
  static auto *handles = new Handles<T>;
  return *handles;
}

/// Reports an error and returns its status.
static cublasStatus_t wrong(cublasStatus_t status, const std::string &text) {
  refuse(CUDA_ERROR_INVALID_VALUE, "%s", text.c_str());
  return status;
}

static cublasStatus_t notLive(const char *name, const char *what) {
  return wrong(CUBLAS_STATUS_INVALID_VALUE,
               std::string(name) + ": expected a live " + what);
}

template <typename T, typename Handle>
static cublasStatus_t create(Handle *handle, T object) {
  *handle = reinterpret_cast<Handle>(
      all<T>().add(std::make_unique<T>(std::move(object))));
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
static cublasStatus_t destroy(const char *name, const void *handle) {
  Entry entry(name, Entry::Nothing);
  return all<T>().remove(handle) ? CUBLAS_STATUS_SUCCESS
                                 : notLive(name, "object");
}

static cublasStatus_t statusOf(const Entry &entry) {
  return entry.result() == CUDA_ERROR_OUT_OF_MEMORY
             ? CUBLAS_STATUS_ALLOC_FAILED
             : CUBLAS_STATUS_NOT_INITIALIZED;
}

MTP_LT_API size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

MTP_LT_API cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  Entry entry("cublasLtCreate");
  if (entry.refusedOrFull())
    return statusOf(entry);
  return create(handle, LtHandle());
}

MTP_LT_API cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return destroy<LtHandle>("cublasLtDestroy", handle);
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

MTP_LT_API cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *handle,
                                                   cublasComputeType_t compute,
                                                   cudaDataType_t scale) {
  Entry entry("cublasLtMatmulDescCreate", Entry::Nothing);
  if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F)
    return wrong(CUBLAS_STATUS_NOT_SUPPORTED,
                 "cublasLtMatmulDescCreate: sums and scales of f32 are "
                 "simulated, others are not");
  return create(handle, Description());
}

MTP_LT_API cublasStatus_t
cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t handle) {
  return destroy<Description>("cublasLtMatmulDescDestroy", handle);
}

MTP_LT_API cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t which,
    const void *value, size_t bytes) {
  Entry entry("cublasLtMatmulDescSetAttribute", Entry::Nothing);
  Description *operation = all<Description>().find(handle);
  if (!operation)
    return notLive("cublasLtMatmulDescSetAttribute", "operation");
  bool isA = which == CUBLASLT_MATMUL_DESC_TRANSA;
  if ((!isA && which != CUBLASLT_MATMUL_DESC_TRANSB) ||
      bytes != sizeof(int32_t))
    return wrong(CUBLAS_STATUS_NOT_SUPPORTED,
                 "cublasLtMatmulDescSetAttribute: transposing is simulated, "
                 "attribute " +
                     std::to_string(int(which)) + " is not");
  std::memcpy(isA ? &operation->transA : &operation->transB, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

MTP_LT_API cublasStatus_t
cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *handle, cudaDataType type,
                           uint64_t rows, uint64_t columns, int64_t stride) {
  Entry entry("cublasLtMatrixLayoutCreate", Entry::Nothing);
  if (type != CUDA_R_16BF && type != CUDA_R_32F)
    return wrong(CUBLAS_STATUS_NOT_SUPPORTED,
                 "cublasLtMatrixLayoutCreate: bf16 and f32 are simulated, "
                 "others are not");
  if (!rows || !columns || stride < int64_t(rows))
    return wrong(CUBLAS_STATUS_INVALID_VALUE,
                 "cublasLtMatrixLayoutCreate: expected columns of " +
                     std::to_string(rows) + " elements that far apart, got " +
                     std::to_string(stride));
  return create(handle, Layout{type, rows, columns, stride});
}

MTP_LT_API cublasStatus_t
cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t handle) {
  return destroy<Layout>("cublasLtMatrixLayoutDestroy", handle);
}

MTP_LT_API cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *handle) {
  Entry entry("cublasLtMatmulPreferenceCreate", Entry::Nothing);
  return create(handle, Preference());
}

MTP_LT_API cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t handle) {
  return destroy<Preference>("cublasLtMatmulPreferenceDestroy", handle);
}

MTP_LT_API cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                     cublasLtMatmulPreferenceAttributes_t which,
                                     const void *value, size_t bytes) {
  Entry entry("cublasLtMatmulPreferenceSetAttribute", Entry::Nothing);
  Preference *preference = all<Preference>().find(handle);
  if (!preference)
    return notLive("cublasLtMatmulPreferenceSetAttribute", "preference");
  uint32_t mask = 0;
  void *target = nullptr;
  size_t expected = sizeof(uint32_t);
  if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    target = &preference->workspace;
    expected = sizeof(uint64_t);
  } else if (which == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) {
    target = &mask;
  } else if (which >= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
             which <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES) {
    target =
        &preference
             ->alignment[which - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES];
  }
  if (!target || bytes != expected)
    return wrong(CUBLAS_STATUS_NOT_SUPPORTED,
                 "cublasLtMatmulPreferenceSetAttribute: attribute " +
                     std::to_string(int(which)) + " of " +
                     std::to_string(bytes) + " bytes is not simulated");
  std::memcpy(target, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

/// Returns true if every column of a matrix begins at a multiple of 16 bytes.
static bool isAligned(const Layout &layout) {
  size_t element = layout.type == CUDA_R_16BF ? 2 : 4;
  return size_t(layout.stride) * element % kAlignment == 0;
}

static cublasStatus_t readProblem(const char *name, cublasLtHandle_t handle,
                                  cublasLtMatmulDesc_t operationHandle,
                                  const cublasLtMatrixLayout_t (&layouts)[4],
                                  Gemm &gemm) {
  if (!all<LtHandle>().find(handle))
    return notLive(name, "handle");
  Description *operation = all<Description>().find(operationHandle);
  Layout *matrices[4];
  for (int i = 0; i < 4; ++i) {
    matrices[i] = all<Layout>().find(layouts[i]);
    if (!matrices[i])
      return notLive(name, "layout");
  }
  if (!operation)
    return notLive(name, "operation");
  const Layout &a = *matrices[0], &b = *matrices[1], &c = *matrices[2],
               &d = *matrices[3];
  if (operation->transA != CUBLAS_OP_T || operation->transB != CUBLAS_OP_N ||
      a.type != CUDA_R_16BF || b.type != CUDA_R_16BF || d.type != CUDA_R_32F ||
      !(c == d))
    return wrong(CUBLAS_STATUS_NOT_SUPPORTED,
                 std::string(name) + ": A^T B of bf16 in f32 is simulated, "
                                     "others are not");
  if (a.rows != b.rows || d.rows != a.columns || d.columns != b.columns)
    return wrong(CUBLAS_STATUS_INVALID_VALUE,
                 std::string(name) +
                     ": expected A of inputs x outputs, B of inputs x rows and "
                     "D of outputs x rows");
  if (!isAligned(a) || !isAligned(b) || !isAligned(d))
    return wrong(CUBLAS_STATUS_NOT_SUPPORTED,
                 std::string(name) + ": expected columns that begin at "
                                     "multiples of 16 bytes");
  gemm.rows = b.columns;
  gemm.outputs = a.columns;
  gemm.inputs = a.rows;
  gemm.wStride = size_t(a.stride);
  gemm.xStride = size_t(b.stride);
  gemm.yStride = size_t(d.stride);
  return CUBLAS_STATUS_SUCCESS;
}

static size_t workspaceOf(const Gemm &gemm, uint64_t chains) {
  return chains > 1 ? (chains - 1) * 4 * gemm.rows : 0;
}

/// Returns algorithms. The first choice depends on the number of rows, as in a
/// real library.
MTP_LT_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preferenceHandle, int requested,
    cublasLtMatmulHeuristicResult_t *results, int *count) {
  Entry entry("cublasLtMatmulAlgoGetHeuristic");
  if (entry.refused())
    return CUBLAS_STATUS_NOT_INITIALIZED;
  Gemm gemm;
  if (cublasStatus_t failed =
          readProblem("cublasLtMatmulAlgoGetHeuristic", handle, operation,
                      {a, b, c, d}, gemm))
    return failed;
  Preference *preference = all<Preference>().find(preferenceHandle);
  if (!preference || requested < 1)
    return notLive("cublasLtMatmulAlgoGetHeuristic",
                   "preference and a number of algorithms");
  *count = 0;
  for (uint64_t i = 0; i < 3 && *count < requested; ++i) {
    uint64_t chains = 2 + (gemm.rows / 8 + i) % 3;
    if (workspaceOf(gemm, chains) > preference->workspace)
      continue;
    cublasLtMatmulHeuristicResult_t &result = results[(*count)++];
    result = {};
    Algorithm algorithm{kMagic, gemm.rows, gemm.outputs, gemm.inputs, chains};
    std::memcpy(result.algo.data, &algorithm, sizeof algorithm);
    result.workspaceSize = workspaceOf(gemm, chains);
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1;
  }
  return *count ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

static cublasStatus_t
readAlgorithm(const char *name, const cublasLtMatmulAlgo_t *given, Gemm &gemm) {
  Algorithm algorithm = {};
  if (given)
    std::memcpy(&algorithm, given->data, sizeof algorithm);
  if (algorithm.magic != kMagic || algorithm.rows != gemm.rows ||
      algorithm.outputs != gemm.outputs || algorithm.inputs != gemm.inputs ||
      algorithm.chains < 1 || algorithm.chains > 8)
    return wrong(CUBLAS_STATUS_INVALID_VALUE,
                 std::string(name) +
                     ": expected an algorithm for these matrices");
  gemm.chains = algorithm.chains;
  return CUBLAS_STATUS_SUCCESS;
}

MTP_LT_API cublasStatus_t
cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                        cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                        cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                        const cublasLtMatmulAlgo_t *algorithm,
                        cublasLtMatmulHeuristicResult_t *result) {
  Entry entry("cublasLtMatmulAlgoCheck");
  if (entry.refused())
    return CUBLAS_STATUS_NOT_INITIALIZED;
  Gemm gemm;
  if (cublasStatus_t failed = readProblem("cublasLtMatmulAlgoCheck", handle,
                                          operation, {a, b, c, d}, gemm))
    return failed;
  if (cublasStatus_t failed =
          readAlgorithm("cublasLtMatmulAlgoCheck", algorithm, gemm))
    return failed;
  result->workspaceSize = workspaceOf(gemm, gemm.chains);
  result->state = CUBLAS_STATUS_SUCCESS;
  return CUBLAS_STATUS_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Adds a node to the graph that captures a stream.
static void capture(Stream &stream, const Gemm &gemm) {
  auto node = std::make_unique<Node>();
  node->type = kLibraryNode;
  node->gemm = gemm;
  node->handle = node.get();
  auto &nodes = stream.capture->nodes;
  for (CUgraphNode dependency : stream.captured)
    for (size_t i = 0; i < nodes.size(); ++i)
      if (reinterpret_cast<CUgraphNode>(nodes[i].get()) == dependency)
        node->edges.push_back({i, /*programmatic=*/false});
  stream.captured = {reinterpret_cast<CUgraphNode>(node.get())};
  nodes.push_back(std::move(node));
}

static cublasStatus_t checkMemory(const Gemm &gemm) {
  for (uintptr_t data : {gemm.w, gemm.x, gemm.y, gemm.workspace})
    if (data % kAlignment)
      return wrong(CUBLAS_STATUS_INVALID_VALUE,
                   "cublasLtMatmul: expected matrices and a workspace at "
                   "multiples of 16 bytes");
  if (gemm.workspaceBytes < workspaceOf(gemm, gemm.chains))
    return wrong(CUBLAS_STATUS_INVALID_VALUE,
                 "cublasLtMatmul: expected a workspace of " +
                     std::to_string(workspaceOf(gemm, gemm.chains)) +
                     " bytes, got " + std::to_string(gemm.workspaceBytes));
  return CUBLAS_STATUS_SUCCESS;
}

MTP_LT_API cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void *alpha,
    const void *aData, cublasLtMatrixLayout_t a, const void *bData,
    cublasLtMatrixLayout_t b, const void *beta, const void *cData,
    cublasLtMatrixLayout_t c, void *dData, cublasLtMatrixLayout_t d,
    const cublasLtMatmulAlgo_t *algorithm, void *workspace,
    size_t workspaceBytes, cudaStream_t streamHandle) {
  Entry entry("cublasLtMatmul");
  if (entry.refusedOrFull())
    return statusOf(entry);
  Gemm gemm;
  if (cublasStatus_t failed =
          readProblem("cublasLtMatmul", handle, operation, {a, b, c, d}, gemm))
    return failed;
  // Without an algorithm the library would ask its heuristic, with no limit on
  // memory.
  if (cublasStatus_t failed = readAlgorithm("cublasLtMatmul", algorithm, gemm))
    return failed;
  if (*static_cast<const float *>(alpha) != 1 ||
      *static_cast<const float *>(beta) != 0 || cData != dData)
    return wrong(CUBLAS_STATUS_NOT_SUPPORTED,
                 "cublasLtMatmul: factors 1 and 0 are simulated, others are "
                 "not");
  gemm.w = reinterpret_cast<uintptr_t>(aData);
  gemm.x = reinterpret_cast<uintptr_t>(bData);
  gemm.y = reinterpret_cast<uintptr_t>(dData);
  gemm.workspace = reinterpret_cast<uintptr_t>(workspace);
  gemm.workspaceBytes = workspaceBytes;
  if (cublasStatus_t failed = checkMemory(gemm))
    return failed;
  Stream *stream = findStream(reinterpret_cast<CUstream>(streamHandle));
  if (!stream)
    return notLive("cublasLtMatmul", "stream");
  if (stream->capture) {
    capture(*stream, gemm);
    return CUBLAS_STATUS_SUCCESS;
  }
  CUresult result = enqueue(*stream, {[gemm] {
    return gemm.run(nullptr) == CUDA_SUCCESS ? CUDA_SUCCESS
                                             : loseDevice(lastMessage());
  }});
  return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS
                                : CUBLAS_STATUS_EXECUTION_FAILED;
}

#endif // cublasLt.h
