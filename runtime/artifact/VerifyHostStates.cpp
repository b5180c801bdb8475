//===- VerifyHostStates.cpp - Checks of shared states ---------------------===//
//
// The host lays out the states that it shares with programs by the envelope.
// Kernels have the distances between rows compiled in. With an envelope of
// other sizes and matching states, they would read wrong places without leaving
// a buffer. The distances in contracts, places and params are therefore
// compared with the envelope. The runtime knows the distances of builtins.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/Builtins.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <iterator>

using namespace mtp;

namespace {
/// A binding of a command of a decode or prefill program.
struct Use {
  CommandContext context;
  const Place &place;
  /// Null for a builtin, which has no contract.
  const schema::BufferContract *contract;
};
} // namespace

/// Calls `visit` for every binding of every command of a program.
static Status forUses(const Artifact &artifact, const Plan &plan,
                      const Program &program,
                      const std::function<Status(const Use &)> &visit) {
  for (size_t c = 0; c < program.commands.size(); ++c) {
    CommandContext context{artifact, plan, program, program.commands[c]};
    const schema::Contract *contract = context.kernel().contract();
    std::span<const Place> places = context.places();
    for (uint32_t i = 0; i < places.size(); ++i) {
      Use use{context, places[i],
              contract ? contract->buffers()->Get(i) : nullptr};
      if (Status status = visit(use); !status.isOk())
        return withPath(status, strCat("commands[", c, "].bindings[", i, "]"));
    }
  }
  return okStatus();
}

static std::string_view stateOf(const Artifact &artifact, const Place &place) {
  return place.space == schema::Space::State ? artifact.states[place.index].name
                                             : std::string_view();
}

//===----------------------------------------------------------------------===//
// Rows of tables
//===----------------------------------------------------------------------===//

/// Checks that the params for the distance of a slot's page numbers equal the
/// pages of a slot.
static Status verifyTableWidth(const Artifact &artifact, const Use &use) {
  if (!use.contract || !use.contract->page_table() ||
      stateOf(artifact, use.place) != "page_table")
    return okStatus();
  const schema::BufferContract &buffer = *use.contract;
  auto pages = int64_t(artifact.states[use.place.index].shape.back());
  for (uint32_t i = 0; i < vectorSize(buffer.bytes()); ++i)
    for (uint32_t param :
         {buffer.bytes()->Get(i)->first(), buffer.bytes()->Get(i)->second()}) {
      if (param == kNoParam)
        continue;
      Count got = use.context.params()[param];
      if (!got.isFixed() || got.base != pages)
        return dataLoss(strCat("expected params[", param, "] of ", pages,
                               ", the pages of a slot in the envelope, got ",
                               got.base));
    }
  return okStatus();
}

/// Checks that a place in a table of prompts starts at a row of the table, and
/// has at most that row or whole rows.
static Status verifyPromptRow(const Artifact &artifact, const Use &use) {
  std::string_view name = stateOf(artifact, use.place);
  if (name != "prompt_tokens" && name != "prompt_positions" &&
      name != "prompt_sequences")
    return okStatus();
  int64_t row = int64_t(artifact.states[use.place.index].shape.back()) *
                int64_t(sizeof(int32_t));
  for (uint64_t n : {use.context.first(), use.context.last()}) {
    int64_t offset = use.place.offset.at(n), bytes = use.place.bytes.at(n);
    if (offset % row == 0 && (bytes <= row || bytes % row == 0))
      continue;
    return dataLoss(strCat("expected rows of ", row, " bytes, those of '", name,
                           "' in the envelope, got ", bytes,
                           " bytes at offset ", offset));
  }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// States as a whole
//===----------------------------------------------------------------------===//

/// Checks that if kernels use a state, some kernel uses all of it. Kernels
/// index the state by slot and row, and have its size compiled in.
static Status verifyReach(const Artifact &artifact, const Plan &plan,
                          std::string_view name) {
  std::optional<uint32_t> index = artifact.findState(name);
  if (!index)
    return okStatus();
  uint64_t reach = 0;
  for (const Program &program : plan.programs)
    MTP_RETURN_IF_ERROR(
        forUses(artifact, plan, program, [&](const Use &use) -> Status {
          if (!use.contract || stateOf(artifact, use.place) != name)
            return okStatus();
          for (uint64_t n : {use.context.first(), use.context.last()})
            reach = std::max(reach,
                             uint64_t(use.place.offset.at(n)) +
                                 touchedBytes(*use.contract, use.context, n));
          return okStatus();
        }));
  uint64_t bytes = artifact.states[*index].bytes;
  if (reach == 0 || reach >= bytes)
    return okStatus();
  return dataLoss(strCat("states[", *index, "] '", name,
                         "': expected programs that use all of its ", bytes,
                         " bytes, which follow from the envelope, got ", reach,
                         " bytes"));
}

/// Checks that an output has the size that a kernel writes. Otherwise the
/// envelope's row distance would differ from the real one.
static Status verifySource(const Artifact &artifact, const Plan &plan,
                           const Program &program, const Port &port) {
  bool isNamed = false, isPart = false, isWhole = false;
  MTP_RETURN_IF_ERROR(
      forUses(artifact, plan, program, [&](const Use &use) -> Status {
        if (use.place != port.place)
          return okStatus();
        isNamed = true;
        if (!use.contract || !use.contract->written())
          return okStatus();
        bool writesAll = true;
        for (uint64_t n : {use.context.first(), use.context.last()})
          writesAll &= touchedBytes(*use.contract, use.context, n) >=
                       port.place.at(n).bytes;
        (writesAll ? isWhole : isPart) = true;
        return okStatus();
      }));
  // A program without commands writes nothing, whatever its sizes.
  if (program.commands.empty() || (isNamed && (isWhole || !isPart)))
    return okStatus();
  return dataLoss(strCat(
      "output '", port.name, "': expected ", port.place.at(program.begin).bytes,
      " bytes that a kernel writes, got ", isPart ? "fewer" : "none"));
}

//===----------------------------------------------------------------------===//
// Folding rows into states
//===----------------------------------------------------------------------===//

/// Returns the state that holds how many rows of a slot's last pass go into its
/// states of Rebuild::Run (HostState::canSetAccepted), if there is one.
static std::optional<uint32_t> findAccepted(const Artifact &artifact) {
  std::optional<uint32_t> index = artifact.findState("accepted");
  if (!index)
    return std::nullopt;
  const State &state = artifact.states[*index];
  bool isWords = state.dtype == schema::DType::I32 &&
                 state.bytes == artifact.envelope->max_batch() * 4ull;
  return isWords ? index : std::nullopt;
}

/// Checks that a prompt's program reads `accepted` before it writes a state of
/// Rebuild::Run. The folding kernels read the output of an earlier command.
/// Only prefills are checked, not mixed batches. Programs of earlier compilers,
/// from before this was in the format, always fold one row and would continue
/// wrongly from snapshots.
static Status verifyFold(const Artifact &artifact, const Plan &plan,
                         const Program &program) {
  std::optional<uint32_t> accepted = findAccepted(artifact);
  if (!accepted || program.kind != schema::ProgramKind::Prefill)
    return okStatus();
  bool isAsked = false;
  auto check = [&](const Use &use) -> Status {
    if (use.place.space != schema::Space::State)
      return okStatus();
    const State &state = artifact.states[use.place.index];
    bool isWritten = use.contract && use.contract->written();
    isAsked |= use.place.index == *accepted && !isWritten;
    if (isAsked || !isWritten || state.rule.rebuild != schema::Rebuild::Run)
      return okStatus();
    return failedPrecondition(
        strCat("expected a program that reads 'accepted' before it writes '",
               state.name,
               "', got one of a compiler that took one row for "
               "granted: compile the model again"));
  };
  return forUses(artifact, plan, program, check);
}

Status mtp::verifyHostStates(const Artifact &artifact, const Plan &plan) {
  if (!artifact.envelope)
    return okStatus();
  for (size_t i = 0; i < plan.programs.size(); ++i) {
    const Program &program = plan.programs[i];
    if (program.kind == schema::ProgramKind::Function)
      continue;
    Status status =
        forUses(artifact, plan, program, [&](const Use &use) -> Status {
          MTP_RETURN_IF_ERROR(verifyTableWidth(artifact, use));
          return verifyPromptRow(artifact, use);
        });
    if (status.isOk())
      status = verifyFold(artifact, plan, program);
    for (size_t o = 0; status.isOk() && o < program.outputs.size(); ++o)
      status = verifySource(artifact, plan, program, program.outputs[o]);
    if (!status.isOk())
      return withPath(status, strCat("programs[", i, "]"));
  }
  for (std::string_view name :
       {"length", "page_table", "out_tokens", "out_count", "loop",
        "stop_tokens", "ring", "draft_limit", "shown_confidence",
        "drafter_places", "logit_rules", "logit_bias", "logit_masks",
        "host_drafts", "token_counts", "logit_path"})
    MTP_RETURN_IF_ERROR(verifyReach(artifact, plan, name));
  return okStatus();
}
