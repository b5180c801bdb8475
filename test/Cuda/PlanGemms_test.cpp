//===- PlanGemms_test.cpp - Choice of a product's algorithm ---------------===//

#include "DeviceFixture.h"
#include "runtime/device/cuda/PlanGemms.h"
#include "runtime/device/cuda/TuneGemms.h"

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr GemmShape kShape = {16, 24, 64, 1024};
/// Word of an algorithm in which the simulated library keeps the number of
/// chains, which need a workspace.
constexpr size_t kChainsWord = 4;

/// Entry of a file for an algorithm.
struct Known {
  uint64_t version;
  std::string chip;
  GemmShape shape;
  std::vector<uint64_t> words;
};

class PlanGemmsTest : public CudaContextTest {
protected:
  void SetUp() override {
    CudaContextTest::SetUp();
    library = *GemmLibrary::open(context);
  }

  /// Creates the products of a plan with one product, as if read from a file.
  Result<std::unique_ptr<PlanGemms>> create(const std::vector<Known> &known) {
    fbb.Clear();
    std::vector<flatbuffers::Offset<schema::GemmAlgorithm>> entries;
    for (const Known &k : known)
      entries.push_back(schema::CreateGemmAlgorithmDirect(
          fbb, k.version, k.chip.c_str(), k.shape.rows, k.shape.outputs,
          k.shape.inputs, &k.words));
    auto gemm = schema::CreateGemm(fbb, kShape.outputs, kShape.inputs,
                                   kShape.workspace);
    auto symbol = fbb.CreateString("product");
    schema::KernelBuilder kernel(fbb);
    kernel.add_symbol(symbol);
    kernel.add_buffers(4);
    kernel.add_params(1);
    kernel.add_image(-1);
    kernel.add_gemm(gemm);
    std::vector<flatbuffers::Offset<schema::Kernel>> kernels = {
        kernel.Finish()};
    auto list = fbb.CreateVector(kernels);
    auto algorithms = fbb.CreateVector(entries);
    auto target = schema::CreateTargetDirect(fbb, "nvptx");
    schema::PlanBuilder table(fbb);
    table.add_target(target);
    table.add_kernels(list);
    table.add_gemm_algorithms(algorithms);
    fbb.Finish(table.Finish());
    const auto *read =
        flatbuffers::GetRoot<schema::Plan>(fbb.GetBufferPointer());
    Plan plan;
    plan.kernels = read->kernels();
    plan.gemmAlgorithms = read->gemm_algorithms();
    Program &program = plan.programs.emplace_back();
    program.callsLibrary = true;
    program.begin = kShape.rows;
    program.end = kShape.rows + 1;
    program.commands = {{0, 0, 0}};
    program.places.resize(4);
    program.params = {{int64_t(kShape.rows), 0}};
    return PlanGemms::create(context, plan);
  }

  Known garbage() const {
    return {library->version(), context->name(), kShape,
            std::vector<uint64_t>(8, 7)};
  }

  std::shared_ptr<GemmLibrary> library;
  flatbuffers::FlatBufferBuilder fbb;
};

} // namespace

TEST_F(PlanGemmsTest, FindsTheProductsOfAPlan) {
  auto gemms = create({});
  ASSERT_TRUE(gemms.isOk()) << gemms.status().toString();
  const auto &gemm = *flatbuffers::GetRoot<schema::Plan>(fbb.GetBufferPointer())
                          ->kernels()
                          ->Get(0)
                          ->gemm();
  EXPECT_NE((*gemms)->find(gemm, kShape.rows), nullptr);
  EXPECT_EQ((*gemms)->find(gemm, kShape.rows + 8), nullptr);
}

// The library's refusal shows that the algorithm was used.
TEST_F(PlanGemmsTest, TakesWhatIsKnownOfVersionChipAndShape) {
  EXPECT_EQ(create({garbage()}).status().toString(),
            "FailedPrecondition: a product of 16x64 by 24x64: "
            "cublasLtMatmulAlgoCheck: status 7");
  std::vector<Known> others(5, garbage());
  ++others[0].version;
  others[1].chip += " Ti";
  others[2].shape.rows += 8;
  others[3].shape.outputs += 8;
  others[4].shape.inputs += 8;
  for (const Known &other : others) {
    auto gemms = create({other});
    EXPECT_TRUE(gemms.isOk()) << gemms.status().toString();
  }
  others.push_back(garbage());
  EXPECT_FALSE(create(others).isOk());
}

TEST_F(PlanGemmsTest, RefusesAlgorithmsThatNeedMoreThanTheWorkspace) {
  Known known = garbage();
  auto offered = library->algorithms(kShape, 1);
  ASSERT_TRUE(offered.isOk()) << offered.status().toString();
  known.words = offered->front();
  EXPECT_TRUE(create({known}).isOk());
  GemmShape narrow = kShape;
  narrow.workspace = 64;
  known.words[kChainsWord] = 8;
  auto product = library->make(narrow, known.words);
  EXPECT_EQ(product.status().toString(),
            "FailedPrecondition: expected an algorithm with at most 64 bytes "
            "of workspace, got one with 448");
  EXPECT_EQ(library->make(kShape, {known.words.data(), 7}).status().toString(),
            "InvalidArgument: expected an algorithm of 8 words, got 7");
}

TEST_F(PlanGemmsTest, TunesEveryProduct) {
  std::vector<GemmToTune> shapes = {{16, 24, 64, 1024}, {32, 8, 32, 1024}};
  auto tuned = tuneGemms(shapes);
  ASSERT_TRUE(tuned.isOk()) << tuned.status().toString();
  EXPECT_EQ(tuned->version, library->version());
  EXPECT_EQ(tuned->chip, context->name());
  ASSERT_EQ(tuned->algorithms.size(), 2u);
  for (size_t i = 0; i < shapes.size(); ++i) {
    GemmShape shape = {shapes[i].rows, shapes[i].outputs, shapes[i].inputs,
                       shapes[i].workspace};
    auto offered = library->algorithms(shape, 16);
    ASSERT_TRUE(offered.isOk()) << offered.status().toString();
    EXPECT_GT(offered->size(), 1u);
    EXPECT_EQ(tuned->algorithms[i], offered->back());
  }
}
