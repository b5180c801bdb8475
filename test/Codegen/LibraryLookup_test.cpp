//===- LibraryLookup_test.cpp - Lookups of the drafter library ------------===//
//
// Functions of compiler/Import/library that search a text for its last tokens,
// as kernels of a round of 4 drafts. Checks the drafts and, on the simulated
// GPU, the number of times that a thread waits for loads.
//
//===----------------------------------------------------------------------===//

#include "harness/Harness.h"

#include "dialects/Exec/IR/ControlKernel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/support/SlotBody.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace mtp::codegen::test;
using Ints = std::vector<int32_t>;

namespace {

constexpr int kSlots = 4, kDrafts = 4, kContext = 32768;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Returns the text between the module's braces in a file of the library,
/// without imports and, if `isSecond`, without states that the first file
/// already has.
std::string libraryText(const std::string &name, bool isSecond = false) {
  std::ifstream file(MTP_DRAFTER_LIBRARY "/" + name);
  std::string line, text;
  while (std::getline(file, line)) {
    bool isTaken = line.starts_with("mtp.import ") ||
                   line.starts_with("module attributes") ||
                   (isSecond && line.starts_with("mtp.state "));
    if (!isTaken)
      text += line + "\n";
  }
  return text.substr(0, text.find_last_of('}'));
}

/// Returns a module whose rounds draft the tokens that `body` yields as %d.
std::string roundOf(const std::string &functions, const std::string &body) {
  return "module attributes {mtp.envelope = #mtp.envelope<max_k = " +
         std::to_string(kDrafts) +
         ", max_batch = 4, max_context = " + std::to_string(kContext) +
         ", prefill_chunk = 16, page = 16>} {\n" + functions + R"(
mtp.round @r {
  %slots = mtp.slots : tensor<?xi32>
  %d = mtp.per_slot %slots {
  ^bb0(%index: index, %slot: i32):
)" + body +
         R"(    mtp.yield %d : tensor<?xi32>
  } : (tensor<?xi32>) -> tensor<?x?xi32>
  %l, %h = mtp.verify %d {
  ^bb0(%t: tensor<?xi32>, %rows: !mtp.rows):
    %w = mtp.weight "w" : tensor<8x8xf32>
    %e = mtp.embed %t, %w : tensor<?xi32>, tensor<8x8xf32> -> tensor<?x8xf32>
    %x = mtp.linear %e, %w : tensor<?x8xf32>, tensor<8x8xf32> -> tensor<?x8xf32>
    mtp.yield %x, %e : tensor<?x8xf32>, tensor<?x8xf32>
  } : (tensor<?x?xi32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %n, %p = mtp.accept %d, %l exact {
  ^bb0(%x: tensor<?x8xf32>, %rows: !mtp.rows):
    %p = mtp.argmax %x : tensor<?x8xf32> -> tensor<?xi32>
    mtp.yield %p : tensor<?xi32>
  } : (tensor<?x?xi32>, tensor<?x8xf32>) -> (tensor<?xi32>, tensor<?x?xi32>)
  mtp.commit %n, %p, %h : tensor<?xi32>, tensor<?x?xi32>, tensor<?x8xf32>
}
}
)";
}

std::string lookupModule(int64_t least, int64_t most) {
  return roundOf(libraryText("lookup.mlir"),
                 "    %min = arith.constant " + std::to_string(least) +
                     " : index\n    %max = arith.constant " +
                     std::to_string(most) +
                     " : index\n"
                     "    %d = func.call @lookup(%min, %max) "
                     ": (index, index) -> tensor<?xi32>\n");
}

std::string suffixModule() {
  return roundOf(libraryText("lookup.mlir") +
                     libraryText("suffix.mlir", /*isSecond=*/true),
                 "    %max = arith.constant 8 : index\n"
                 "    %percent = arith.constant 10 : i32\n"
                 "    %d = func.call @suffix(%max, %percent) "
                 ": (index, i32) -> tensor<?xi32>\n");
}

/// Returns the kernel of `text` that does the lookup in the round of all
/// drafts, as text. Other work of the round is in the same kernel.
std::string lookupKernel(const std::string &text) {
  mlir::MLIRContext context;
  mlir::DialectRegistry registry;
  registry.insert<mlir::exec::ExecDialect, mlir::mtp::MTPDialect,
                  mlir::func::FuncDialect, mlir::memref::MemRefDialect>();
  mlir::mtp::registerControlDialects(registry);
  context.appendDialectRegistry(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  mlir::PassManager manager(&context);
  manager.addPass(mlir::mtp::createInlineLayersPass());
  manager.addPass(mlir::mtp::createInstantiateRoundsPass());
  manager.addPass(mlir::mtp::createExpandVerifyPass());
  manager.addPass(mlir::mtp::createExpandAcceptPass());
  manager.addPass(mlir::mtp::createExpandCommitPass());
  manager.addPass(mlir::mtp::createRepeatRoundsPass());
  manager.addPass(mlir::mtp::createFusePerSlotPass());
  manager.addPass(mlir::mtp::createSpecializeShapesPass());
  manager.addPass(mlir::mtp::createOutlineControlPass());
  if (!module || failed(manager.run(*module))) {
    ADD_FAILURE() << "cannot outline the round";
    return "";
  }
  auto kernel = module->lookupSymbol<mlir::exec::KernelOp>(
      "window_" + std::to_string(kDrafts));
  if (!kernel || !mlir::exec::hasLaneLoop(kernel.getBody())) {
    ADD_FAILURE() << "expected a kernel that looks up by lanes";
    return "";
  }
  std::string printed;
  llvm::raw_string_ostream(printed) << kernel;
  return printed;
}

//===----------------------------------------------------------------------===//
// Reference drafts
//===----------------------------------------------------------------------===//

using Text = const int32_t *;

/// Returns the number of the last tokens of a text, at most `most`, that also
/// precede and include position `p`. The text's last token is at `n`.
int64_t matchAt(Text text, int64_t n, int64_t p, int64_t most) {
  int64_t size = 0;
  while (size < most && p >= size && text[p - size] == text[n - size])
    ++size;
  return size;
}

/// Returns the size and the end of the longest match in a part of the text, the
/// first one if there are several. The size is 0 if no match has `least`
/// tokens.
std::pair<int64_t, int64_t> longest(Text text, int64_t n, int64_t from,
                                    int64_t to, int64_t least, int64_t most) {
  std::pair<int64_t, int64_t> best = {0, 0};
  for (int64_t p = from; p < to; ++p)
    if (int64_t size = matchAt(text, n, p, most);
        size >= least && size > best.first)
      best = {size, p};
  return best;
}

Ints lookUp(Text text, int64_t n, int64_t least, int64_t most) {
  auto [size, end] = longest(text, n, 0, n, least, most);
  Ints drafts(kDrafts, -1);
  for (int64_t j = 0; size > 0 && j < kDrafts && end + 1 + j <= n; ++j)
    drafts[size_t(j)] = text[end + 1 + j];
  return drafts;
}

/// Drafts by votes of 16 parts. Each token needs at least a tenth of them.
Ints voteOn(Text text, int64_t n) {
  std::vector<std::pair<int64_t, int64_t>> parts;
  int64_t best = 1, voters = 1;
  for (int64_t i = 0; i < 16; ++i) {
    parts.push_back(longest(text, n, n * i / 16, n * (i + 1) / 16, 1, 8));
    best = std::max(best, parts.back().first);
  }
  std::erase_if(parts, [&](auto &part) { return part.first < best; });
  voters += int64_t(parts.size());
  Ints drafts(kDrafts, -1);
  for (int64_t j = 0; j < std::min<int64_t>(kDrafts, best); ++j) {
    std::erase_if(parts, [&](auto &part) { return part.second + 1 + j > n; });
    int64_t most = 0;
    int32_t token = -1;
    for (auto [size, end] : parts) {
      auto same = std::count_if(parts.begin(), parts.end(), [&](auto &part) {
        return text[part.second + 1 + j] == text[end + 1 + j];
      });
      if (same > most)
        most = same, token = text[end + 1 + j];
    }
    if (most == 0 || most * 100 < voters * 10)
      break;
    drafts[size_t(j)] = token;
    std::erase_if(
        parts, [&](auto &part) { return text[part.second + 1 + j] != token; });
  }
  return drafts;
}

//===----------------------------------------------------------------------===//
// Runs of a kernel
//===----------------------------------------------------------------------===//

/// Buffers of such a kernel: slots, the states that it reads, the words of the
/// loop, and the rows of the round, of which the last are drafts.
struct Round {
  Round(uint32_t seed, int32_t tokens)
      : slots(Ints{2, 0, 3, 1}),
        length(Ints{kContext - 1 - kDrafts, 3, 0, 2048}),
        history(size_t(kSlots) * kContext), limit(Ints(kSlots, INT32_MAX)),
        accepted(Ints(kSlots)), window(Ints(kSlots * (kDrafts + 1))),
        loop(Ints(kSlots * 8)), tokens(kSlots * (kDrafts + 1)),
        of(kSlots * (kDrafts + 1)), positions(kSlots * (kDrafts + 1)),
        count(kSlots), drafts(kSlots * kDrafts) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int32_t> any(0, tokens);
    for (size_t i = 0; i < history.size(); ++i)
      history[i] = any(random);
    for (int slot = 0; slot < kSlots; ++slot)
      for (int word : {1, 2, 3, 7}) // Rounds, budget, positions, rows.
        loop[size_t(slot * 8 + word)] = kContext;
  }
  void run(const Kernel &kernel) {
    kernel.run({slots.data(), length.data(), history.data(), limit.data(),
                accepted.data(), window.data(), loop.data(), tokens.data(),
                of.data(), positions.data(), count.data(), drafts.data()},
               {kSlots});
  }
  void expectDrafts(llvm::function_ref<Ints(Text, int64_t)> model) {
    for (int i = 0; i < kSlots; ++i) {
      size_t slot = size_t(slots[size_t(i)]);
      Ints got(drafts.data() + i * kDrafts, drafts.data() + (i + 1) * kDrafts);
      EXPECT_EQ(got, model(history.data() + slot * kContext, length[slot]))
          << "length " << length[slot];
    }
  }

  Guarded<int32_t> slots, length, history, limit, accepted, window, loop,
      tokens, of, positions, count, drafts;
};

void expectLookups(const std::string &text,
                   llvm::function_ref<Ints(Text, int64_t)> model) {
  std::string kernelText = lookupKernel(text);
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, kernelText);
    for (int32_t tokens : {1, 9, 200}) {
      Round round(7, tokens);
      round.run(kernel);
      round.expectDrafts(model);
    }
  }
}

} // namespace

TEST(LibraryLookup, DraftsWhatFollowedTheLongestMatch) {
  for (auto [least, most] : {std::pair(2, 3), {5, 5}, {1, 8}}) {
    SCOPED_TRACE(most);
    expectLookups(lookupModule(least, most), [&](Text text, int64_t n) {
      return lookUp(text, n, least, most);
    });
  }
}

TEST(LibraryLookup, DraftsByVotesOfParts) {
  expectLookups(suffixModule(), voteOn);
}

#ifdef MTP_HAS_GPUSIM
extern "C" uint64_t mtp_sim_load_batches();

// A turn of 2,048 tokens is one batch, for n-grams of any length. A suffix
// lookup takes a turn for each of 16 parts, between which threads share results
// through shared memory, and a batch for each draft.
TEST(LibraryLookup, WaitsForFewLoads) {
  auto batches = [&](const std::string &text) {
    Kernel kernel(allTargets().back().second, lookupKernel(text));
    Round round(7, 200);
    round.run(kernel);
    return mtp_sim_load_batches();
  };
  for (auto [least, most] : {std::pair(2, 3), {5, 5}, {1, 8}})
    EXPECT_LE(batches(lookupModule(least, most)), 28u) << most;
  EXPECT_LE(batches(suffixModule()), 59u);
}
#endif
