//===- ExecSampleKernels.cpp - Kinds that sample --------------------------===//

#include "dialects/Exec/IR/KernelFamily.h"
#include "runtime/schema/LogitRules.h"
#include "runtime/schema/SamplingLayout.h"

using namespace mlir;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// Builtins of the runtime
//===----------------------------------------------------------------------===//

namespace {
/// A builtin with the number of its buffers, the last of which is its result.
struct Builtin {
  llvm::StringLiteral name;
  int64_t buffers;
  Division division = Division::Rows;
};
} // namespace

static constexpr Builtin kBuiltins[] = {
    {"mtp.sample", 5},
    {"mtp.sample_parts", 7},
    {"mtp.sample_mapped", 6},
    {"mtp.sample_parts_mapped", 8},
    {"mtp.sample_scan", 7, Division::RowStretches},
    {"mtp.sample_scan_mapped", 8, Division::RowStretches},
    {"mtp.sample_join", 8},
    {"mtp.sample_join_mapped", 9},
};

static const Builtin *findBuiltin(llvm::StringRef name) {
  const auto *found = llvm::find_if(
      kBuiltins, [&](const Builtin &known) { return known.name == name; });
  return found == std::end(kBuiltins) ? nullptr : found;
}

LogicalResult
BuiltinKernelAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                          llvm::StringRef name) {
  if (findBuiltin(name))
    return success();
  return emitError() << "expected a function of the runtime, got '" << name
                     << "'"; // C1
}

Division BuiltinKernelAttr::getDivision() const {
  return findBuiltin(getName())->division;
}

void BuiltinKernelAttr::describe(ContractWriter &w) const {
  w.builtin(findBuiltin(getName())->buffers, /*outputs=*/1);
}

//===----------------------------------------------------------------------===//
// Kernels of a target
//===----------------------------------------------------------------------===//

/// Describes the buffers of a builtin up to the sampling words.
template <typename KernelT>
static void describeInputs(ContractWriter &w, KernelT kernel) {
  int64_t vocab = kernel.getVocab(), parts = kernel.getParts();
  if (parts > 0) {
    w.words(w.p0 * parts); // best values
    w.words(w.p0 * parts); // their columns
  }
  // The kernel reads whole groups at once.
  w.words(w.p0 * vocab).alignment = vocab % 4 == 0 ? 16 : 4; // logits
  if (kernel.getMapped())
    w.words(vocab); // tokens
  w.words(w.p0);    // slots
  w.words(w.p0);    // positions
  w.words(Extent(w.limitOf("slots", kernel.getSlots())) *
          ::mtp::kSamplingWords); // sampling
}

/// Describes the partial result of each stretch of each row: 64-bit integers.
static BufferContract &describeBuckets(ContractWriter &w, int64_t vocab) {
  int64_t stretches = ::mtp::sampleStretches(vocab);
  BufferContract &buckets =
      w.words(w.p0 * (stretches * ::mtp::kSampleStretchWords));
  buckets.alignment = 8;
  return buckets;
}

void SampleKernelAttr::describe(ContractWriter &w) const {
  describeInputs(w, *this);
  w.words(w.p0).result(); // picks
}

void SampleScanKernelAttr::describe(ContractWriter &w) const {
  describeInputs(w, *this);
  describeBuckets(w, getVocab()).result();
}

TaskShape SampleScanKernelAttr::getTasks() const {
  return {1, ::mtp::sampleStretches(getVocab())};
}

void SampleJoinKernelAttr::describe(ContractWriter &w) const {
  describeInputs(w, *this);
  describeBuckets(w, getVocab());
  w.words(w.p0).result(); // picks
}

void ProcessLogitsKernelAttr::describe(ContractWriter &w) const {
  int64_t slots = w.limitOf("slots", getSlots());
  if (getParts() > 0) {
    w.words(w.p0 * getParts()).update(); // best values
    w.words(w.p0 * getParts()).update(); // their columns
  }
  w.words(w.p0 * getWidth()).update(); // logits
  w.words(w.p0);                       // slots
  w.words(w.p0);                       // positions
  if (getPlaced())
    w.words(w.p0); // places
  if (getNodes() > 0) {
    w.words(Extent(slots) * (2 * getNodes())); // path
    w.words(Extent(slots));                    // length
  }
  w.words(Extent(slots) * ::mtp::kRuleWords); // rules
  int64_t vocab = getVocab() > 0 ? getVocab() : getWidth();
  w.words(Extent(slots) * int64_t(::mtp::countWords(vocab))); // counts
  w.words(Extent(slots) * vocab);                             // bias
  if (getMasks() > 0)
    w.words(Extent(slots) *
            (getMasks() * int64_t(::mtp::maskWords(getWidth())))); // masks
  if (getVocab() > 0)
    w.words(getWidth()); // tokens
}
