//===- VerifyEnvelope.cpp - Is everything that was promised there? --------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/artifact/StateRule.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/PromptWords.h"
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

static Status verifyLimits(const schema::Artifact &artifact) {
  const schema::Envelope &e = *artifact.envelope();
  MTP_RETURN_IF_ERROR(verifyLimit("max_k", e.max_k(), 0, 64));
  MTP_RETURN_IF_ERROR(verifyLimit("max_batch", e.max_batch(), 1, 1024));
  MTP_RETURN_IF_ERROR(verifyLimit("max_context", e.max_context(), 1, 1 << 24));
  MTP_RETURN_IF_ERROR(
      verifyLimit("prefill_chunk", e.prefill_chunk(), 1, 1 << 20));
  MTP_RETURN_IF_ERROR(verifyLimit("page_tokens", e.page_tokens(), 1, 1 << 16));
  MTP_RETURN_IF_ERROR(verifyLimit("vocab", e.vocab(), 1, 1 << 24));
  MTP_RETURN_IF_ERROR(verifyLimit("modules", e.modules(), 0, 64));
  // Where prompts come as rows, a method may draft without modules.
  if (e.modules() == 0 && !findState(artifact, "prompt_tokens"))
    return verifyLimit("max_k", e.max_k(), 0, 0);
  return okStatus();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

namespace {
/// What the host asks of a state. A dimension of 0 stands for any.
struct Need {
  std::string name;
  schema::DType dtype;
  std::vector<uint64_t> shape;
  /// Whether it may be absent.
  bool isOptional = false;
  bool isShared = false;
};
} // namespace

static bool hasShape(const schema::State &state, const Need &need) {
  bool same = state.dtype() == need.dtype &&
              vectorSize(state.shape()) == need.shape.size();
  for (uint32_t d = 0; same && d < need.shape.size(); ++d)
    same = need.shape[d] == 0 || need.shape[d] == state.shape()->Get(d);
  return same;
}

static Status verifyState(const schema::Artifact &artifact, const Need &need) {
  std::optional<uint32_t> index = findState(artifact, need.name);
  if (!index && need.isOptional)
    return okStatus();
  if (!index)
    return dataLoss(strCat("states: expected one named '", need.name, "'"));
  const schema::State &state = *artifact.states()->Get(*index);
  std::string where = strCat("states[", *index, "] '", need.name, "': ");
  if (!hasShape(state, need))
    return dataLoss(strCat(where, "expected ",
                           tensorTypeName(need.dtype, need.shape),
                           " (0: any), got ",
                           tensorTypeName(state.dtype(), state.shape())));
  if (state.upkeep() && ruleOf(state).shared != need.isShared)
    return dataLoss(strCat(where, "expected one ",
                           need.isShared ? "for all slots" : "per slot"));
  return okStatus();
}

/// The states of the prompt contract of 1.0: drafter modules are counted, and
/// what passes from round to round has fixed names.
static std::vector<Need> modulesContract(const schema::Envelope &e,
                                         uint64_t largestChunk) {
  using schema::DType;
  uint64_t s = e.max_batch(), window = uint64_t(e.max_k()) + 1;
  uint64_t drafts = e.max_k() ? e.max_k() : 1;
  std::vector<Need> needs = {
      {"length", DType::I32, {s}},
      {"accepted", DType::I32, {s}},
      {"window", DType::I32, {s, window}},
      {.name = "drafts",
       .dtype = DType::I32,
       .shape = {s, drafts},
       .isShared = true},
      {.name = "prefill_info",
       .dtype = DType::I32,
       .shape = {4},
       .isShared = true},
      {.name = "prefill_tokens",
       .dtype = DType::I32,
       .shape = {largestChunk + e.modules()},
       .isShared = true},
  };
  if (e.modules() > 0)
    needs.push_back({"hidden", DType::F32, {s, window, 0}});
  for (uint32_t d = 2; d <= e.modules(); ++d)
    needs.push_back({strCat("carry_", d), DType::F32, {s, 0}});
  return needs;
}

/// Those of files that say what each state is: the prompt's rows.
static std::vector<Need> promptContract(const schema::Artifact &artifact) {
  const schema::Envelope &e = *artifact.envelope();
  uint64_t chunk = e.prefill_chunk();
  uint64_t places = uint64_t(placesAhead(artifact)) + 1;
  auto shared = [](const char *name, std::vector<uint64_t> shape) {
    return Need{name, schema::DType::I32, std::move(shape), true, true};
  };
  return {shared("prompt_tokens", {places, chunk}),
          shared("prompt_positions", {places, chunk}),
          shared("prompt_slots", {chunk}),
          shared("prompt_sequences", {kPromptWords, e.max_batch()}),
          Need{"length", schema::DType::I32, {e.max_batch()}, true}};
}

static Status verifyStates(const schema::Artifact &artifact,
                           uint64_t largestChunk) {
  const schema::Envelope &e = *artifact.envelope();
  using schema::DType;
  uint64_t s = e.max_batch(), window = uint64_t(e.max_k()) + 1;
  uint64_t pages = (uint64_t(e.max_context()) + e.max_k() + e.page_tokens()) /
                   e.page_tokens();
  bool hasRows = findState(artifact, "prompt_tokens").has_value();
  std::vector<Need> needs =
      hasRows ? promptContract(artifact) : modulesContract(e, largestChunk);
  needs.push_back({"active", DType::I32, {s}, hasRows, true});
  needs.push_back({"page_table", DType::I32, {s, pages}, hasRows});
  needs.push_back({"sampling", DType::I32, {s, kSamplingWords}, hasRows});
  needs.push_back({"out_tokens", DType::I32, {s, window}});
  needs.push_back({"out_count", DType::I32, {s}});
  for (const Need &need : needs)
    MTP_RETURN_IF_ERROR(verifyState(artifact, need));
  uint32_t ahead = placesAhead(artifact);
  if (hasRows && (ahead > kMostPlacesAhead || largestChunk > e.prefill_chunk()))
    return dataLoss(strCat("states: 'prompt_tokens': expected at most ",
                           kMostPlacesAhead, " places ahead and chunks of ",
                           e.prefill_chunk(), " rows, got ", ahead, " and ",
                           largestChunk));
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
  uint32_t all = placesAhead(artifact);
  if (program.modules() != 0 && program.modules() != all)
    return dataLoss(strCat("expected 0 or all ", all, " modules, got ",
                           program.modules()));
  if (!prefill.emplace(chunk, program.modules()).second)
    return dataLoss(strCat("a second prefill program for chunk ", chunk,
                           " with ", program.modules(), " modules"));
  return verifyOutputs(artifact, program, 1);
}

static Status verifyCoverage(const schema::Artifact &artifact,
                             const Coverage &coverage) {
  const schema::Envelope &e = *artifact.envelope();
  uint32_t all = placesAhead(artifact);
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
    if (!coverage.prefill.count({chunk, all}) ||
        !coverage.prefill.count({chunk, 0}))
      return dataLoss(strCat("programs: expected prefill programs for chunk ",
                             chunk, " with 0 and with ", all,
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
    MTP_RETURN_IF_ERROR(verifyLimits(artifact));
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
  MTP_RETURN_IF_ERROR(verifyCoverage(artifact, coverage));
  MTP_RETURN_IF_ERROR(verifyStates(artifact, largestChunk));
  return verifyGeneration(artifact);
}
