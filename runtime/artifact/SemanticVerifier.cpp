//===- SemanticVerifier.cpp - Checks an artifact's meaning ----------------===//

#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/artifact/DTypes.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/Limits.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

using namespace mtp;

Status mtp::withPath(const Status &status, std::string_view step) {
  std::string_view message = status.message();
  size_t name = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
  if (name == 0 || name == std::string_view::npos || message[name] != '[')
    return status.withContext(step);
  return Status(status.code(), strCat(step, ".", message));
}

/// Whether a name can be printed and looked up: short, visible, no separators.
static bool isName(std::string_view name) {
  if (name.empty() || name.size() > 1024)
    return false;
  for (unsigned char c : name)
    if (c <= ' ' || c == 0x7f)
      return false;
  return true;
}

Status mtp::verifyNames(const char *what,
                        const std::vector<std::string_view> &names) {
  std::unordered_map<std::string_view, size_t> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!isName(names[i]))
      return dataLoss(strCat(what, "[", i,
                             "]: expected a visible name of 1 "
                             "to 1024 bytes"));
    auto [other, fresh] = seen.emplace(names[i], i);
    if (!fresh)
      return dataLoss(strCat(what, "[", i, "] and ", what, "[", other->second,
                             "] are both named '", names[i], "'"));
  }
  return okStatus();
}

/// Returns the names of a vector's tables; `nameOf` gets each name.
template <typename T, typename NameOf>
static std::vector<std::string_view> namesOf(const Tables<T> *tables,
                                             NameOf nameOf) {
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < vectorSize(tables); ++i)
    names.push_back(nameOf(tables->Get(i))->string_view());
  return names;
}

static Status verifyPlanNames(const Plan &plan) {
  auto name = [](auto *entry) { return entry->name(); };
  MTP_RETURN_IF_ERROR(verifyNames("weights", namesOf(plan.weights, name)));
  MTP_RETURN_IF_ERROR(verifyNames("constants", namesOf(plan.constants, name)));
  std::vector<std::string_view> programs;
  for (const Program &program : plan.programs)
    programs.push_back(program.name);
  MTP_RETURN_IF_ERROR(verifyNames("programs", programs));
  return verifyNames("kernels", namesOf(plan.kernels, [](auto *kernel) {
                       return kernel->symbol();
                     }));
}

//===----------------------------------------------------------------------===//
// Reading plans
//===----------------------------------------------------------------------===//

static constexpr uint32_t kMostPlans = 16;

/// Reads a plan without its programs.
static Result<Plan> planOf(const schema::Plan &source, size_t states) {
  Plan plan;
  plan.target = source.target();
  plan.images = source.images();
  plan.kernels = source.kernels();
  plan.weights = source.weights();
  plan.constants = source.constants();
  plan.stateBytes = source.state_bytes();
  plan.arenaBytes = source.arena_bytes();
  plan.scratchBytes = source.scratch_bytes();
  plan.deviceLoop = source.device_loop();
  plan.gemmAlgorithms = source.gemm_algorithms();
  const auto *offsets = source.state_offsets();
  if (!isAligned(offsets))
    return dataLoss("state_offsets are not aligned to 8 bytes");
  if (vectorSize(offsets) != states)
    return dataLoss(strCat("state_offsets: expected ", states,
                           ", one for each state, got ", vectorSize(offsets)));
  for (uint32_t i = 0; i < vectorSize(offsets); ++i)
    plan.stateOffsets.push_back(offsets->Get(i));
  return plan;
}

static Status readPlan(const schema::Plan &source, uint64_t tableBytes,
                       Artifact &artifact) {
  MTP_ASSIGN_OR_RETURN(Plan plan, planOf(source, artifact.states.size()));
  MTP_RETURN_IF_ERROR(verifyStorage(artifact, plan));
  MTP_RETURN_IF_ERROR(readPrograms(source, tableBytes, plan));
  MTP_RETURN_IF_ERROR(verifyPlanNames(plan));
  MTP_RETURN_IF_ERROR(verifyPrograms(artifact, plan));
  MTP_RETURN_IF_ERROR(verifyCoverage(artifact, plan));
  MTP_RETURN_IF_ERROR(verifyHostStates(artifact, plan));
  artifact.plans.push_back(std::move(plan));
  return okStatus();
}

static Status readPlans(const schema::Artifact &root, uint64_t tableBytes,
                        Artifact &artifact) {
  uint32_t count = vectorSize(root.plans());
  if (count < 1 || count > kMostPlans)
    return dataLoss(
        strCat("plans: expected 1 to ", kMostPlans, ", got ", count));
  for (uint32_t i = 0; i < count; ++i)
    if (Status status = readPlan(*root.plans()->Get(i), tableBytes, artifact);
        !status.isOk())
      return withPath(status, strCat("plans[", i, "]"));
  return okStatus();
}

/// Reads a text that tools print unchanged.
static Status readLine(std::string_view name, const flatbuffers::String *text,
                       std::string_view &line) {
  if (!text)
    return okStatus();
  line = text->string_view();
  bool isLine =
      !line.empty() && line.size() <= kMostMethodBytes &&
      std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; });
  if (!isLine)
    return dataLoss(strCat(name, ": expected 1 to ", kMostMethodBytes,
                           " printable characters, got ", line.size(),
                           " bytes"));
  return okStatus();
}

static Status readRoot(const schema::Artifact &root, uint64_t tableBytes,
                       uint64_t segmentBytes, Artifact &artifact) {
  artifact.producer = root.producer()->string_view();
  artifact.model = root.model();
  artifact.envelope = root.envelope();
  artifact.generation = root.generation();
  artifact.caches = root.caches();
  artifact.segments = root.segments();
  artifact.tokenizer = root.tokenizer();
  artifact.chat = root.chat();
  artifact.isLossy = root.lossy();
  MTP_RETURN_IF_ERROR(readLine("method", root.method(), artifact.method));
  MTP_RETURN_IF_ERROR(readLine("rule", root.rule(), artifact.rule));
  MTP_RETURN_IF_ERROR(verifyNames(
      "caches", namesOf(root.caches(), [](auto *c) { return c->name(); })));
  MTP_RETURN_IF_ERROR(verifyShared(artifact, segmentBytes));
  MTP_RETURN_IF_ERROR(verifyChat(artifact.chat));
  MTP_RETURN_IF_ERROR(readStates(root, artifact));
  MTP_RETURN_IF_ERROR(verifyEnvelope(artifact));
  return readPlans(root, tableBytes, artifact);
}

/// Bounds on the FlatBuffer's nesting and on the number of tables that are
/// visited during verification. Otherwise a small file can name one table a
/// billion times.
static constexpr uint32_t kMaxDepth = 16;
static constexpr uint32_t kMaxTables = 1 << 23;

Result<Artifact> mtp::readTables(std::span<const uint8_t> tables,
                                 uint64_t segmentBytes) {
  flatbuffers::Verifier verifier(tables.data(), tables.size(), kMaxDepth,
                                 kMaxTables);
  if (!schema::VerifyArtifactBuffer(verifier))
    return dataLoss("the program is no valid FlatBuffer of kind 'MTPA'");
  Artifact artifact;
  MTP_RETURN_IF_ERROR(readRoot(*schema::GetArtifact(tables.data()),
                               tables.size(), segmentBytes, artifact));
  return artifact;
}

Status mtp::verifyTables(std::span<const uint8_t> tables,
                         uint64_t segmentBytes) {
  return readTables(tables, segmentBytes).status();
}
