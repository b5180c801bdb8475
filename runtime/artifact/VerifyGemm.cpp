//===- VerifyGemm.cpp - Checks of products of a GPU's library -------------===//
//
// A library trusts the description of its buffers. A kernel's contract must
// therefore describe the product, and the program's commands must keep it.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/Limits.h"

#include <iterator>
#include <utility>

using namespace mtp;

static constexpr uint32_t kMostWidth = 1 << 24;
static constexpr uint64_t kMostWorkspace = uint64_t(1) << 40;
static constexpr uint32_t kMostAlgorithms = 1 << 16;
/// Number of words in a cublasLtMatmulAlgo_t.
static constexpr uint32_t kAlgorithmWords = 8;

namespace {
/// The bytes of a buffer that a product touches, for each row or in all.
struct GemmBuffer {
  int64_t bytes;
  bool ofRow;
  bool written;
};
} // namespace

static Status verifyBuffer(const schema::BufferContract &buffer,
                           const GemmBuffer &expected) {
  const schema::Term *term =
      vectorSize(buffer.bytes()) == 1 ? buffer.bytes()->Get(0) : nullptr;
  constexpr uint32_t kNone = 255;
  if (!term || term->factor() != expected.bytes ||
      term->first() != (expected.ofRow ? 0 : kNone) || term->second() != kNone)
    return dataLoss(strCat("expected ", expected.bytes, " bytes",
                           expected.ofRow ? " of each row" : ""));
  if (buffer.written() != expected.written ||
      buffer.alignment() != kGemmAlignment || buffer.page_table() ||
      buffer.cache())
    return dataLoss(strCat("expected a plain buffer at a multiple of ",
                           kGemmAlignment, " bytes that is ",
                           expected.written ? "written" : "read"));
  return okStatus();
}

static Status verifySizes(const schema::Gemm &gemm) {
  for (auto [what, width] : {std::pair("outputs", gemm.outputs()),
                             std::pair("inputs", gemm.inputs())})
    if (width == 0 || width > kMostWidth || width % kGemmMultiple)
      return dataLoss(strCat("gemm: expected a multiple of ", kGemmMultiple,
                             " ", what, " up to ", kMostWidth, ", got ",
                             width));
  if (gemm.workspace() == 0 || gemm.workspace() > kMostWorkspace)
    return dataLoss(strCat("gemm: expected a workspace of 1 to ",
                           kMostWorkspace, " bytes, got ", gemm.workspace()));
  return okStatus();
}

static Status verifyGemmContract(const schema::Gemm &gemm,
                                 const schema::Contract &contract) {
  int64_t inputs = gemm.inputs(), outputs = gemm.outputs();
  const GemmBuffer expected[] = {
      {2 * inputs, /*ofRow=*/true, /*written=*/false},
      {2 * inputs * outputs, /*ofRow=*/false, /*written=*/false},
      {4 * outputs, /*ofRow=*/true, /*written=*/true},
      {int64_t(gemm.workspace()), /*ofRow=*/false, /*written=*/true}};
  for (uint32_t i = 0; i < std::size(expected); ++i)
    if (Status status = verifyBuffer(*contract.buffers()->Get(i), expected[i]);
        !status.isOk())
      return status.withContext(strCat("contract.buffers[", i, "]"));
  if (contract.tasks() != 1 || contract.rows_per_group() != 0 ||
      contract.most_tasks() != 0)
    return dataLoss("contract: expected one task of a gemm");
  return okStatus();
}

Status mtp::verifyGemm(const Plan &plan, const schema::Kernel &kernel) {
  if (!plan.isGpu())
    return dataLoss("expected no gemm in a plan for a CPU");
  if (kernel.image() != -1 || kernel.launch())
    return dataLoss("expected no image and no launch of a gemm");
  if (kernel.buffers() != 4 || kernel.params() != 1 || !kernel.contract())
    return dataLoss(strCat("expected a contract, 4 buffers and 1 param of a "
                           "gemm, got ",
                           kernel.buffers(), " and ", kernel.params()));
  MTP_RETURN_IF_ERROR(verifySizes(*kernel.gemm()));
  MTP_RETURN_IF_ERROR(verifyContract(plan, kernel));
  return verifyGemmContract(*kernel.gemm(), *kernel.contract());
}

Status mtp::verifyGemmCall(const CommandContext &context) {
  const Program &program = context.program;
  if (program.kind != schema::ProgramKind::Prefill || program.sequences != 1 ||
      context.first() != context.last())
    return dataLoss("expected a gemm in a prefill program for one number of "
                    "rows of one sequence");
  int64_t rows = context.params()[0].at(context.first());
  if (rows < 1 || rows > kMostChunk)
    return dataLoss(
        strCat("params[0]: expected 1 to ", kMostChunk, " rows, got ", rows));
  return okStatus();
}

Status mtp::verifyGemmAlgorithms(const Plan &plan) {
  uint32_t count = vectorSize(plan.gemmAlgorithms);
  if (count && !plan.isGpu())
    return dataLoss("gemm_algorithms: expected none in a plan for a CPU");
  if (count > kMostAlgorithms)
    return dataLoss(strCat("gemm_algorithms: expected at most ",
                           kMostAlgorithms, ", got ", count));
  for (uint32_t i = 0; i < count; ++i) {
    const auto *data = plan.gemmAlgorithms->Get(i)->data();
    if (!isAligned(data) || vectorSize(data) != kAlgorithmWords)
      return dataLoss(strCat("gemm_algorithms[", i, "]: expected ",
                             kAlgorithmWords,
                             " words at a multiple of 8 bytes"
                             ", got ",
                             vectorSize(data)));
  }
  return okStatus();
}
