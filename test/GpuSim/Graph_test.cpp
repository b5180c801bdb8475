//===- Graph_test.cpp - Graphs, edges and conditional nodes ---------------===//

#include "Device.h"
#include <cstring>

using namespace mtp::gpusim::test;

namespace {
struct Dependence {
  CUgraphNode node;
  bool programmatic = false;
};

class GraphTest : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(driver().cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (exec)
      driver().cuGraphExecDestroy(exec);
    driver().cuGraphDestroy(graph);
    DeviceTest::TearDown();
  }

  CUfunction kernel(const std::string &name) {
    return function("graphs.mlir", name);
  }

  static CUgraphNodeParams zero(CUgraphNodeType type) {
    CUgraphNodeParams params;
    std::memset(&params, 0, sizeof params);
    params.type = type;
    return params;
  }

  /// Returns parameters of a conditional node of `of` with a handle of its own.
  /// The node is not in the graph yet.
  static CUgraphNodeParams
  conditional(CUgraph of, CUgraphConditionalNodeType type, unsigned bodies,
              unsigned initial, unsigned flags = CU_GRAPH_COND_ASSIGN_DEFAULT) {
    CUgraphNodeParams params = zero(CU_GRAPH_NODE_TYPE_CONDITIONAL);
    params.conditional.type = type;
    params.conditional.size = bodies;
    EXPECT_EQ(driver().cuGraphConditionalHandleCreate(
                  &params.conditional.handle, of, nullptr, initial, flags),
              CUDA_SUCCESS);
    return params;
  }

  CUresult tryAdd(CUgraph to, CUgraphNodeParams &params,
                  const std::vector<Dependence> &dependences,
                  CUgraphNode &node) {
    std::vector<CUgraphNode> nodes;
    std::vector<CUgraphEdgeData> edges;
    for (const Dependence &dependence : dependences) {
      nodes.push_back(dependence.node);
      CUgraphEdgeData edge = {};
      if (dependence.programmatic) {
        edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
        edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
      }
      edges.push_back(edge);
    }
    return driver().cuGraphAddNode(&node, to, nodes.data(), edges.data(),
                                   nodes.size(), &params);
  }

  CUgraphNode add(CUgraph to, CUgraphNodeParams params,
                  const std::vector<Dependence> &dependences) {
    CUgraphNode node = nullptr;
    EXPECT_EQ(tryAdd(to, params, dependences, node), CUDA_SUCCESS)
        << lastError();
    return node;
  }

  CUgraphNodeParams kernelParams(const std::string &name,
                                 std::vector<void *> &values, unsigned grid = 1,
                                 unsigned block = 32) {
    CUgraphNodeParams params = zero(CU_GRAPH_NODE_TYPE_KERNEL);
    params.kernel.func = kernel(name);
    params.kernel.gridDimX = grid;
    params.kernel.gridDimY = params.kernel.gridDimZ = 1;
    params.kernel.blockDimX = block;
    params.kernel.blockDimY = params.kernel.blockDimZ = 1;
    params.kernel.kernelParams = values.data();
    return params;
  }

  CUgraphNode addKernel(const std::string &name, std::vector<void *> values,
                        const std::vector<Dependence> &dependences = {},
                        unsigned grid = 1) {
    return add(graph, kernelParams(name, values, grid), dependences);
  }
  /// Adds a node that computes y = x + c.
  CUgraphNode addAdd(CUdeviceptr x, CUdeviceptr y, int c,
                     const std::vector<Dependence> &dependences = {}) {
    return addKernel("add", {&x, &y, &c}, dependences);
  }

  CUresult launch() {
    CUresult result = CUDA_SUCCESS;
    if (!exec)
      result = driver().cuGraphInstantiate(&exec, graph, 0);
    if (result == CUDA_SUCCESS)
      result = driver().cuGraphLaunch(exec, nullptr);
    return result == CUDA_SUCCESS ? driver().cuCtxSynchronize() : result;
  }
  void expectHazard(const std::vector<std::string> &parts) {
    EXPECT_EQ(launch(), CUDA_ERROR_LAUNCH_FAILED);
    expectMessage(parts);
    driver().revive();
  }

  CUdeviceptr words() { return upload(std::vector<int>(32)); }

  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
};
} // namespace

TEST_F(GraphTest, RunsAChain) {
  CUdeviceptr a = words(), b = allocate(128), c = allocate(128);
  CUgraphNode first = addAdd(a, b, 1);
  addAdd(b, c, 2, {{first}});
  for (int seed = 0; seed < 4; ++seed) {
    driver().setSeed(seed);
    ASSERT_EQ(launch(), CUDA_SUCCESS) << lastError();
    EXPECT_EQ(download<int>(c, 32), std::vector<int>(32, 3));
  }
}

TEST_F(GraphTest, FindsReadAfterWrite) {
  CUdeviceptr a = words(), b = words(), c = allocate(128);
  addAdd(a, b, 1);
  addAdd(b, c, 2);
  expectHazard({"node 0, kernel 'add', writes byte 0",
                "which node 1, kernel 'add', reads, and no edge orders"});
}

TEST_F(GraphTest, FindsWriteAfterRead) {
  CUdeviceptr a = words(), b = allocate(128), c = words();
  addAdd(a, b, 1);
  addAdd(c, a, 2);
  expectHazard({"node 1, kernel 'add', writes byte 0",
                "which node 0, kernel 'add', reads"});
}

TEST_F(GraphTest, FindsWriteAfterWrite) {
  CUdeviceptr a = words(), b = allocate(128);
  addAdd(a, b, 1);
  addAdd(a, b, 2);
  expectHazard({"writes byte 0", "kernel 'add', writes, and no edge"});
}

TEST_F(GraphTest, BranchesThatShareOnlyReadsAreRight) {
  CUdeviceptr a = words(), b = allocate(128), c = allocate(128);
  CUgraphNode left = addAdd(a, b, 1), right = addAdd(a, c, 2);
  // Buffer a is reused, as in an arena: it is written after both nodes have
  // read it.
  addAdd(b, a, 5, {{left}, {right}});
  ASSERT_EQ(launch(), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(download<int>(a, 1)[0], 6);
}

TEST_F(GraphTest, ChecksCopiesAndFills) {
  CUdeviceptr a = words(), b = allocate(128);
  CUgraphNodeParams fill = zero(CU_GRAPH_NODE_TYPE_MEMSET);
  fill.memset.dst = a;
  fill.memset.value = 9;
  fill.memset.elementSize = 4;
  fill.memset.width = 32;
  fill.memset.height = 1;
  CUgraphNode filled = add(graph, fill, {});
  CUgraphNodeParams copy = zero(CU_GRAPH_NODE_TYPE_MEMCPY);
  copy.memcpy.copyParams.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.memcpy.copyParams.srcDevice = a;
  copy.memcpy.copyParams.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.memcpy.copyParams.dstDevice = b;
  copy.memcpy.copyParams.WidthInBytes = 128;
  copy.memcpy.copyParams.Height = copy.memcpy.copyParams.Depth = 1;
  add(graph, copy, {{filled}});
  ASSERT_EQ(launch(), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(download<int>(b, 32), std::vector<int>(32, 9));
  // Adds one more node that nothing orders.
  ASSERT_EQ(driver().cuGraphExecDestroy(exec), CUDA_SUCCESS);
  exec = nullptr;
  add(graph, copy, {});
  expectHazard({"node 0, a fill, writes", "node 2, a copy, reads"});
}

TEST_F(GraphTest, ProgrammaticEdgesLetWeightsBeLoadedEarly) {
  CUdeviceptr w = words(), a = words(), b = allocate(128), c = allocate(128);
  CUgraphNode first = addKernel("prefetch", {&w, &a, &b});
  CUgraphNode second = addKernel("prefetch", {&w, &b, &c}, {{first, true}});
  CUdeviceptr d = allocate(128);
  addKernel("prefetch", {&w, &c, &d}, {{second, true}});
  for (int seed = 0; seed < 4; ++seed) {
    driver().setSeed(seed);
    EXPECT_EQ(launch(), CUDA_SUCCESS) << lastError();
  }
}

TEST_F(GraphTest, BlocksBeginEarlyAndMeetBarriers) {
  // Uses more blocks than begin early.
  std::vector<int> ones(320, 1);
  CUdeviceptr w = upload(ones), a = upload(ones), b = allocate(1280),
              c = allocate(1280);
  CUgraphNode first = addKernel("prefetch_blocks", {&w, &a, &b}, {}, 10);
  addKernel("prefetch_blocks", {&w, &b, &c}, {{first, true}}, 10);
  ASSERT_EQ(launch(), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(download<int>(c, 320), std::vector<int>(320, 3));
}

TEST_F(GraphTest, FindsAReadAheadOfTheWait) {
  CUdeviceptr w = words(), a = words(), b = words(), c = allocate(128);
  CUgraphNode first = addKernel("prefetch", {&w, &a, &b});
  // b is written by the first kernel, and read as if it were a weight.
  addKernel("prefetch", {&b, &a, &c}, {{first, true}});
  expectHazard({"node 0, kernel 'prefetch', writes byte 0",
                "which node 1, kernel 'prefetch', reads ahead of its "
                "griddepcontrol.wait"});
}

TEST_F(GraphTest, AnEarlyReadFindsWhatWasThereBefore) {
  // The buffer was not written: the consumer really runs before the producer.
  CUdeviceptr w = words(), a = words(), b = allocate(128), c = allocate(128);
  CUgraphNode first = addKernel("prefetch", {&w, &a, &b});
  addKernel("prefetch", {&b, &a, &c}, {{first, true}});
  expectHazard({"uninitialised: load of 4 bytes at byte 0"});
}

TEST_F(GraphTest, FindsAnEarlyReadBehindTwoProgrammaticEdges) {
  CUdeviceptr w = words(), a = words(), b = words(), c = allocate(128),
              d = allocate(128);
  CUgraphNode first = addKernel("prefetch", {&w, &a, &b});
  CUgraphNode second = addKernel("prefetch", {&w, &a, &c}, {{first, true}});
  addKernel("prefetch", {&b, &c, &d}, {{second, true}});
  expectHazard({"node 0", "node 2, kernel 'prefetch', reads ahead"});
}

TEST_F(GraphTest, AFullEdgeBetweenOrdersEarlyReads) {
  CUdeviceptr w = words(), a = words(), b = words(), c = allocate(128),
              d = allocate(128);
  CUgraphNode first = addKernel("prefetch", {&w, &a, &b});
  CUgraphNode second = addKernel("prefetch", {&w, &a, &c}, {{first}});
  addKernel("prefetch", {&b, &c, &d}, {{second, true}});
  EXPECT_EQ(launch(), CUDA_SUCCESS) << lastError();
}

TEST_F(GraphTest, LateReadsAreOrderedByAChainOfProgrammaticEdges) {
  CUdeviceptr w = words(), a = words(), b = words(), c = allocate(128),
              d = allocate(128);
  CUgraphNode first = addKernel("prefetch", {&w, &a, &b});
  CUgraphNode second = addKernel("prefetch", {&w, &a, &c}, {{first, true}});
  addKernel("prefetch", {&w, &b, &d}, {{second, true}});
  EXPECT_EQ(launch(), CUDA_SUCCESS) << lastError();
}

TEST_F(GraphTest, EveryThreadBehindAProgrammaticEdgeWaits) {
  CUdeviceptr w = words(), a = words(), b = allocate(128), c = words();
  CUgraphNode first = addKernel("prefetch", {&w, &a, &b});
  CUgraphNode second = addKernel("never_waits", {&c}, {{first}});
  EXPECT_EQ(launch(), CUDA_SUCCESS) << lastError();
  ASSERT_EQ(driver().cuGraphExecDestroy(exec), CUDA_SUCCESS);
  exec = nullptr;
  addKernel("never_waits", {&c}, {{first, true}, {second}});
  expectHazard({"kernel 'never_waits' block (0, 0, 0) thread (0, 0, 0): "
                "expected griddepcontrol.wait in every thread"});
}

TEST_F(GraphTest, NothingIsStoredAheadOfTheWait) {
  CUdeviceptr w = words(), a = words(), b = allocate(128), c = words();
  CUgraphNode first = addKernel("prefetch", {&w, &a, &b});
  addKernel("store_early", {&c}, {{first, true}});
  expectHazard({"kernel 'store_early'",
                "store of 4 bytes ahead of griddepcontrol.wait"});
}

TEST_F(GraphTest, AStoreBeforeTheWaitIsRightWithoutTheEdge) {
  CUdeviceptr w = words(), a = words(), b = allocate(128), c = words();
  CUgraphNode first = addKernel("prefetch", {&w, &a, &b});
  std::vector<void *> values = {&c};
  add(graph, kernelParams("store_early", values, 1, 1), {{first}});
  EXPECT_EQ(launch(), CUDA_SUCCESS) << lastError();
}

TEST_F(GraphTest, LoopsWhileAKernelSaysSo) {
  CUgraphNodeParams loop =
      conditional(graph, CU_GRAPH_COND_TYPE_WHILE, /*bodies=*/1, /*initial=*/1);
  CUgraphNode node = nullptr;
  ASSERT_EQ(tryAdd(graph, loop, {}, node), CUDA_SUCCESS) << lastError();
  CUdeviceptr counter = upload(std::vector<int>{0});
  int limit = 7;
  std::vector<void *> values = {&counter, &loop.conditional.handle, &limit};
  add(loop.conditional.phGraph_out[0], kernelParams("step", values), {});
  ASSERT_EQ(launch(), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(download<int>(counter, 1)[0], 7);
  // The default value again: one more turn.
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(download<int>(counter, 1)[0], 8);
  // Only one instance at a time.
  CUgraphExec second = nullptr;
  EXPECT_EQ(driver().cuGraphInstantiate(&second, graph, 0),
            CUDA_ERROR_INVALID_VALUE);
  expectMessage({"one instance at a time"});
  // A child graph may not contain the node.
  CUgraph parent = nullptr;
  ASSERT_EQ(driver().cuGraphCreate(&parent, 0), CUDA_SUCCESS);
  CUgraphNodeParams child = zero(CU_GRAPH_NODE_TYPE_GRAPH);
  child.graph.graph = graph;
  EXPECT_EQ(tryAdd(parent, child, {}, node), CUDA_ERROR_INVALID_VALUE);
  expectMessage({"child graph without conditional nodes"});
  // Another node may not use its handle.
  EXPECT_EQ(tryAdd(graph, loop, {}, node), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tryAdd(parent, loop, {}, node), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuGraphDestroy(parent), CUDA_SUCCESS);
}

TEST_F(GraphTest, TakesOneOfTwoBodies) {
  for (unsigned initial : {0, 1}) {
    CUgraph one = nullptr;
    ASSERT_EQ(driver().cuGraphCreate(&one, 0), CUDA_SUCCESS);
    CUgraphNodeParams choice =
        conditional(one, CU_GRAPH_COND_TYPE_IF, /*bodies=*/2, initial);
    CUgraphNode node = nullptr;
    ASSERT_EQ(tryAdd(one, choice, {}, node), CUDA_SUCCESS) << lastError();
    CUdeviceptr a = words(), b = allocate(128);
    for (int body : {0, 1}) {
      int c = body + 10;
      std::vector<void *> values = {&a, &b, &c};
      add(choice.conditional.phGraph_out[body], kernelParams("add", values),
          {});
    }
    CUgraphExec instance = nullptr;
    ASSERT_EQ(driver().cuGraphInstantiate(&instance, one, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver().cuGraphLaunch(instance, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(download<int>(b, 1)[0], initial ? 10 : 11);
    EXPECT_EQ(driver().cuGraphExecDestroy(instance), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuGraphDestroy(one), CUDA_SUCCESS);
  }
}

TEST_F(GraphTest, AConditionThatNothingSetIsAnError) {
  CUgraphNodeParams loop =
      conditional(graph, CU_GRAPH_COND_TYPE_WHILE, /*bodies=*/1, /*initial=*/0,
                  /*flags=*/0);
  EXPECT_EQ(launch(), CUDA_ERROR_INVALID_VALUE);
  expectMessage({"expected a node for each condition"});
  add(graph, loop, {});
  expectHazard({"node 0, a conditional,", "expected its condition to be set"});
}

TEST_F(GraphTest, OnlyTheGraphsOwnConditionsCanBeSet) {
  CUdeviceptr counter = upload(std::vector<int>{0});
  CUgraphConditionalHandle handle = 123456;
  int limit = 7;
  addKernel("step", {&counter, &handle, &limit});
  expectHazard({"cudaGraphSetConditional: expected a handle of the graph that "
                "runs, got 123456"});
}

TEST_F(GraphTest, BodiesTakeFewTypesOfNodes) {
  CUgraphNodeParams loop =
      conditional(graph, CU_GRAPH_COND_TYPE_IF, /*bodies=*/1, /*initial=*/1);
  CUgraphNode node = nullptr;
  ASSERT_EQ(tryAdd(graph, loop, {}, node), CUDA_SUCCESS);
  CUgraph body = loop.conditional.phGraph_out[0];
  CUgraphNodeParams host = zero(CU_GRAPH_NODE_TYPE_HOST);
  EXPECT_EQ(tryAdd(body, host, {}, node), CUDA_ERROR_INVALID_VALUE);
  expectMessage({"in a conditional node's body, got type"});
  EXPECT_EQ(tryAdd(graph, host, {}, node), CUDA_ERROR_NOT_SUPPORTED);
  int pageable[4] = {};
  CUgraphNodeParams copy = zero(CU_GRAPH_NODE_TYPE_MEMCPY);
  copy.memcpy.copyParams.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.memcpy.copyParams.srcHost = pageable;
  copy.memcpy.copyParams.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.memcpy.copyParams.dstDevice = words();
  copy.memcpy.copyParams.WidthInBytes = 16;
  copy.memcpy.copyParams.Height = copy.memcpy.copyParams.Depth = 1;
  EXPECT_EQ(tryAdd(body, copy, {}, node), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(tryAdd(graph, copy, {}, node), CUDA_SUCCESS) << lastError();
}

TEST_F(GraphTest, ChecksPaddingAndEdges) {
  CUdeviceptr a = words(), b = words();
  int c = 1;
  std::vector<void *> values = {&a, &b, &c};
  CUgraphNode node = nullptr, first = addAdd(a, b, 1);
  CUgraphNodeParams params = kernelParams("add", values);
  params.reserved2 = 1;
  EXPECT_EQ(tryAdd(graph, params, {}, node), CUDA_ERROR_INVALID_VALUE);
  expectMessage({"expected zero in all bytes"});
  params = kernelParams("add", values);
  params.reserved1[28] = 1;
  EXPECT_EQ(tryAdd(graph, params, {}, node), CUDA_ERROR_INVALID_VALUE);
  params = kernelParams("add", values);
  EXPECT_EQ(tryAdd(graph, params, {{first}, {first}}, node),
            CUDA_ERROR_INVALID_VALUE);
  expectMessage({"one edge from a node, got two"});
  CUgraphNodeParams empty = zero(CU_GRAPH_NODE_TYPE_EMPTY);
  EXPECT_EQ(tryAdd(graph, empty, {{first, true}}, node),
            CUDA_ERROR_INVALID_VALUE);
  expectMessage({"expected kernels at both ends of a programmatic edge"});
  CUgraphEdgeData edge = {};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  EXPECT_EQ(driver().cuGraphAddNode(&node, graph, &first, &edge, 1, &params),
            CUDA_ERROR_INVALID_VALUE);
  CUgraph other = nullptr;
  ASSERT_EQ(driver().cuGraphCreate(&other, 0), CUDA_SUCCESS);
  EXPECT_EQ(tryAdd(other, params, {{first}}, node), CUDA_ERROR_INVALID_VALUE);
  expectMessage({"expected dependences on nodes of the same graph"});
  ASSERT_EQ(driver().cuGraphDestroy(other), CUDA_SUCCESS);
  EXPECT_EQ(tryAdd(other, params, {}, node), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuGraphDestroy(other), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(GraphTest, ParametersAreCopiedWhenANodeIsAdded) {
  CUdeviceptr a = words(), b = allocate(128);
  int c = 1;
  std::vector<void *> values = {&a, &b, &c};
  CUgraphNode node = add(graph, kernelParams("add", values), {});
  c = 100;
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(download<int>(b, 1)[0], 1);
  CUDA_KERNEL_NODE_PARAMS changed = {};
  CUgraphNodeParams now = kernelParams("add", values);
  std::memcpy(&changed, &now.kernel, sizeof changed);
  ASSERT_EQ(driver().cuGraphExecKernelNodeSetParams(exec, node, &changed),
            CUDA_SUCCESS)
      << lastError();
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(download<int>(b, 1)[0], 100);
}

TEST_F(GraphTest, UpdatesToAGraphOfTheSameShape) {
  CUdeviceptr a = words(), b = allocate(128);
  addAdd(a, b, 1);
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  CUgraph source = graph, next = nullptr;
  ASSERT_EQ(driver().cuGraphCreate(&next, 0), CUDA_SUCCESS);
  graph = next;
  CUgraphNode first = addAdd(a, b, 4);
  CUgraphExecUpdateResultInfo info;
  ASSERT_EQ(driver().cuGraphExecUpdate(exec, next, &info), CUDA_SUCCESS);
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(download<int>(b, 1)[0], 4);
  addAdd(a, b, 5, {{first}});
  EXPECT_EQ(driver().cuGraphExecUpdate(exec, next, &info),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  graph = source;
  EXPECT_EQ(driver().cuGraphDestroy(next), CUDA_SUCCESS);
}

TEST_F(GraphTest, RunsAChildGraphAsOneNode) {
  CUdeviceptr a = words(), b = allocate(128), c = allocate(128);
  CUgraph parent = graph, inner = nullptr;
  ASSERT_EQ(driver().cuGraphCreate(&inner, 0), CUDA_SUCCESS);
  graph = inner;
  addAdd(a, b, 1);
  graph = parent;
  CUgraphNodeParams child = zero(CU_GRAPH_NODE_TYPE_GRAPH);
  child.graph.graph = inner;
  CUgraphNode node = add(graph, child, {});
  EXPECT_EQ(driver().cuGraphDestroy(inner), CUDA_SUCCESS);
  addAdd(b, c, 1, {{node}});
  ASSERT_EQ(launch(), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(download<int>(c, 1)[0], 2);
  ASSERT_EQ(driver().cuGraphExecDestroy(exec), CUDA_SUCCESS);
  exec = nullptr;
  addAdd(b, a, 1, {});
  expectHazard({"node 0, a child graph, writes byte 0"});
}

TEST_F(GraphTest, TakeMemoryWhenTheyAreUploaded) {
  CUdeviceptr a = words(), b = allocate(128);
  addAdd(a, b, 1);
  auto unused = [] {
    size_t unused = 0, all = 0;
    EXPECT_EQ(driver().cuMemGetInfo(&unused, &all), CUDA_SUCCESS);
    return unused;
  };
  ASSERT_EQ(driver().cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
  const size_t before = unused(), all = 16ull << 30;
  ASSERT_EQ(driver().inject("memory", all - before + 3071), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuGraphUpload(exec, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver().cuGraphLaunch(exec, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  expectMessage({"expected at most 3071 bytes, which are free, got 3072"});
  ASSERT_EQ(driver().inject("memory", all), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuGraphUpload(exec, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(unused(), before - 3072);
  ASSERT_EQ(driver().cuGraphExecDestroy(exec), CUDA_SUCCESS);
  exec = nullptr;
  EXPECT_EQ(unused(), before);
}

TEST_F(GraphTest, FindsStaleInstances) {
  CUdeviceptr a = words(), b = allocate(128);
  addAdd(a, b, 1);
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuGraphUpload(exec, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuGraphLaunch(exec, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuGraphExecDestroy(exec), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuGraphUpload(exec, nullptr), CUDA_ERROR_INVALID_HANDLE);
  exec = nullptr;
}

//===----------------------------------------------------------------------===//
// Scratch memory
//===----------------------------------------------------------------------===//

TEST_F(GraphTest, ScratchMemoryIsWrittenByTheSameGraphOrTheHost) {
  CUdeviceptr a = words(), b = allocate(128), c = allocate(128);
  ASSERT_EQ(driver().setScratch(b), CUDA_SUCCESS);
  CUgraphNode first = addAdd(a, b, 1);
  addAdd(b, c, 2, {{first}});
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_EQ(launch(), CUDA_SUCCESS) << lastError();
    // The host reads what a graph left.
    EXPECT_EQ(download<int>(b, 32), std::vector<int>(32, 1));
  }
  CUgraph reader = nullptr;
  CUgraphExec instance = nullptr;
  ASSERT_EQ(driver().cuGraphCreate(&reader, 0), CUDA_SUCCESS);
  int none = 0;
  std::vector<void *> values = {&b, &c, &none};
  add(reader, kernelParams("add", values), {});
  ASSERT_EQ(driver().cuGraphInstantiate(&instance, reader, 0), CUDA_SUCCESS);
  auto read = [&] {
    CUresult result = driver().cuGraphLaunch(instance, nullptr);
    return result == CUDA_SUCCESS ? driver().cuCtxSynchronize() : result;
  };
  ASSERT_EQ(driver().cuMemsetD32(b, 7, 32), CUDA_SUCCESS);
  EXPECT_EQ(read(), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(download<int>(c, 32), std::vector<int>(32, 7));
  // That was for the next graph only.
  EXPECT_EQ(read(), CUDA_ERROR_LAUNCH_FAILED);
  expectMessage({"uninitialised: load of 4 bytes at byte 0 of an allocation"});
  driver().revive();
  ASSERT_EQ(launch(), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(read(), CUDA_ERROR_LAUNCH_FAILED) << "another graph wrote it";
  driver().revive();
  driver().cuGraphExecDestroy(instance);
  driver().cuGraphDestroy(reader);
}

TEST_F(GraphTest, ScratchMemoryIsKeptForOneGraph) {
  CUdeviceptr scratch = words(), out = allocate(128);
  ASSERT_EQ(driver().setScratch(scratch), CUDA_SUCCESS);
  EXPECT_EQ(driver().keepScratch(out), CUDA_ERROR_INVALID_VALUE);
  addAdd(scratch, out, 1, {});
  ASSERT_EQ(driver().cuMemsetD32(scratch, 7, 32), CUDA_SUCCESS);
  ASSERT_EQ(launch(), CUDA_SUCCESS) << lastError();
  ASSERT_EQ(driver().keepScratch(scratch), CUDA_SUCCESS);
  ASSERT_EQ(launch(), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(launch(), CUDA_ERROR_LAUNCH_FAILED);
  expectMessage({"kernel 'add'", "uninitialised"});
  driver().revive();
}

TEST_F(GraphTest, ScratchMemoryIsATurnsOwn) {
  CUdeviceptr scratch = words(), out = allocate(128);
  ASSERT_EQ(driver().setScratch(scratch), CUDA_SUCCESS);
  CUgraphNodeParams loop =
      conditional(graph, CU_GRAPH_COND_TYPE_WHILE, /*bodies=*/1, /*initial=*/1);
  CUgraphNode node = nullptr;
  ASSERT_EQ(tryAdd(graph, loop, {}, node), CUDA_SUCCESS) << lastError();
  CUgraph body = loop.conditional.phGraph_out[0];
  CUdeviceptr counter = upload(std::vector<int>{0});
  int limit = 1, none = 0;
  std::vector<void *> step = {&counter, &loop.conditional.handle, &limit};
  add(body, kernelParams("step", step), {});
  std::vector<void *> values = {&scratch, &out, &none};
  add(body, kernelParams("add", values), {});
  // A single turn reads what the host wrote, and the memory keeps it after the
  // loop.
  addAdd(scratch, out, 1, {{node}});
  ASSERT_EQ(driver().cuMemsetD32(scratch, 7, 32), CUDA_SUCCESS);
  ASSERT_EQ(launch(), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(download<int>(out, 32), std::vector<int>(32, 8));
  // A second turn may not read it.
  ASSERT_EQ(driver().cuMemsetD32(scratch, 7, 32), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuMemsetD32(counter, unsigned(-1), 1), CUDA_SUCCESS);
  EXPECT_EQ(launch(), CUDA_ERROR_LAUNCH_FAILED);
  expectMessage({"kernel 'add'", "uninitialised"});
  driver().revive();
}
