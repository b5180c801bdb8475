//===- ExecSampleKernels.cpp - Kinds that sample -------------------------===//
//
// Builtins of the runtime, and the same as kernels of a target. A target's are
// specialised on what is a param of a builtin.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/KernelFamily.h"
#include "runtime/schema/SamplingWords.h"

using namespace mlir;
using namespace mlir::exec;

/// A builtin of the runtime with so many buffers, the last one its result, and
/// three params; FORMAT.md has them.
static constexpr KernelKind sampler(llvm::StringLiteral name, int64_t buffers,
                                    Division division = Division::Rows) {
  return {name, 3, division, nullptr, nullptr, {buffers, 1, 3}};
}

/// The buffers of a builtin up to the sampling words.
static void describeInputs(ContractWriter &w, int64_t parts) {
  int64_t vocab = w.need("vocab");
  if (parts > 0) {
    w.words(w.p0 * parts); // best values
    w.words(w.p0 * parts); // their columns
  }
  // Whole groups are read at once.
  w.words(w.p0 * vocab).alignment = vocab % 4 == 0 ? 16 : 4; // logits
  if (w.flag("mapped"))
    w.words(vocab);                                                // tokens
  w.words(w.p0);                                                   // slots
  w.words(w.p0);                                                   // positions
  w.words(Extent(w.needIndexed("slots")) * ::mtp::kSamplingWords); // sampling
}

/// What each stretch of each row leaves: 64-bit integers.
static BufferContract &describeBuckets(ContractWriter &w) {
  int64_t stretches = ::mtp::sampleStretches(w.get("vocab", 1));
  BufferContract &buckets =
      w.words(w.p0 * (stretches * ::mtp::kSampleStretchWords));
  buckets.alignment = 8;
  return buckets;
}

static void describeSample(ContractWriter &w) {
  describeInputs(w, w.get("parts", 0));
  w.words(w.p0).result(); // picks
}

static void describeScan(ContractWriter &w) {
  describeInputs(w, w.need("parts"));
  describeBuckets(w).result();
}

static void describeJoin(ContractWriter &w) {
  describeInputs(w, w.need("parts"));
  describeBuckets(w);
  w.words(w.p0).result(); // picks
}

static TaskShape scanTasks(DictionaryAttr config) {
  return {1, ::mtp::sampleStretches(configInt(config, "vocab"))};
}

static constexpr KernelKind kKinds[] = {
    sampler("mtp.sample", 5),
    sampler("mtp.sample_parts", 7),
    sampler("mtp.sample_mapped", 6),
    sampler("mtp.sample_parts_mapped", 8),
    sampler("mtp.sample_scan", 7, Division::RowStretches),
    sampler("mtp.sample_scan_mapped", 8, Division::RowStretches),
    sampler("mtp.sample_join", 8),
    sampler("mtp.sample_join_mapped", 9),
    {"sample", 1, Division::Rows, describeSample},
    {"sample_scan", 1, Division::Other, describeScan, scanTasks},
    {"sample_join", 1, Division::Rows, describeJoin},
};

llvm::ArrayRef<KernelKind> mlir::exec::sampleKernels() { return kKinds; }
