//===- live_test.cpp - The rows that a GPU's kernels compute --------------===//
//
// The simulator reports the bytes that each kernel of a round read and wrote.
// The kernel's contract gives the rows of its buffers. Kernels must compute the
// active rows, and neither read nor write padding rows. The number of active
// rows must equal the session's statistics.
//
//===----------------------------------------------------------------------===//

#include "harness/Generation.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/exec/ModelImpl.h"
#include "test/GpuSim/machine/KernelRun.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace mtp;
using namespace mtp::test;
using gpusim::KernelRun;

namespace {

/// Returns the bytes of a buffer from one row to the next; 0 if it has no rows.
uint64_t strideOf(const schema::BufferContract &buffer) {
  uint64_t stride = 0;
  for (uint32_t t = 0; t < vectorSize(buffer.bytes()); ++t) {
    const schema::Term &term = *buffer.bytes()->Get(t);
    if (term.first() == 0 && term.second() == 255)
      stride = uint64_t(term.factor());
    else if (term.first() != 255)
      return 0;
  }
  return stride;
}

/// Returns the row stride of a kernel's buffer. For rows prepared for products
/// it is the size of a row in the first piece, which holds all rows.
uint64_t strideOf(const schema::Kernel &kernel, uint32_t buffer) {
  std::string_view config = kernel.config()->string_view();
  bool isPrepared = kernel.kind()->string_view() == "prepare_rows"
                        ? buffer + 1 == kernel.buffers()
                        : buffer == 0 && config.find("prepared = true") !=
                                             std::string_view::npos;
  if (isPrepared)
    return config.find("group = 32") == std::string_view::npos ? 64 : 32;
  return strideOf(*kernel.contract()->buffers()->Get(buffer));
}

/// The shape of a slot's drafts: each after the preceding one, all after the
/// anchor, or none.
enum class Shape { Chain, Star, Nothing, Other };

class RowCounter {
public:
  /// Without `seesWindows` the counter ignores the slots' drafts.
  explicit RowCounter(const Model &model, bool seesWindows = true)
      : seesWindows(seesWindows) {
    const Artifact &artifact = ModelAccess::file(model)->artifact();
    const Plan &plan = artifact.plans[ModelAccess::plan(model)];
    rowsOfSlot = artifact.envelope->max_k() + 1;
    for (uint32_t i = 0; i < vectorSize(plan.kernels); ++i) {
      const schema::Kernel *kernel = plan.kernels->Get(i);
      kernels[kernel->symbol()->str()] = kernel;
    }
    install([](void *data, const KernelRun &run) {
      static_cast<RowCounter *>(data)->add(run);
    });
  }
  ~RowCounter() { install(nullptr); }
  RowCounter(const RowCounter &) = delete;

  /// The rows that calls of one kernel computed.
  struct Count {
    uint64_t calls = 0, rows = 0, capacity = 0;
  };
  /// By kernel, for calls that have a number of rows.
  std::map<std::string, Count> counts;
  /// The number of calls by their number of rows.
  std::map<uint64_t, uint64_t> callsByRows;
  /// By round, for each slot.
  std::vector<std::vector<Shape>> rounds;
  uint64_t packedRows = 0;
  /// Active rows among all packed rows, including the drafter's.
  uint64_t activePacked = 0;

private:
  void install(gpusim::KernelHook hook) {
    void *driver = dlopen(std::getenv("MTP_CUDA_DRIVER"), RTLD_NOW);
    ASSERT_TRUE(driver) << dlerror();
    using Install = void (*)(gpusim::KernelHook, void *);
    auto function =
        reinterpret_cast<Install>(dlsym(driver, "mtp_sim_on_kernel"));
    ASSERT_TRUE(function);
    function(hook, this);
  }
  void add(const KernelRun &run);
  void addPacked(const schema::Kernel &kernel, const KernelRun &run);
  uint64_t countRows(const schema::Kernel &kernel, const KernelRun &run,
                     uint64_t live, uint64_t all);

  const bool seesWindows;
  uint64_t rowsOfSlot = 0;
  std::map<std::string, const schema::Kernel *, std::less<>> kernels;
};

template <typename T>
std::vector<T> valuesAt(uint64_t address, size_t count) {
  std::vector<T> values(count);
  std::memcpy(values.data(), reinterpret_cast<const void *>(address),
              count * sizeof(T));
  return values;
}

} // namespace

/// Records the rows of a round before they are packed.
void RowCounter::addPacked(const schema::Kernel &kernel, const KernelRun &run) {
  uint64_t rows = run.argument(kernel.buffers());
  auto positions = valuesAt<int32_t>(run.argument(0), rows);
  activePacked += uint64_t(
      std::ranges::count_if(positions, [](int32_t at) { return at >= 0; }));
  if (!seesWindows || rows % rowsOfSlot)
    return; // A program with fewer drafts.
  // Masks are the last packed input. The number of buffers before and after
  // packing is equal.
  uint64_t last = (kernel.buffers() - 2) / 2 - 1;
  auto masks = valuesAt<uint64_t>(run.argument(last), rows);
  std::vector<Shape> shapes;
  for (uint64_t first = 0; first < rows; first += rowsOfSlot) {
    uint64_t live = 0, chain = 0, star = 0;
    for (uint64_t i = first; i < first + rowsOfSlot; ++i) {
      if (positions[i] < 0)
        continue;
      ++live;
      uint64_t seen = uint64_t(std::popcount(masks[i]));
      chain += seen == i - first + 1;
      star += seen == std::min<uint64_t>(i - first + 1, 2);
    }
    packedRows += live;
    shapes.push_back(live <= 1             ? Shape::Nothing
                     : live < rowsOfSlot   ? Shape::Other
                     : chain == rowsOfSlot ? Shape::Chain
                     : star == rowsOfSlot  ? Shape::Star
                                           : Shape::Other);
  }
  rounds.push_back(shapes);
}

/// Returns the number of rows that a kernel wrote. Checks that it read no
/// padding row.
uint64_t RowCounter::countRows(const schema::Kernel &kernel,
                               const KernelRun &run, uint64_t live,
                               uint64_t all) {
  std::set<uint64_t> written;
  bool hasRows = false;
  for (uint32_t i = 0; i < kernel.buffers(); ++i) {
    const schema::BufferContract &buffer =
        *kernel.contract()->buffers()->Get(i);
    uint64_t stride = strideOf(kernel, i), base = run.argument(i);
    if (stride == 0)
      continue;
    // A slice of columns ends before the next row would begin.
    EXPECT_FALSE(all > live &&
                 run.hasRead(base + live * stride,
                             (all - live - 1) * stride + sizeof(int32_t)))
        << "buffer " << i;
    hasRows |= buffer.written();
    for (uint64_t row = 0; row < all && buffer.written(); ++row)
      if (run.hasWritten(base + row * stride, stride))
        written.insert(row);
  }
  // Cache entries may be anywhere.
  return hasRows ? written.size() : live;
}

void RowCounter::add(const KernelRun &run) {
  auto found = kernels.find(run.name());
  if (found == kernels.end())
    return; // Not a program's kernel.
  const schema::Kernel &kernel = *found->second;
  SCOPED_TRACE(found->first);
  if (kernel.kind()->string_view() == "pack_rows")
    addPacked(kernel, run);
  if (!kernel.launch()->takes_live() || !run.argument(kernel.buffers()))
    return;
  uint64_t all = run.argument(kernel.buffers() + 1);
  int32_t number = valuesAt<int32_t>(run.argument(kernel.buffers()), 1)[0];
  uint64_t live = std::min(uint64_t(std::max(number, 0)), all);
  uint64_t rows = countRows(kernel, run, live, all);
  EXPECT_EQ(rows, live) << "of " << all;
  ++callsByRows[live];
  Count &count = counts[found->first];
  ++count.calls;
  count.rows += rows;
  count.capacity += all;
}

static Request requestOf(uint32_t index, uint32_t prompt, uint32_t vocab,
                         float temperature) {
  Request request;
  for (uint32_t i = 0; i < prompt; ++i)
    request.prompt.push_back(textToken(index + 11, i, vocab));
  request.maxTokens = 56 + index;
  request.ignoreEos = true;
  request.sampling = {temperature, 20, 0.9f, 0.02f, 5 + index};
  return request;
}

// In one launch, one slot drafts a chain, one a star, one nothing, and each
// slot another shape in other rounds.
TEST(ActiveRows, AreWhatKernelsCompute) {
  auto gpu = loadArtifact("topology", DeviceKind::Cuda);
  auto cpu = loadArtifact("topology", DeviceKind::Cpu);
  ASSERT_TRUE(gpu && cpu);
  EnvelopeInfo envelope = *gpu->envelope();
  for (float temperature : {0.0f, 0.8f}) {
    std::vector<Request> requests;
    for (uint32_t i = 0; i < 3; ++i)
      requests.push_back(requestOf(i, 2 + i, envelope.vocab, temperature));
    SessionOptions options = single(envelope.maxK, /*slots=*/3);
    options.chunksPerStep = SessionOptions::kUnbounded;
    options.roundsPerLaunch = 32;
    Outcome expected = generate(cpu, options, requests, LogitsMode::None);
    RowCounter counter(*gpu);
    Outcome run = generate(gpu, options, requests, LogitsMode::None);
    expectSame(run, expected, options);

    const Statistics &statistics = run.statistics;
    EXPECT_EQ(statistics.roundRows, expected.statistics.roundRows);
    EXPECT_LT(statistics.roundRows, statistics.roundCapacity);
    EXPECT_EQ(counter.packedRows, statistics.roundRows);
    // All kernels of a round have one number of rows, for each call.
    EXPECT_GE(counter.counts.size(), 10u);
    for (const auto &[name, count] : counter.counts) {
      uint64_t times = count.calls / counter.rounds.size();
      EXPECT_EQ(count.calls, times * counter.rounds.size()) << name;
      EXPECT_EQ(count.rows, times * statistics.roundRows) << name;
      EXPECT_EQ(count.capacity, times * statistics.roundCapacity) << name;
    }
    bool hasAll = false, changes = false;
    for (size_t i = 0; i < counter.rounds.size(); ++i) {
      const std::vector<Shape> &shapes = counter.rounds[i];
      hasAll |= std::ranges::count(shapes, Shape::Chain) == 1 &&
                std::ranges::count(shapes, Shape::Star) == 1 &&
                std::ranges::count(shapes, Shape::Nothing) == 1;
      changes |= i > 0 && shapes.size() == counter.rounds[i - 1].size() &&
                 shapes != counter.rounds[i - 1];
    }
    EXPECT_TRUE(hasAll);
    EXPECT_TRUE(changes);
  }
}

// A rule in code also computes only active rows of logits. Slots end during a
// launch.
TEST(ActiveRows, OfRulesInCodeAreWhatKernelsCompute) {
  auto gpu = loadArtifact("typical.mixed", DeviceKind::Cuda);
  auto cpu = loadArtifact("typical.mixed", DeviceKind::Cpu);
  ASSERT_TRUE(gpu && cpu);
  EnvelopeInfo envelope = *gpu->envelope();
  std::vector<Request> requests;
  for (uint32_t i = 0; i < 3; ++i) {
    requests.push_back(requestOf(i, 2 + i, envelope.vocab, 0.8f));
    requests.back().maxTokens = 20 + 7 * i;
  }
  SessionOptions options = single(envelope.maxK, /*slots=*/3);
  options.chunksPerStep = SessionOptions::kUnbounded;
  options.roundsPerLaunch = 32;
  Outcome expected = generate(cpu, options, requests, LogitsMode::None);
  RowCounter counter(*gpu, /*seesWindows=*/false);
  Outcome run = generate(gpu, options, requests, LogitsMode::None);
  expectSame(run, expected, options);
  const Statistics &statistics = run.statistics;
  EXPECT_LT(statistics.roundRows, statistics.roundCapacity);
  for (const char *kind : {"log_sum_exp", "entropy", "top_k"}) {
    RowCounter::Count all;
    for (const auto &[name, count] : counter.counts)
      if (name.starts_with(kind)) {
        all.rows += count.rows;
        all.capacity += count.capacity;
      }
    EXPECT_EQ(all.rows, statistics.roundRows) << kind;
    EXPECT_EQ(all.capacity, statistics.roundCapacity) << kind;
  }
}

// After a slot's drafts end, nothing is drafted or verified for it.
TEST(ActiveRows, OfDraftsThatEndAreNotComputed) {
  auto gpu = loadArtifact("dsv3-chain-mtp2.suresim", DeviceKind::Cuda);
  ASSERT_TRUE(gpu);
  EnvelopeInfo envelope = *gpu->envelope();
  uint64_t none = 0;
  for (float temperature : {0.0f, 0.8f}) {
    std::vector<Request> requests;
    for (uint32_t i = 0; i < 3; ++i) {
      requests.push_back(requestOf(i, 2 + i, envelope.vocab, temperature));
      requests.back().maxTokens = 20 + i;
    }
    SessionOptions options = single(envelope.maxK, /*slots=*/3);
    options.chunksPerStep = SessionOptions::kUnbounded;
    options.roundsPerLaunch = 32;
    RowCounter counter(*gpu, /*seesWindows=*/false);
    Outcome run = generate(gpu, options, requests, LogitsMode::None);
    // The target's rows, the first draft of all slots, and each further draft
    // of the slots that have the preceding one.
    const Statistics &s = run.statistics;
    uint64_t expected = 2 * s.roundRows;
    for (uint64_t drafted : s.drafted)
      expected -= drafted;
    for (size_t d = 0; d + 1 < s.drafted.size(); ++d)
      expected += s.drafted[d];
    EXPECT_EQ(counter.activePacked, expected);
    EXPECT_LT(s.drafted.back(), s.drafted.front());
    EXPECT_GT(s.drafted.back(), 0u);
    none += counter.callsByRows[0];
  }
  EXPECT_GT(none, 0u);
}

namespace {
/// Rows computed by the rounds of a session so far, and merged prompt rows.
struct Computed {
  explicit Computed(const Session &session, std::span<const SequenceId> ids)
      : rounds(session.statistics().rounds),
        rows(session.statistics().roundRows) {
    for (SequenceId id : ids)
      beside.push_back(session.statistics(id)->mixedTokens);
  }

  uint64_t rounds, rows;
  std::vector<uint64_t> beside;
};
} // namespace

/// Checks the rows that kernels computed in a step with one round and merged
/// prompt rows.
static void expectRows(const RowCounter &counter, const Computed &before,
                       const Computed &now) {
  uint64_t own = now.rows - before.rows, beside = 0, prompts = 0;
  for (size_t i = 0; i < now.beside.size(); ++i) {
    uint64_t first = i < before.beside.size() ? before.beside[i] : 0;
    beside += now.beside[i] - first;
    prompts += now.beside[i] > first;
  }
  // The target's rows, rows with logits, and the drafter's rows of prompts.
  uint64_t all = own + beside, scored = own + prompts;
  EXPECT_GE(counter.callsByRows.count(all), 1u) << all;
  EXPECT_GE(counter.callsByRows.count(scored), 1u) << scored;
  EXPECT_GE(counter.callsByRows.count(beside), 1u) << beside;
  for (auto [rows, calls] : counter.callsByRows)
    EXPECT_TRUE(rows == all || rows == scored || rows == beside)
        << calls << " calls of " << rows << " rows, beside " << own << " and "
        << beside << " of " << prompts << " prompts";
}

// Mixed batches: each kernel computes the active rows of rounds and prompts,
// and nothing else.
TEST(ActiveRows, OfPromptsAreComputedBesideThoseOfRounds) {
  for (const char *artifact :
       {"dsv3-chain-mtp2.mixedsim", "mimo-tree.mixedsim"}) {
    SCOPED_TRACE(artifact);
    auto gpu = loadArtifact(artifact, DeviceKind::Cuda);
    ASSERT_TRUE(gpu);
    EnvelopeInfo envelope = *gpu->envelope();
    SessionOptions options = single(envelope.maxK, envelope.maxBatch);
    options.roundsPerLaunch = 1;
    auto session = *Session::create(gpu, options);
    RowCounter counter(*gpu, /*seesWindows=*/false);
    std::vector<SequenceId> ids;
    // Two prompts share a round; an earlier single prompt is cut.
    std::vector<uint32_t> lengths = {3, 30, 2, 5}, arrivals = {0, 1, 4, 4};
    uint32_t mixed = 0;
    for (size_t step = 0; !session->idle() || ids.size() < lengths.size();
         ++step) {
      while (ids.size() < lengths.size() && arrivals[ids.size()] <= step)
        ids.push_back(*session->add(requestOf(
            uint32_t(ids.size()), lengths[ids.size()], envelope.vocab, 0.8f)));
      Computed before(*session, ids);
      counter.callsByRows.clear();
      ASSERT_TRUE(session->step().isOk());
      Computed now(*session, ids);
      if (now.beside == before.beside)
        continue;
      ASSERT_EQ(now.rounds, before.rounds + 1);
      expectRows(counter, before, now);
      ++mixed;
    }
    EXPECT_GE(mixed, 3u);
    EXPECT_LT(counter.counts.begin()->second.rows,
              counter.counts.begin()->second.capacity);
  }
}
