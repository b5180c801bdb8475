//===- VerifyPrograms.cpp - Checks of commands, bindings and ports --------===//

#include "runtime/artifact/Builtins.h"
#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"

using namespace mtp;

namespace {
/// What the bindings of one program may point into.
struct Memory {
  const schema::Artifact &artifact;
  uint64_t arenaBytes;
  schema::ProgramKind kind;
};
} // namespace

/// Checks a range against the thing called "the <what>'s <size> bytes".
static Status verifyRange(const schema::Binding &binding, const char *what,
                          uint64_t size) {
  if (inRange(binding.offset(), binding.bytes(), size))
    return okStatus();
  return dataLoss(strCat("offset ", binding.offset(), " + ", binding.bytes(),
                         " bytes is past the ", what, "'s ", size));
}

static Status verifyIndex(const schema::Binding &binding, const char *what,
                          uint32_t count) {
  if (binding.index() < count)
    return okStatus();
  return dataLoss(strCat(what, " ", binding.index(), " is past the ", count));
}

static Status verifyKv(const Memory &memory, const schema::Binding &binding) {
  MTP_RETURN_IF_ERROR(
      verifyIndex(binding, "cache", vectorSize(memory.artifact.caches())));
  uint32_t layers = memory.artifact.caches()->Get(binding.index())->layers();
  if (binding.offset() >= layers)
    return dataLoss(
        strCat("layer ", binding.offset(), " is past the cache's ", layers));
  if (binding.bytes() != 0)
    return dataLoss(
        strCat("expected 0 bytes for a whole layer, got ", binding.bytes()));
  return okStatus();
}

static Status verifyBinding(const Memory &memory,
                            const schema::Binding &binding) {
  const schema::Artifact &artifact = memory.artifact;
  if (binding.space() != schema::Space::Kv && binding.offset() % 4)
    return dataLoss(
        strCat("offset ", binding.offset(), " is no multiple of 4"));
  switch (binding.space()) {
  case schema::Space::Arena:
    if (binding.index() != 0)
      return dataLoss(
          strCat("expected index 0 in the arena, got ", binding.index()));
    return verifyRange(binding, "arena", memory.arenaBytes);
  case schema::Space::State: {
    MTP_RETURN_IF_ERROR(
        verifyIndex(binding, "state", vectorSize(artifact.states())));
    const schema::State *state = artifact.states()->Get(binding.index());
    MTP_ASSIGN_OR_RETURN(uint64_t bytes,
                         tensorBytes(state->dtype(), state->shape()));
    return verifyRange(binding, "state", bytes);
  }
  case schema::Space::Weight:
    MTP_RETURN_IF_ERROR(
        verifyIndex(binding, "weight", vectorSize(artifact.weights())));
    return verifyRange(binding, "weight",
                       artifact.weights()->Get(binding.index())->size());
  case schema::Space::Kv:
    return verifyKv(memory, binding);
  case schema::Space::Constant:
    MTP_RETURN_IF_ERROR(
        verifyIndex(binding, "constant", vectorSize(artifact.constants())));
    return verifyRange(binding, "constant",
                       artifact.constants()->Get(binding.index())->size());
  }
  return dataLoss(strCat("unknown space ", unsigned(binding.space())));
}

static Status verifyCommand(const Memory &memory,
                            const schema::Command &command) {
  const schema::Artifact &artifact = memory.artifact;
  if (command.kernel() >= vectorSize(artifact.kernels()))
    return dataLoss(strCat("kernel ", command.kernel(), " is past the ",
                           vectorSize(artifact.kernels()), " kernels"));
  const schema::Kernel *kernel = artifact.kernels()->Get(command.kernel());
  // Counts come before the elements: they bound the work of this function.
  if (vectorSize(command.bindings()) != kernel->buffers() ||
      vectorSize(command.params()) != kernel->params())
    return dataLoss(strCat(
        "expected ", kernel->buffers(), " bindings and ", kernel->params(),
        " params for ", kernel->symbol()->string_view(), ", got ",
        vectorSize(command.bindings()), " and ", vectorSize(command.params())));
  if (!isAligned(command.bindings()) || !isAligned(command.params()))
    return dataLoss("bindings and params are not aligned to 8 bytes");
  for (uint32_t i = 0; i < kernel->buffers(); ++i)
    if (Status status = verifyBinding(memory, *command.bindings()->Get(i));
        !status.isOk())
      return withPath(status, strCat("bindings[", i, "]"));
  if (command.tasks() > uint64_t(INT64_MAX))
    return dataLoss(
        strCat("tasks: expected less than 2^63, got ", command.tasks()));
  if (kernel->image() >= 0)
    return verifyAgainstContract(artifact, command, memory.kind);
  uint32_t last = kernel->buffers() - 1; // A builtin's result.
  if (Status status = verifyWritable(artifact, *command.bindings()->Get(last));
      !status.isOk())
    return withPath(status, strCat("bindings[", last, "]"));
  return findBuiltin(kernel->symbol()->string_view())->check(artifact, command);
}

using Ports = flatbuffers::Vector<flatbuffers::Offset<schema::Port>>;

static Status verifyPort(const Memory &memory, const schema::Port &port,
                         bool input) {
  schema::Space space = port.binding()->space();
  if (input ? space != schema::Space::Arena : space == schema::Space::Kv)
    return dataLoss(strCat("space ", unsigned(space), " cannot hold ",
                           input ? "an input" : "an output"));
  MTP_RETURN_IF_ERROR(verifyBinding(memory, *port.binding()));
  MTP_ASSIGN_OR_RETURN(uint64_t bytes, tensorBytes(port.dtype(), port.shape()));
  if (bytes != port.binding()->bytes())
    return dataLoss(strCat("expected ", bytes, " bytes for ",
                           tensorTypeName(port.dtype(), port.shape()), ", got ",
                           port.binding()->bytes()));
  return okStatus();
}

static Status verifyPorts(const Memory &memory, const Ports *ports,
                          bool input) {
  for (uint32_t i = 0; i < vectorSize(ports); ++i)
    if (Status status = verifyPort(memory, *ports->Get(i), input);
        !status.isOk())
      return withPath(status, strCat(input ? "inputs[" : "outputs[", i, "]"));
  return okStatus();
}

static Status verifyProgram(const schema::Artifact &artifact,
                            const schema::Program &program) {
  if (program.kind() > schema::ProgramKind::MAX)
    return dataLoss(strCat("unknown kind ", unsigned(program.kind())));
  if (program.arena_bytes() > artifact.arena_bytes())
    return dataLoss(strCat("needs ", program.arena_bytes(),
                           " bytes of an arena of ", artifact.arena_bytes()));
  Memory memory{artifact, program.arena_bytes(), program.kind()};
  for (uint32_t i = 0; i < vectorSize(program.commands()); ++i)
    if (Status status = verifyCommand(memory, *program.commands()->Get(i));
        !status.isOk())
      return withPath(status, strCat("commands[", i, "]"));
  MTP_RETURN_IF_ERROR(verifyPorts(memory, program.inputs(), true));
  return verifyPorts(memory, program.outputs(), false);
}

Status mtp::verifyPrograms(const schema::Artifact &artifact) {
  for (uint32_t i = 0; i < vectorSize(artifact.programs()); ++i)
    if (Status status = verifyProgram(artifact, *artifact.programs()->Get(i));
        !status.isOk())
      return withPath(status, strCat("programs[", i, "]"));
  return okStatus();
}
