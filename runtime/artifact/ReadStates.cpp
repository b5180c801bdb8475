//===- ReadStates.cpp - Reading and checking the states -------------------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/Limits.h"

#include <cfloat>
#include <cmath>

using namespace mtp;

/// Whether the element type can represent a value.
static bool isValue(double value, schema::DType type) {
  auto isInteger = [&](double least, double end) {
    return value >= least && value < end && std::trunc(value) == value;
  };
  switch (type) {
  case schema::DType::F32:
    return !std::isfinite(value) ||
           (std::abs(value) <= FLT_MAX && double(float(value)) == value);
  case schema::DType::I32:
    return isInteger(-0x1p31, 0x1p31);
  case schema::DType::I64:
    return isInteger(-0x1p63, 0x1p63);
  default:
    return value == 0;
  }
}

/// Checks that the state that the host keeps over a preemption is small.
static Status verifySaved(const schema::State &state, uint64_t slots) {
  MTP_ASSIGN_OR_RETURN(uint64_t bytes,
                       tensorBytes(state.dtype(), state.shape()));
  if (bytes / slots <= kMostSavedBytes)
    return okStatus();
  return dataLoss(strCat("upkeep: expected at most ", kMostSavedBytes,
                         " bytes of a slot to save, got ", bytes / slots));
}

static Status verifySlots(const schema::Artifact &artifact,
                          const schema::State &state) {
  const schema::Envelope *e = artifact.envelope();
  if (!e)
    return dataLoss("upkeep: expected an envelope for a state per slot");
  uint32_t rank = vectorSize(state.shape());
  if (rank == 0 || state.shape()->Get(0) != e->max_batch())
    return dataLoss(strCat("upkeep: expected ", e->max_batch(),
                           " slots as the first dimension, got ",
                           tensorTypeName(state.dtype(), state.shape())));
  const schema::Upkeep &upkeep = *state.upkeep();
  switch (upkeep.rebuild()) {
  case schema::Rebuild::Rows:
    if (upkeep.rows() < 1 || upkeep.rows() > kMostRebuildRows)
      return dataLoss(strCat("upkeep.rows: expected 1 to ", kMostRebuildRows,
                             ", got ", upkeep.rows()));
    return okStatus();
  case schema::Rebuild::Tokens:
    if (state.dtype() != schema::DType::I32 || rank != 2 ||
        state.shape()->Get(1) < e->max_context())
      return dataLoss(strCat("upkeep: expected ", e->max_batch(), "x",
                             e->max_context(),
                             "xi32 or longer for tokens, got ",
                             tensorTypeName(state.dtype(), state.shape())));
    return okStatus();
  case schema::Rebuild::Never:
    return okStatus();
  case schema::Rebuild::Save:
    return verifySaved(state, e->max_batch());
  case schema::Rebuild::Run:
    if (upkeep.init() != 0)
      return dataLoss(strCat("upkeep.init: expected 0 of a state that programs "
                             "begin, got ",
                             upkeep.init()));
    return okStatus();
  }
  return dataLoss(
      strCat("upkeep.rebuild: unknown value ", unsigned(upkeep.rebuild())));
}

static Status verifyInput(const schema::State &state) {
  const schema::Upkeep &upkeep = *state.upkeep();
  bool isElement = state.dtype() == schema::DType::I32 ||
                   state.dtype() == schema::DType::F32;
  if (upkeep.shared() || !isElement)
    return dataLoss(strCat("upkeep.input: expected a state per slot of i32 or "
                           "f32, got ",
                           upkeep.shared() ? "a shared one of " : "",
                           dtypeName(state.dtype())));
  if (upkeep.rebuild() != schema::Rebuild::Rows || upkeep.rows() != 1)
    return dataLoss("upkeep.input: expected nothing to rebuild of an input");
  return okStatus();
}

/// Checks a state's upkeep. Type and shape must have passed.
static Status verifyUpkeep(const schema::Artifact &artifact,
                           const schema::State &state) {
  const schema::Upkeep &upkeep = *state.upkeep();
  if (!isValue(upkeep.init(), state.dtype()))
    return dataLoss(strCat("upkeep.init: expected a value of ",
                           dtypeName(state.dtype()), ", got ", upkeep.init()));
  if (upkeep.input())
    MTP_RETURN_IF_ERROR(verifyInput(state));
  if (!upkeep.shared())
    return verifySlots(artifact, state);
  if (upkeep.rebuild() != schema::Rebuild::Rows || upkeep.rows() != 1)
    return dataLoss("upkeep: expected nothing to rebuild of a shared state");
  return okStatus();
}

/// Reads a state and checks everything except the host's needs.
static Result<State> readState(const schema::Artifact &root,
                               const schema::State &state) {
  State read;
  MTP_ASSIGN_OR_RETURN(read.bytes, tensorBytes(state.dtype(), state.shape()));
  read.name = state.name()->string_view();
  read.dtype = state.dtype();
  for (uint32_t d = 0; d < vectorSize(state.shape()); ++d)
    read.shape.push_back(state.shape()->Get(d));
  const schema::Upkeep &upkeep = *state.upkeep();
  read.rule = {upkeep.shared(), upkeep.init(), upkeep.rebuild(), upkeep.rows(),
               upkeep.input()};
  MTP_RETURN_IF_ERROR(verifyUpkeep(root, state));
  return read;
}

Status mtp::readStates(const schema::Artifact &root, Artifact &artifact) {
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < vectorSize(root.states()); ++i) {
    Result<State> state = readState(root, *root.states()->Get(i));
    if (!state)
      return state.status().withContext(strCat("states[", i, "]"));
    names.push_back(state->name);
    artifact.states.push_back(std::move(*state));
  }
  return verifyNames("states", names);
}
