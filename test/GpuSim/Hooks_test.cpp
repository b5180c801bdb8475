//===- Hooks_test.cpp - Hooks that report kernels to tests ----------------===//
//
// mtp_sim_on_kernel, mtp_sim_load_batches and cuFuncGetParamInfo.
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "machine/KernelRun.h"
#include <cstring>

using namespace mtp::gpusim;
using namespace mtp::gpusim::test;

namespace {
/// Report of a hook about a kernel and about some addresses.
struct Told {
  std::string name;
  std::vector<uint64_t> arguments;
  std::vector<bool> read, written;
};

/// Records, for every kernel, whether it touched four bytes at some addresses.
struct Listener {
  std::vector<CUdeviceptr> asked;
  std::vector<Told> told;

  static void hear(void *data, const KernelRun &run) {
    auto *self = static_cast<Listener *>(data);
    Told told;
    told.name = run.name();
    for (size_t i = 0; i < run.arguments(); ++i)
      told.arguments.push_back(run.argument(i));
    for (CUdeviceptr address : self->asked) {
      told.read.push_back(run.hasRead(address, 4));
      told.written.push_back(run.hasWritten(address, 4));
    }
    self->told.push_back(told);
  }
};

class Hooks : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(driver().cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    driver().onKernel(nullptr, nullptr);
    if (exec)
      driver().cuGraphExecDestroy(exec);
    driver().cuGraphDestroy(graph);
    DeviceTest::TearDown();
  }

  /// Adds a kernel of 32 threads after another one, if there is one.
  CUgraphNode add(const std::string &name, std::vector<void *> values,
                  CUgraphNode before, bool programmatic = false) {
    CUgraphNodeParams params;
    std::memset(&params, 0, sizeof params);
    params.type = CU_GRAPH_NODE_TYPE_KERNEL;
    params.kernel.func = function("graphs.mlir", name);
    params.kernel.gridDimX = params.kernel.gridDimY = params.kernel.gridDimZ =
        1;
    params.kernel.blockDimX = 32;
    params.kernel.blockDimY = params.kernel.blockDimZ = 1;
    params.kernel.kernelParams = values.data();
    CUgraphEdgeData edge = {};
    if (programmatic) {
      edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
      edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    }
    CUgraphNode node = nullptr;
    EXPECT_EQ(driver().cuGraphAddNode(&node, graph, &before, &edge,
                                      before ? 1 : 0, &params),
              CUDA_SUCCESS)
        << lastError();
    return node;
  }
  void launch() {
    if (!exec)
      ASSERT_EQ(driver().cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS)
          << lastError();
    ASSERT_EQ(driver().cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(driver().cuStreamSynchronize(nullptr), CUDA_SUCCESS)
        << lastError();
  }
  uint64_t batches(const std::string &name, unsigned threads = 1) {
    CUdeviceptr x = upload(std::vector<int32_t>{2, 0, 1, 3}), y = allocate(128);
    EXPECT_EQ(run(function("loads.mlir", name), 1, threads, {&x, &y}),
              CUDA_SUCCESS)
        << lastError();
    return driver().loadBatches();
  }

  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
};
} // namespace

TEST_F(Hooks, TellWhatAKernelOfAGraphDid) {
  CUdeviceptr x = upload(std::vector<int32_t>(33)), y = allocate(33 * 4);
  CUdeviceptr w = upload(std::vector<int32_t>(32)), z = allocate(128);
  int32_t one = 1;
  CUgraphNode first = add("add", {&x, &y, &one}, nullptr);
  add("prefetch", {&w, &y, &z}, first, /*programmatic=*/true);
  Listener listener{{x, x + 124, x + 128, y, w + 124, z}, {}};
  driver().onKernel(Listener::hear, &listener);
  launch();

  ASSERT_EQ(listener.told.size(), 2u);
  const Told &added = listener.told[0], &fetched = listener.told[1];
  EXPECT_EQ(added.name, "add");
  ASSERT_EQ(added.arguments.size(), 3u);
  EXPECT_EQ(added.arguments[0], x);
  EXPECT_EQ(added.arguments[1], y);
  // 32 of the 33 elements, read by the first kernel only.
  EXPECT_EQ(added.read,
            (std::vector<bool>{true, true, false, false, false, false}));
  EXPECT_EQ(added.written,
            (std::vector<bool>{false, false, false, true, false, false}));
  // Reads before the wait count.
  EXPECT_EQ(fetched.name, "prefetch");
  EXPECT_EQ(fetched.read,
            (std::vector<bool>{false, false, false, true, true, false}));
  EXPECT_EQ(fetched.written,
            (std::vector<bool>{false, false, false, false, false, true}));
}

TEST_F(Hooks, FindMemoryAsAKernelLeftIt) {
  CUdeviceptr x = upload(std::vector<int32_t>(32, 5)), y = allocate(128);
  int32_t one = 1;
  CUgraphNode first = add("add", {&x, &y, &one}, nullptr);
  add("add", {&y, &x, &one}, first);
  std::vector<std::pair<CUdeviceptr, int32_t>> seen;
  auto hook = [](void *data, const KernelRun &run) {
    int32_t value;
    std::memcpy(&value, reinterpret_cast<void *>(run.argument(1)), 4);
    static_cast<decltype(seen) *>(data)->push_back({run.argument(1), value});
  };
  driver().onKernel(hook, &seen);
  launch();
  EXPECT_EQ(seen, (decltype(seen){{y, 6}, {x, 7}}));
}

TEST_F(Hooks, AreCalledUntilTheyAreTakenBack) {
  CUdeviceptr x = upload(std::vector<int32_t>(32)), y = allocate(128);
  int32_t one = 1;
  add("add", {&x, &y, &one}, nullptr);
  Listener listener;
  driver().onKernel(Listener::hear, &listener);
  launch();
  launch();
  EXPECT_EQ(listener.told.size(), 2u);
  // A launch outside of graphs is not reported.
  EXPECT_EQ(run(function("graphs.mlir", "add"), 1, 32, {&x, &y, &one}),
            CUDA_SUCCESS);
  EXPECT_EQ(listener.told.size(), 2u);
  driver().onKernel(nullptr, nullptr);
  launch();
  EXPECT_EQ(listener.told.size(), 2u);
}

TEST_F(Hooks, SayWhereParametersLie) {
  CUfunction add = function("graphs.mlir", "add");
  size_t offset = 0, bytes = 0;
  const size_t want[][2] = {{0, 8}, {8, 8}, {16, 4}};
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(driver().cuFuncGetParamInfo(add, i, &offset, &bytes),
              CUDA_SUCCESS);
    EXPECT_EQ(offset, want[i][0]) << i;
    EXPECT_EQ(bytes, want[i][1]) << i;
  }
  // A caller that does not need the number of bytes passes null.
  EXPECT_EQ(driver().cuFuncGetParamInfo(add, 1, &offset, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(offset, 8u);
  // Callers learn the number of parameters in this way.
  EXPECT_EQ(driver().cuFuncGetParamInfo(add, 3, &offset, &bytes),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuFuncGetParamInfo(nullptr, 0, &offset, &bytes),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Hooks, CountLoadsThatWaitForEachOther) {
  EXPECT_EQ(batches("chain"), 3u);
  EXPECT_EQ(batches("together"), 1u);
  EXPECT_EQ(batches("used_between"), 2u);
  // The thread that waits most often counts, for the last kernel.
  EXPECT_EQ(batches("turns", 32), 31u);
  EXPECT_EQ(batches("turns"), 0u);
}
