//===- Kernels.cpp - An artifact of kernels written by hand ---------------===//

#include "Kernels.h"
#include "test/Cuda/LoopImage.h"
#include "test/GpuSim/CompileText.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

/// First lines of every kernel: block, lane, and the element of both.
static const char *const kBegin = R"(
    %c32 = arith.constant 32 : i64
    %c64 = arith.constant 64 : i64
    %block_index = gpu.block_id x
    %lane_index = gpu.thread_id x
    %block = arith.index_cast %block_index : index to i64
    %lane = arith.index_cast %lane_index : index to i64
    %base = arith.muli %block, %c32 : i64
    %element = arith.addi %base, %lane : i64
)";
static const char *const kEnd = R"(
    nvvm.griddepcontrol launch_dependents
    gpu.return
  }
)";

/// Returns the line "%name = array[index]".
static std::string load(const std::string &name, const std::string &array,
                        const std::string &index) {
  return "    %at_" + name + " = llvm.getelementptr " + array + "[" + index +
         "] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32\n    %" + name +
         " = llvm.load %at_" + name + " : !llvm.ptr<1> -> i32\n";
}

static std::string store(const std::string &value, const std::string &array,
                         const std::string &index) {
  return "    %to_" + value + " = llvm.getelementptr " + array + "[" + index +
         "] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32\n    llvm.store %" +
         value + ", %to_" + value + " : i32, !llvm.ptr<1>\n";
}

static std::string kernel(const std::string &name,
                          const std::vector<std::string> &buffers,
                          const std::string &ahead, const std::string &behind,
                          const std::string &params = "%n: i64") {
  std::string text = "  gpu.func @" + name + "(";
  for (const std::string &buffer : buffers)
    text += "%" + buffer + ": !llvm.ptr<1>, ";
  return text + params + ") kernel {" + kBegin + ahead +
         "    nvvm.griddepcontrol wait\n" + behind + kEnd;
}

static std::string countKernel() {
  return kernel("mtp_count", {"count"}, "",
                load("old", "%count", "%block") + R"(
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i64
    %new = arith.addi %old, %one : i32
    gpu.barrier
    %first = arith.cmpi eq, %lane, %zero : i64
    scf.if %first {
)" + store("new", "%count", "%block") +
                    "    }\n");
}

static std::string fillKernel() {
  return kernel("fill", {"count", "table", "kv"}, "",
                load("times", "%count", "%block") + R"(
    %hundred = arith.constant 100 : i32
    %three = arith.constant 3 : i64
    %wide = arith.trunci %lane : i64 to i32
    %sum = arith.muli %times, %hundred : i32
    %value = arith.addi %sum, %wide : i32
    %entry = arith.muli %block, %three : i64
)" + load("page", "%table", "%entry") +
                    R"(
    %number = arith.extsi %page : i32 to i64
    %start = arith.muli %number, %c64 : i64
    %place = arith.addi %start, %lane : i64
)" + store("value", "%kv", "%place"));
}

static std::string seeKernel() {
  return kernel("see", {"table", "kv", "out"}, "",
                "    %three = arith.constant 3 : i64\n"
                "    %entry = arith.muli %block, %three : i64\n" +
                    load("page", "%table", "%entry") + R"(
    %number = arith.extsi %page : i32 to i64
    %start = arith.muli %number, %c64 : i64
    %place = arith.addi %start, %lane : i64
)" + load("value", "%kv", "%place") +
                    store("value", "%out", "%element"));
}

/// Returns a kernel that computes again[slot] = limit[slot] - count[slot] and
/// counts[slot] = count[slot].
static std::string againKernel() {
  return kernel("again", {"count", "limit", "counts", "again"}, "",
                load("now", "%count", "%block") +
                    load("most", "%limit", "%block") + R"(
    %zero = arith.constant 0 : i64
    %rest = arith.subi %most, %now : i32
    %first = arith.cmpi eq, %lane, %zero : i64
    scf.if %first {
)" + store("rest", "%again", "%block") +
                    store("now", "%counts", "%block") + "    }\n");
}

static std::string affineKernel() {
  return kernel("affine", {"w", "c", "x", "y"}, load("w0", "%w", "%lane"),
                load("x0", "%x", "%element") + load("c0", "%c", "%lane") + R"(
    %product = arith.muli %w0, %x0 : i32
    %sum = arith.addi %product, %c0 : i32
)" + store("sum", "%y", "%element"));
}

/// Returns a kernel that computes y = factor * x, through the end of the shared
/// memory.
static std::string scaleKernel() {
  return kernel("scale", {"x", "y"}, "", load("x0", "%x", "%element") + R"(
    %narrow = arith.trunci %factor : i64 to i32
    %product = arith.muli %x0, %narrow : i32
    %far = arith.constant 16000 : i64
    %spot = arith.addi %far, %lane : i64
    %shared = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
    %at = llvm.getelementptr %shared[%spot]
        : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i32
    llvm.store %product, %at : i32, !llvm.ptr<3>
    gpu.barrier
    %again = llvm.load %at : !llvm.ptr<3> -> i32
)" + store("again", "%y", "%element"),
                "%n: i64, %factor: i64");
}

static std::string beyondKernel() {
  return kernel("beyond", {"x", "y"}, "",
                "    %far = arith.addi %element, %c64 : i64\n" +
                    load("x0", "%x", "%far") + store("x0", "%y", "%element"));
}

/// Returns a kernel that runs after a round, and never says whether another one
/// follows.
static std::string neverKernel() {
  return kernel("never", {"again", "control"}, "", "", "%n: i64, %handle: i64");
}

const std::vector<uint8_t> &mtp::test::gpuImage() {
  static const std::vector<uint8_t> image = [] {
    gpusim::test::CompiledImage compiled = gpusim::test::compileForSimulator(
        "module attributes {gpu.container_module} {\ngpu.module @kernels {\n"
        "  llvm.mlir.global external @dynamic() {addr_space = 3 : i32} : "
        "!llvm.array<0 x i8>\n" +
        countKernel() + fillKernel() + seeKernel() + againKernel() +
        affineKernel() + scaleKernel() + beyondKernel() + neverKernel() +
        "}\n}\n");
    EXPECT_EQ(compiled.error, "");
    return std::vector<uint8_t>(compiled.image.begin(), compiled.image.end());
  }();
  return image;
}

static const std::vector<uint8_t> &loopImage() {
  static const std::vector<uint8_t> image = [] {
    gpusim::test::CompiledImage compiled =
        gpusim::test::compileForSimulator(loopKernels());
    EXPECT_EQ(compiled.error, "");
    return std::vector<uint8_t>(compiled.image.begin(), compiled.image.end());
  }();
  return image;
}

//===----------------------------------------------------------------------===//
// The artifact
//===----------------------------------------------------------------------===//

namespace {
using Space = schema::Space;
constexpr uint64_t kRowBytes = kRow * 4;

/// Adds the commands of one program, whose numbers grow with n.
class ProgramWriter {
public:
  ProgramWriter(ArtifactBuilder &a, const std::string &name) : a(a) {
    p.name = name;
  }

  void run(const std::string &kernel, std::vector<Binding> bindings,
           std::vector<int64_t> params, bool grows,
           int64_t rowBytes = kRowBytes) {
    ArtifactBuilder::Command command;
    command.kernel =
        a.kernel(kernel, uint32_t(bindings.size()), uint32_t(params.size()));
    command.bindings = std::move(bindings);
    command.params = std::move(params);
    for (const Binding &binding : command.bindings) {
      bool isArena = binding.space == Space::Arena;
      command.bindingGrowth.push_back({0, grows && isArena ? rowBytes : 0});
    }
    command.paramGrowth = {grows ? 1 : 0};
    p.commands.push_back(std::move(command));
  }

  ArtifactBuilder &a;
  ArtifactBuilder::Program p;
};
} // namespace

static Binding state(const ArtifactBuilder &a, const std::string &name) {
  for (uint32_t i = 0; i < a.states.size(); ++i) {
    uint64_t bytes = 4;
    for (uint64_t dim : a.states[i].shape)
      bytes *= dim;
    if (a.states[i].name == name)
      return Binding(Space::State, i, 0, bytes);
  }
  std::abort();
}

static void addStates(ArtifactBuilder &a) {
  ArtifactBuilder::Upkeep slot, shared{.shared = true};
  auto add = [&](const char *name, std::vector<uint64_t> shape,
                 ArtifactBuilder::Upkeep upkeep) {
    a.addState(name, std::move(shape), schema::DType::I32, upkeep);
  };
  add("page_table", {kSlots, 3}, slot);
  add("out_tokens", {kSlots, 1}, slot);
  add("out_count", {kSlots}, slot);
  add("prompt_tokens", {1, 4}, shared);
  add("count", {kSlots}, slot);
  add("limit", {kSlots}, slot);
  add("counts", {kSlots}, slot);
}

static void addRounds(ArtifactBuilder &a) {
  for (bool isPrefill : {false, true}) {
    ProgramWriter w(a, isPrefill ? "prefill" : "decode");
    w.p.kind =
        isPrefill ? schema::ProgramKind::Prefill : schema::ProgramKind::Decode;
    w.p.batch = w.p.chunk = 1;
    w.p.end = isPrefill ? 5 : kSlots + 1;
    w.p.arenaBytes = kRowBytes + 4 * 8 + 4;
    w.p.arenaGrowth = kRowBytes;
    Binding kv(Space::Kv, 0, 1, 0), out(Space::Arena, 0, 64, kRowBytes);
    if (!isPrefill) {
      Binding count = state(a, "count"), table = state(a, "page_table");
      w.run("mtp.count", {count}, {1}, true);
      w.run("fill", {count, table, kv}, {1}, true);
      w.run("see", {table, kv, out}, {1}, true);
      Binding again(Space::Arena, 0, 48, 4);
      w.run("again", {count, state(a, "limit"), state(a, "counts"), again}, {1},
            true, 4);
      ArtifactBuilder::Port port = {"again", again, schema::DType::I32, {1}};
      port.bindingGrowth = {0, 4};
      port.shapeGrowth = {1};
      w.p.outputs.push_back(port);
    }
    // Outputs that sessions read but tests ignore: kernels write to these
    // places.
    Binding logits(Space::Arena, 0, 64, kRowBytes),
        picks(Space::Arena, 0, 48, 4);
    w.p.outputs.insert(w.p.outputs.begin(),
                       {{"logits", logits, schema::DType::F32, {1, kRow}},
                        {"picks", picks, schema::DType::I32, {1}}});
    if (!isPrefill) {
      w.p.outputs[0].bindingGrowth = {0, kRowBytes};
      w.p.outputs[0].shapeGrowth = {1};
      w.p.outputs[1].bindingGrowth = {0, 4};
      w.p.outputs[1].shapeGrowth = {1};
    }
    w.p.arenaBytes = 64 + kRowBytes;
    a.programs.push_back(std::move(w.p));
  }
  a.arenaBytes = 1024;
}

static void addFunctions(ArtifactBuilder &a) {
  Binding x(Space::Arena, 0, 0, 2 * kRowBytes);
  Binding middle(Space::Arena, 0, 256, 2 * kRowBytes);
  Binding y(Space::Arena, 0, 512, 2 * kRowBytes);
  Binding weight(Space::Weight, 0, 0, kRowBytes);
  Binding constant(Space::Constant, 0, 0, kRowBytes);
  for (bool isBeyond : {false, true}) {
    ProgramWriter w(a, isBeyond ? "beyond" : "affine");
    if (isBeyond) {
      // The last row of the arena: memory after it belongs to no buffer.
      x = Binding(Space::Arena, 0, 1024 - 2 * kRowBytes, 2 * kRowBytes);
      w.run("beyond", {x, y}, {2}, false);
    } else {
      w.run("scale", {x, middle}, {2, 2}, false);
      w.run("affine", {weight, constant, middle, y}, {2}, false);
    }
    w.p.arenaBytes = 1024;
    w.p.inputs = {{"arg0", x, schema::DType::I32, {2, kRow}}};
    w.p.outputs = {{"result0", y, schema::DType::I32, {2, kRow}}};
    a.programs.push_back(std::move(w.p));
  }
}

/// Returns thirty-two numbers: first, first + step, ..
static std::vector<uint8_t> numbers(int32_t first, int32_t step) {
  std::vector<uint8_t> bytes(kRowBytes);
  for (int32_t i = 0; i < int32_t(kRow); ++i) {
    int32_t value = first + i * step;
    std::memcpy(&bytes[size_t(i) * 4], &value, 4);
  }
  return bytes;
}

ArtifactBuilder mtp::test::makeGpuModel() {
  ArtifactBuilder a;
  a.arch = "nvptx";
  a.cpu = "gpu-sim";
  a.imageFormat = schema::ImageFormat::Hosted;
  a.envelope = {.maxK = 0,
                .maxBatch = kSlots,
                .maxContext = 95,
                .chunk = 4,
                .page = 32,
                .vocab = kRow};
  a.caches.push_back({"kv", 2, kPageElements / 32});
  addStates(a);
  a.images.push_back(a.addSegment(schema::SegmentKind::Image, gpuImage()));
  a.images.push_back(a.addSegment(schema::SegmentKind::Image, loopImage()));
  a.deviceLoop = 1;
  uint32_t weights = a.addSegment(schema::SegmentKind::Weights, numbers(3, 1));
  uint32_t constants =
      a.addSegment(schema::SegmentKind::Constants, numbers(1000, 10));
  a.weights.push_back({"w", weights, 0, kRowBytes, schema::DType::I32, {kRow}});
  a.constants.push_back(
      {"c", constants, 0, kRowBytes, schema::DType::I32, {kRow}});
  addRounds(a);
  addFunctions(a);
  for (ArtifactBuilder::Kernel &kernel : a.kernels) {
    kernel.image = 0;
    kernel.launch = {kRow, kernel.symbol == "scale" ? 64u << 10 : 0};
  }
  return a;
}
