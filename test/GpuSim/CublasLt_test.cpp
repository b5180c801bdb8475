//===- CublasLt_test.cpp - Products of the simulated library --------------===//

#include "Device.h"
#include "runtime/device/cuda/LtApi.h"

#include <cmath>
#include <cstring>

using namespace mtp::gpusim::test;

namespace {

const mtp::LtApi &lt() {
  static const mtp::LtApi api = [] {
    mtp::LtApi found;
    found.find(dlopen(MTP_CUDASIM, RTLD_NOW | RTLD_LOCAL));
    return found;
  }();
  return api;
}

constexpr size_t kRows = 8, kOutputs = 16, kInputs = 64, kSpace = 4096;

uint16_t toBF16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return uint16_t(bits >> 16);
}

class CublasLtTest : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(lt().cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(lt().cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F,
                                            CUDA_R_32F),
              CUBLAS_STATUS_SUCCESS);
    cublasOperation_t transposed = CUBLAS_OP_T;
    ASSERT_EQ(lt().cublasLtMatmulDescSetAttribute(
                  operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                  sizeof(transposed)),
              CUBLAS_STATUS_SUCCESS);
    weight = layout(CUDA_R_16BF, kInputs, kOutputs);
    x = layout(CUDA_R_16BF, kInputs, kRows);
    y = layout(CUDA_R_32F, kOutputs, kRows);
    // Small integers: any order gives equal sums.
    std::vector<uint16_t> w(kOutputs * kInputs), rows(kRows * kInputs);
    for (size_t i = 0; i < w.size(); ++i)
      w[i] = toBF16(float(i % 5) - 2);
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = toBF16(float(i % 7) - 3);
    wData = upload(w), xData = upload(rows);
    yData = allocate(kRows * kOutputs * 4), space = allocate(kSpace);
    ASSERT_EQ(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
              CUDA_SUCCESS);
    algorithm = choose(y).algo;
  }
  void TearDown() override {
    driver().cuStreamDestroy(stream);
    for (cublasLtMatrixLayout_t matrix : layouts)
      lt().cublasLtMatrixLayoutDestroy(matrix);
    lt().cublasLtMatmulDescDestroy(operation);
    lt().cublasLtDestroy(handle);
    DeviceTest::TearDown();
  }

  cublasLtMatrixLayout_t layout(cudaDataType_t type, size_t rows,
                                size_t columns, size_t stride = 0) {
    cublasLtMatrixLayout_t matrix = nullptr;
    EXPECT_EQ(lt().cublasLtMatrixLayoutCreate(&matrix, type, rows, columns,
                                              int64_t(stride ? stride : rows)),
              CUBLAS_STATUS_SUCCESS);
    layouts.push_back(matrix);
    return matrix;
  }

  /// Returns the heuristic's first choice, or a result without an algorithm.
  cublasLtMatmulHeuristicResult_t choose(cublasLtMatrixLayout_t result,
                                         size_t workspace = kSpace) {
    cublasLtMatmulPreference_t preference = nullptr;
    lt().cublasLtMatmulPreferenceCreate(&preference);
    lt().cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
        sizeof(workspace));
    cublasLtMatmulHeuristicResult_t first = {};
    int count = 0;
    status = lt().cublasLtMatmulAlgoGetHeuristic(handle, operation, weight, x,
                                                 result, result, preference, 1,
                                                 &first, &count);
    lt().cublasLtMatmulPreferenceDestroy(preference);
    return first;
  }

  cublasStatus_t multiply(CUdeviceptr to = 0, size_t workspace = kSpace) {
    float one = 1, zero = 0;
    auto pointer = [](CUdeviceptr address) {
      return reinterpret_cast<void *>(address);
    };
    void *target = pointer(to ? to : yData);
    return lt().cublasLtMatmul(handle, operation, &one, pointer(wData), weight,
                               pointer(xData), x, &zero, target, y, target, y,
                               &algorithm, pointer(space), workspace,
                               reinterpret_cast<cudaStream_t>(stream));
  }
  void expectProduct() {
    std::vector<float> values = download<float>(yData, kRows * kOutputs);
    for (size_t r = 0; r < kRows; ++r)
      for (size_t o = 0; o < kOutputs; ++o) {
        float sum = 0;
        for (size_t i = 0; i < kInputs; ++i)
          sum += (float((r * kInputs + i) % 7) - 3) *
                 (float((o * kInputs + i) % 5) - 2);
        ASSERT_EQ(values[r * kOutputs + o], sum) << r << ", " << o;
      }
  }

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t weight = nullptr, x = nullptr, y = nullptr;
  std::vector<cublasLtMatrixLayout_t> layouts;
  cublasLtMatmulAlgo_t algorithm = {};
  CUdeviceptr wData = 0, xData = 0, yData = 0, space = 0;
  CUstream stream = nullptr;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
};

} // namespace

TEST_F(CublasLtTest, Multiplies) {
  EXPECT_EQ(lt().cublasLtGetVersion() / 10000, 13u);
  ASSERT_EQ(multiply(), CUBLAS_STATUS_SUCCESS) << lastError();
  ASSERT_EQ(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
  expectProduct();
}

TEST_F(CublasLtTest, IsCapturedIntoAGraph) {
  CUgraph graph = nullptr, into = nullptr;
  ASSERT_EQ(driver().cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(
      driver().cuStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0,
                                           CU_STREAM_CAPTURE_MODE_RELAXED),
      CUDA_SUCCESS);
  ASSERT_EQ(multiply(), CUBLAS_STATUS_SUCCESS);
  // A captured stream accepts no other work.
  EXPECT_EQ(driver().cuStreamSynchronize(stream),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  float value = 0;
  EXPECT_EQ(driver().cuMemcpyDtoHAsync(&value, wData, 4, stream),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUstreamCaptureStatus state;
  const CUgraphNode *leaves = nullptr;
  size_t count = 0;
  ASSERT_EQ(driver().cuStreamGetCaptureInfo(stream, &state, nullptr, &into,
                                            &leaves, nullptr, &count),
            CUDA_SUCCESS);
  EXPECT_EQ(state, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(into, graph);
  ASSERT_EQ(count, 1u);
  CUgraphNode node = leaves[0];
  ASSERT_EQ(driver().cuStreamEndCapture(stream, &into), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamEndCapture(stream, &into),
            CUDA_ERROR_ILLEGAL_STATE);
  // An edge from a library node is a full one.
  CUgraphNodeParams params;
  std::memset(&params, 0, sizeof(params));
  params.type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUgraphEdgeData edge = {};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  CUgraphNode after = nullptr;
  EXPECT_EQ(driver().cuGraphAddNode(&after, graph, &node, &edge, 1, &params),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuGraphAddNode(&after, graph, &node, nullptr, 1, &params),
            CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver().cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuStreamSynchronize(stream), CUDA_SUCCESS) << lastError();
  expectProduct();
  driver().cuGraphExecDestroy(exec);
  driver().cuGraphDestroy(graph);
}

TEST_F(CublasLtTest, RefusesWhatALibraryNeedNotTake) {
  // Columns that do not begin at multiples of 16 bytes, other types, other
  // shapes.
  choose(layout(CUDA_R_32F, kOutputs, kRows, kOutputs + 1));
  EXPECT_EQ(status, CUBLAS_STATUS_NOT_SUPPORTED);
  choose(layout(CUDA_R_16BF, kOutputs, kRows));
  EXPECT_EQ(status, CUBLAS_STATUS_NOT_SUPPORTED);
  choose(layout(CUDA_R_32F, kOutputs, kRows + 1));
  EXPECT_EQ(status, CUBLAS_STATUS_INVALID_VALUE);
  // No algorithm works without a workspace here.
  choose(y, /*workspace=*/0);
  EXPECT_EQ(status, CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(multiply(0, /*workspace=*/16), CUBLAS_STATUS_INVALID_VALUE);
  expectMessage({"expected a workspace of"});
  EXPECT_EQ(multiply(yData + 4), CUBLAS_STATUS_INVALID_VALUE);
  expectMessage({"multiples of 16 bytes"});
  algorithm.data[1] ^= 8;
  EXPECT_EQ(multiply(), CUBLAS_STATUS_INVALID_VALUE);
  expectMessage({"an algorithm for these matrices"});
  cublasLtMatmulHeuristicResult_t result = {};
  EXPECT_EQ(lt().cublasLtMatmulAlgoCheck(handle, operation, weight, x, y, y,
                                         &algorithm, &result),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLtTest, FindsWhatNobodyWroteAndWhatIsNotThere) {
  xData = allocate(kRows * kInputs * 2);
  ASSERT_EQ(multiply(), CUBLAS_STATUS_SUCCESS);
  EXPECT_NE(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
  expectMessage({"uninitialised: row 0 of x"});
  driver().revive();
}

TEST_F(CublasLtTest, StaysInItsAllocations) {
  yData = allocate(kRows * kOutputs * 4 - 16);
  ASSERT_EQ(multiply(), CUBLAS_STATUS_SUCCESS);
  EXPECT_NE(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
  expectMessage({"bytes of y inside of an allocation"});
  driver().revive();
}

TEST_F(CublasLtTest, WritesNothingThatItReads) {
  yData = space;
  ASSERT_EQ(multiply(), CUBLAS_STATUS_SUCCESS);
  EXPECT_NE(driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
  expectMessage({"shares bytes with"});
  driver().revive();
}
