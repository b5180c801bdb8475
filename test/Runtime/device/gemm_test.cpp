//===- gemm_test.cpp - Products of a library in files ---------------------===//

#include "runtime/artifact/SemanticVerifier.h"
#include "test/Runtime/support/FakeModel.h"

#include <functional>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr uint32_t kOutputs = 16, kInputs = 32, kRows = 8;
constexpr uint64_t kWorkspace = 1024;

/// Returns the contract of a product's buffer: `bytes` in all, or for each row
/// if `ofRow`.
std::unique_ptr<schema::BufferContractT> buffer(int64_t bytes, bool ofRow,
                                                bool written) {
  auto contract = std::make_unique<schema::BufferContractT>();
  contract->bytes.emplace_back(bytes, ofRow ? 0 : 255, 255);
  contract->written = written;
  contract->alignment = 16;
  return contract;
}

/// The tables of a plan for the simulated GPU. Its prefill has a second program
/// with one product.
class GemmPlan {
public:
  GemmPlan() {
    FakeOptions fake;
    fake.hasRanges = fake.hasAudit = true;
    ArtifactBuilder a = makeFakeModel(fake);
    planForGpu(a, /*isHosted=*/true);
    std::vector<uint8_t> bytes = a.program();
    schema::GetArtifact(bytes.data())->UnPackTo(&tables);
    addKernel();
    for (size_t i = 0, count = plan().programs.size(); i < count; ++i)
      if (plan().programs[i]->kind == schema::ProgramKind::Prefill)
        addProgram(*plan().programs[i]);
  }

  schema::PlanT &plan() { return *tables.plans[0]; }
  schema::KernelT &kernel() { return *plan().kernels.back(); }
  /// Returns the prefill that drafts, or the one before it.
  schema::PlanProgramT &program(bool drafts = true) {
    return *plan().programs[plan().programs.size() - (drafts ? 1 : 2)];
  }
  schema::DispatchT &call() { return *program().commands.front().AsDispatch(); }

  Status verify() const {
    flatbuffers::FlatBufferBuilder fbb;
    schema::FinishArtifactBuffer(fbb, schema::Artifact::Pack(fbb, &tables));
    const schema::SegmentT &last = *tables.segments.back();
    return verifyTables({fbb.GetBufferPointer(), fbb.GetSize()},
                        last.offset + last.size);
  }

  schema::ArtifactT tables;

private:
  void addKernel() {
    auto added = std::make_unique<schema::KernelT>();
    added->symbol = "gemm_0";
    added->buffers = 4;
    added->params = 1;
    added->gemm = std::make_unique<schema::GemmT>();
    added->gemm->outputs = kOutputs;
    added->gemm->inputs = kInputs;
    added->gemm->workspace = kWorkspace;
    added->contract = std::make_unique<schema::ContractT>();
    auto &buffers = added->contract->buffers;
    buffers.push_back(buffer(2 * kInputs, true, false));
    buffers.push_back(buffer(2 * kInputs * kOutputs, false, false));
    buffers.push_back(buffer(4 * kOutputs, true, true));
    buffers.push_back(buffer(kWorkspace, false, true));
    added->contract->params = {{1, 1 << 20}};
    added->contract->tasks = 1;
    plan().kernels.push_back(std::move(added));
  }

  void addProgram(const schema::PlanProgramT &source) {
    auto copy = std::make_unique<schema::PlanProgramT>(source);
    copy->name += "_library";
    copy->begin = kRows;
    copy->end = kRows + 1;
    auto dispatch = std::make_unique<schema::DispatchT>();
    dispatch->kernel = uint32_t(plan().kernels.size() - 1);
    dispatch->params = {{kRows, 0}};
    uint64_t end = uint64_t(copy->arena_bytes->base() +
                            copy->arena_bytes->step() * int64_t(kRows));
    end = (end + 63) / 64 * 64;
    for (uint64_t bytes : {2 * kInputs * kRows, 2 * kInputs * kOutputs,
                           4 * kOutputs * kRows, uint32_t(kWorkspace)}) {
      dispatch->bindings.push_back(uint32_t(copy->places.size()));
      copy->places.emplace_back(schema::Space::Arena, 0,
                                schema::Count(int64_t(end), 0),
                                schema::Count(int64_t(bytes), 0));
      end += (bytes + 63) / 64 * 64;
    }
    copy->arena_bytes = std::make_unique<schema::Count>(int64_t(end), 0);
    plan().arena_bytes = std::max(plan().arena_bytes, end);
    schema::ActionUnion action;
    action.type = schema::Action::Dispatch;
    action.value = dispatch.release();
    copy->commands.insert(copy->commands.begin(), std::move(action));
    plan().programs.push_back(std::move(copy));
  }
};

/// Returns the message after the path; empty if the tables are valid.
std::string message(const std::function<void(GemmPlan &)> &spoil) {
  GemmPlan plan;
  spoil(plan);
  std::string text(plan.verify().message());
  size_t path = text.rfind("]: ");
  return path == std::string::npos ? text : text.substr(path + 3);
}

} // namespace

TEST(Gemm, IsReadWhereItIsGood) {
  EXPECT_EQ(message([](GemmPlan &) {}), "");
  EXPECT_EQ(message([](GemmPlan &p) {
              auto known = std::make_unique<schema::GemmAlgorithmT>();
              known->chip = "a GPU";
              known->data.assign(8, 7);
              p.plan().gemm_algorithms.push_back(std::move(known));
            }),
            "");
}

TEST(Gemm, IsOfAGpuAndHasNoCode) {
  EXPECT_EQ(message([](GemmPlan &p) { p.kernel().image = 0; }),
            "expected no image and no launch of a gemm");
  EXPECT_EQ(message([](GemmPlan &p) {
              p.kernel().launch = std::make_unique<schema::CudaLaunchT>();
            }),
            "expected no image and no launch of a gemm");
  EXPECT_EQ(
      message([](GemmPlan &p) { p.kernel().buffers = 3; }),
      "expected a contract, 4 buffers and 1 param of a gemm, got 3 and 1");
  EXPECT_EQ(
      message([](GemmPlan &p) { p.kernel().contract.reset(); }),
      "expected a contract, 4 buffers and 1 param of a gemm, got 4 and 1");
  EXPECT_EQ(message([](GemmPlan &p) {
              p.plan().target->arch = "x86_64";
              p.plan().images.clear();
              p.plan().device_loop = -1;
              std::swap(p.plan().kernels.front(), p.plan().kernels.back());
            }),
            "expected no gemm in a plan for a CPU");
}

TEST(Gemm, HasSizesThatALibraryTakes) {
  for (uint32_t width : {0u, 12u, (1u << 24) + 8}) {
    EXPECT_EQ(message([&](GemmPlan &p) { p.kernel().gemm->outputs = width; }),
              "gemm: expected a multiple of 8 outputs up to 16777216, got " +
                  std::to_string(width));
    EXPECT_EQ(message([&](GemmPlan &p) { p.kernel().gemm->inputs = width; }),
              "gemm: expected a multiple of 8 inputs up to 16777216, got " +
                  std::to_string(width));
  }
  EXPECT_EQ(message([](GemmPlan &p) { p.kernel().gemm->workspace = 0; }),
            "gemm: expected a workspace of 1 to 1099511627776 bytes, got 0");
}

TEST(Gemm, HasTheContractOfAProduct) {
  auto with = [](size_t index, auto spoil) {
    return message(
        [&](GemmPlan &p) { spoil(*p.kernel().contract->buffers[index]); });
  };
  auto shorten = [](schema::BufferContractT &b) {
    b.bytes[0] = {b.bytes[0].factor() - 2, b.bytes[0].first(), 255};
  };
  EXPECT_EQ(with(0, shorten), "expected 64 bytes of each row");
  EXPECT_EQ(with(1, shorten), "expected 1024 bytes");
  EXPECT_EQ(with(2, shorten), "expected 64 bytes of each row");
  EXPECT_EQ(with(3, shorten), "expected 1024 bytes");
  EXPECT_EQ(with(0, [](auto &b) { b.bytes.clear(); }),
            "expected 64 bytes of each row");
  EXPECT_EQ(with(0, [](auto &b) { b.written = true; }),
            "expected a plain buffer at a multiple of 16 bytes that is read");
  EXPECT_EQ(
      with(2, [](auto &b) { b.written = false; }),
      "expected a plain buffer at a multiple of 16 bytes that is written");
  EXPECT_EQ(
      with(3, [](auto &b) { b.alignment = 4; }),
      "expected a plain buffer at a multiple of 16 bytes that is written");
  EXPECT_EQ(with(1, [](auto &b) { b.page_table = true; }),
            "expected a plain buffer at a multiple of 16 bytes that is read");
  EXPECT_EQ(message([](GemmPlan &p) { p.kernel().contract->tasks = 2; }),
            "contract: expected one task of a gemm");
}

TEST(Gemm, StaysInItsBuffers) {
  auto spoilPlace = [](size_t index, auto spoil) {
    return message([&](GemmPlan &p) {
      spoil(p.program().places[p.call().bindings[index]]);
    });
  };
  const uint32_t needs[] = {2 * kInputs * kRows, 2 * kInputs * kOutputs,
                            4 * kOutputs * kRows, uint32_t(kWorkspace)};
  for (size_t i = 0; i < std::size(needs); ++i)
    EXPECT_EQ(spoilPlace(i,
                         [&](schema::Place &place) {
                           place = {place.space(),
                                    place.index(),
                                    place.offset(),
                                    {int64_t(needs[i]) - 1, 0}};
                         }),
              "the kernel may touch " + std::to_string(needs[i]) +
                  " bytes, got " + std::to_string(needs[i] - 1));
  EXPECT_EQ(spoilPlace(0,
                       [](schema::Place &place) {
                         place = {place.space(),
                                  place.index(),
                                  {place.offset().base() - 12, 0},
                                  place.bytes()};
                       })
                .rfind("expected a start at a multiple of 16, got ", 0),
            0u);
  EXPECT_EQ(message([](GemmPlan &p) { p.call().params[0] = {kRows + 1, 0}; }),
            "the kernel may touch 576 bytes, got 512");
}

TEST(Gemm, IsForOneNumberOfRowsOfAPrompt) {
  const std::string where = "expected a gemm in a prefill program for one "
                            "number of rows of one sequence";
  EXPECT_EQ(message([](GemmPlan &p) { p.program().begin = kRows - 1; }), where);
  EXPECT_EQ(message([](GemmPlan &p) {
              auto &decode = *p.plan().programs[2];
              ASSERT_EQ(decode.kind, schema::ProgramKind::Decode);
              schema::ActionUnion action = p.program().commands.front();
              for (uint32_t &binding : action.AsDispatch()->bindings) {
                decode.places.push_back(p.program().places[binding]);
                binding = uint32_t(decode.places.size() - 1);
              }
              decode.arena_bytes =
                  std::make_unique<schema::Count>(*p.program().arena_bytes);
              decode.commands.push_back(action);
            }),
            where);
}

TEST(Gemm, StandsInWholePagesOfEveryPrefill) {
  EXPECT_EQ(message([](GemmPlan &p) {
              for (bool drafts : {false, true}) {
                p.program(drafts).begin = kRows - 2;
                p.program(drafts).end = kRows - 1;
                p.program(drafts).commands.front().AsDispatch()->params[0] = {
                    kRows - 2, 0};
              }
            }),
            "expected whole pages of 4 rows, up to 8, for a prefill with "
            "products of a library, got 6");
  EXPECT_EQ(message([](GemmPlan &p) {
              p.program().begin = kRows - 4;
              p.program().end = kRows - 3;
              p.call().params[0] = {kRows - 4, 0};
            }),
            "expected prefills with products of a library for 8 rows, got one "
            "for 4");
  EXPECT_EQ(message([](GemmPlan &p) {
              p.plan().programs.push_back(
                  std::make_unique<schema::PlanProgramT>(p.program()));
              p.program().name += "_again";
            }),
            "a second prefill program with products of a library with drafts");
  EXPECT_EQ(message([](GemmPlan &p) { p.plan().programs.pop_back(); }),
            "programs: expected prefills with products of a library with and "
            "without drafts where the others are, got one of them");
}

TEST(Gemm, AlgorithmsAreWords) {
  for (size_t words : {0, 7, 9})
    EXPECT_EQ(message([&](GemmPlan &p) {
                auto known = std::make_unique<schema::GemmAlgorithmT>();
                known->chip = "a GPU";
                known->data.assign(words, 7);
                p.plan().gemm_algorithms.push_back(std::move(known));
              }),
              "expected 8 words at a multiple of 8 bytes, got " +
                  std::to_string(words));
}
