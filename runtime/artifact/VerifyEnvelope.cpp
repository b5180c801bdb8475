//===- VerifyEnvelope.cpp - Is everything that was promised there? --------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/SamplingWords.h"

#include <map>
#include <set>
#include <utility>

using namespace mtp;

static Status verifyLimit(const char *what, uint64_t value, uint64_t low,
                          uint64_t high) {
  if (value >= low && value <= high)
    return okStatus();
  return dataLoss(strCat("envelope.", what, ": expected ", low, " to ", high,
                         ", got ", value));
}

static Status verifyLimits(const schema::Envelope &e) {
  MTP_RETURN_IF_ERROR(verifyLimit("max_k", e.max_k(), 0, 64));
  MTP_RETURN_IF_ERROR(verifyLimit("max_batch", e.max_batch(), 1, 1024));
  MTP_RETURN_IF_ERROR(verifyLimit("max_context", e.max_context(), 1, 1 << 24));
  MTP_RETURN_IF_ERROR(
      verifyLimit("prefill_chunk", e.prefill_chunk(), 1, 1 << 20));
  MTP_RETURN_IF_ERROR(verifyLimit("page_tokens", e.page_tokens(), 1, 1 << 16));
  MTP_RETURN_IF_ERROR(verifyLimit("vocab", e.vocab(), 1, 1 << 24));
  MTP_RETURN_IF_ERROR(verifyLimit("modules", e.modules(), 0, 64));
  if (e.modules() == 0)
    return verifyLimit("max_k", e.max_k(), 0, 0);
  return okStatus();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Checks that a state is there with a type and shape. A dimension of 0 in
/// `shape` stands for any.
static Status verifyState(const schema::Artifact &artifact,
                          std::string_view name, schema::DType dtype,
                          const std::vector<uint64_t> &shape) {
  for (uint32_t i = 0; i < vectorSize(artifact.states()); ++i) {
    const schema::State *state = artifact.states()->Get(i);
    if (state->name()->string_view() != name)
      continue;
    bool same =
        state->dtype() == dtype && vectorSize(state->shape()) == shape.size();
    for (uint32_t d = 0; same && d < shape.size(); ++d)
      same = shape[d] == 0 || shape[d] == state->shape()->Get(d);
    if (same)
      return okStatus();
    return dataLoss(strCat("states[", i, "] '", name, "': expected ",
                           tensorTypeName(dtype, shape), " (0: any), got ",
                           tensorTypeName(state->dtype(), state->shape())));
  }
  return dataLoss(strCat("states: expected one named '", name, "'"));
}

static Status verifyStates(const schema::Artifact &artifact,
                           uint64_t largestChunk) {
  const schema::Envelope &e = *artifact.envelope();
  using schema::DType;
  uint64_t s = e.max_batch(), window = uint64_t(e.max_k()) + 1;
  uint64_t drafts = e.max_k() ? e.max_k() : 1;
  uint64_t pages = (uint64_t(e.max_context()) + e.max_k() + e.page_tokens()) /
                   e.page_tokens();
  struct Need {
    std::string name;
    DType dtype;
    std::vector<uint64_t> shape;
  };
  std::vector<Need> needs = {
      {"active", DType::I32, {s}},
      {"length", DType::I32, {s}},
      {"accepted", DType::I32, {s}},
      {"window", DType::I32, {s, window}},
      {"drafts", DType::I32, {s, drafts}},
      {"page_table", DType::I32, {s, pages}},
      {"sampling", DType::I32, {s, kSamplingWords}},
      {"out_tokens", DType::I32, {s, window}},
      {"out_count", DType::I32, {s}},
      {"prefill_info", DType::I32, {4}},
      {"prefill_tokens", DType::I32, {largestChunk + e.modules()}},
  };
  if (e.modules() > 0)
    needs.push_back({"hidden", DType::F32, {s, window, 0}});
  for (uint32_t d = 2; d <= e.modules(); ++d)
    needs.push_back({strCat("carry_", d), DType::F32, {s, 0}});
  for (const Need &need : needs)
    MTP_RETURN_IF_ERROR(
        verifyState(artifact, need.name, need.dtype, need.shape));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static Status verifyOutput(const schema::Program &program,
                           std::string_view name, schema::DType dtype,
                           const std::vector<uint64_t> &shape) {
  for (uint32_t i = 0; i < vectorSize(program.outputs()); ++i) {
    const schema::Port *port = program.outputs()->Get(i);
    if (port->name()->string_view() != name)
      continue;
    std::string got = tensorTypeName(port->dtype(), port->shape());
    std::string expected = tensorTypeName(dtype, shape);
    if (got == expected)
      return okStatus();
    return dataLoss(
        strCat("output '", name, "': expected ", expected, ", got ", got));
  }
  return dataLoss(strCat("expected an output named '", name, "'"));
}

static Status verifyOutputs(const schema::Artifact &artifact,
                            const schema::Program &program, uint64_t rows) {
  MTP_RETURN_IF_ERROR(verifyOutput(program, "logits", schema::DType::F32,
                                   {rows, artifact.envelope()->vocab()}));
  return verifyOutput(program, "picks", schema::DType::I32, {rows});
}

namespace {
/// The programs found so far, by what selects them.
struct Coverage {
  /// (batch, k) of Decode programs.
  std::set<std::pair<uint32_t, uint32_t>> decode;
  /// (chunk, modules) of Prefill programs.
  std::set<std::pair<uint32_t, uint32_t>> prefill;

  Status add(const schema::Artifact &artifact, const schema::Program &program);
};
} // namespace

Status Coverage::add(const schema::Artifact &artifact,
                     const schema::Program &program) {
  const schema::Envelope &e = *artifact.envelope();
  uint32_t batch = program.batch(), k = program.k(), chunk = program.chunk();
  if (program.kind() == schema::ProgramKind::Function)
    return okStatus();
  if (program.kind() == schema::ProgramKind::Decode) {
    if (batch < 1 || batch > e.max_batch() || k > e.max_k())
      return dataLoss(strCat("batch ", batch, ", k ", k,
                             " is outside the envelope of batch ",
                             e.max_batch(), ", k ", e.max_k()));
    if (!decode.emplace(batch, k).second)
      return dataLoss(
          strCat("a second decode program for batch ", batch, ", k ", k));
    return verifyOutputs(artifact, program, uint64_t(batch) * (k + 1));
  }
  if (chunk < 1 || chunk > (1 << 20))
    return dataLoss(strCat("expected a chunk of 1 to 2^20 rows, got ", chunk));
  if (program.modules() != 0 && program.modules() != e.modules())
    return dataLoss(strCat("expected 0 or all ", e.modules(), " modules, got ",
                           program.modules()));
  if (!prefill.emplace(chunk, program.modules()).second)
    return dataLoss(strCat("a second prefill program for chunk ", chunk,
                           " with ", program.modules(), " modules"));
  return verifyOutputs(artifact, program, 1);
}

static Status verifyCoverage(const schema::Envelope &e,
                             const Coverage &coverage) {
  for (uint32_t batch = 1; batch <= e.max_batch(); ++batch)
    for (uint32_t k = 0; k <= e.max_k(); ++k)
      if (!coverage.decode.count({batch, k}))
        return dataLoss(strCat("programs: expected a decode program for every "
                               "batch up to ",
                               e.max_batch(), " and every k up to ", e.max_k(),
                               ", got none for batch ", batch, ", k ", k));
  if (!coverage.prefill.count({e.prefill_chunk(), 0}))
    return dataLoss(strCat("programs: expected a prefill program for chunk ",
                           e.prefill_chunk(), " without modules"));
  for (auto [chunk, modules] : coverage.prefill)
    if (!coverage.prefill.count({chunk, e.modules()}) ||
        !coverage.prefill.count({chunk, 0}))
      return dataLoss(strCat("programs: expected prefill programs for chunk ",
                             chunk, " with 0 and with ", e.modules(),
                             " modules, got only ", modules));
  return okStatus();
}

static Status verifyGeneration(const schema::Artifact &artifact) {
  const schema::Generation *generation = artifact.generation();
  uint32_t vocab = artifact.envelope()->vocab();
  if (!generation)
    return okStatus();
  if (generation->bos() < -1 || generation->bos() >= int64_t(vocab))
    return dataLoss(strCat("generation.bos: token ", generation->bos(),
                           " is outside the vocabulary of ", vocab));
  for (uint32_t i = 0; i < vectorSize(generation->eos()); ++i) {
    int32_t token = generation->eos()->Get(i);
    if (token < 0 || uint32_t(token) >= vocab)
      return dataLoss(strCat("generation.eos[", i, "]: token ", token,
                             " is outside the vocabulary of ", vocab));
  }
  return okStatus();
}

Status mtp::verifyEnvelope(const schema::Artifact &artifact) {
  const schema::Envelope *envelope = artifact.envelope();
  if (envelope)
    MTP_RETURN_IF_ERROR(verifyLimits(*envelope));
  Coverage coverage;
  uint64_t largestChunk = 0;
  for (uint32_t i = 0; i < vectorSize(artifact.programs()); ++i) {
    const schema::Program *program = artifact.programs()->Get(i);
    std::string where = strCat("programs[", i, "]");
    if (!envelope && program->kind() != schema::ProgramKind::Function)
      return dataLoss(strCat(where, ": expected an envelope for a program "
                                    "that is no function"));
    if (!envelope)
      continue;
    Status status = coverage.add(artifact, *program);
    if (!status.isOk())
      return withPath(status, where);
    if (program->kind() == schema::ProgramKind::Prefill)
      largestChunk = std::max<uint64_t>(largestChunk, program->chunk());
  }
  if (!envelope)
    return okStatus();
  MTP_RETURN_IF_ERROR(verifyCoverage(*envelope, coverage));
  MTP_RETURN_IF_ERROR(verifyStates(artifact, largestChunk));
  return verifyGeneration(artifact);
}
