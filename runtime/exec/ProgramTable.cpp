//===- ProgramTable.cpp - Find programs, states and ports -----------------===//

#include "runtime/exec/ProgramTable.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"

#include <algorithm>

using namespace mtp;

/// Rows that a pass may compute for nothing, where that saves other passes:
/// fewer than the smallest chunk has.
static constexpr uint32_t kDeadRows = 7;

/// The verifier has made sure that it is there.
static schema::Binding findLogits(const schema::Program &program) {
  for (const schema::Port *port : *program.outputs())
    if (port->name()->string_view() == "logits")
      return *port->binding();
  return {};
}

ProgramTable::ProgramTable(const schema::Artifact &artifact) {
  for (uint32_t i = 0; i < vectorSize(artifact.programs()); ++i) {
    const schema::Program *program = artifact.programs()->Get(i);
    switch (program->kind()) {
    case schema::ProgramKind::Decode:
      decodes[key(program->batch(), program->k())] = i;
      logitsOf[i] = findLogits(*program);
      break;
    case schema::ProgramKind::Prefill:
      prefills[key(program->chunk(), program->modules())] = i;
      logitsOf[i] = findLogits(*program);
      break;
    case schema::ProgramKind::Function:
      functions[program->name()->string_view()] = i;
      break;
    }
  }
  for (auto [shape, index] : prefills)
    if (uint32_t(shape) == 0)
      chunkSizes.push_back(uint32_t(shape >> 32));
  std::sort(chunkSizes.begin(), chunkSizes.end());
}

uint32_t ProgramTable::decode(uint32_t batch, uint32_t k) const {
  return decodes.at(key(batch, k));
}

uint32_t ProgramTable::prefill(uint32_t chunk, uint32_t modules) const {
  return prefills.at(key(chunk, modules));
}

bool ProgramTable::hasChunk(uint32_t chunk) const {
  return prefills.count(key(chunk, 0)) != 0;
}

std::vector<uint32_t> ProgramTable::chunks() const { return chunkSizes; }

uint32_t ProgramTable::nextChunk(uint64_t rest, uint32_t largest) const {
  uint32_t whole = 0, covering = 0;
  for (uint32_t chunk : chunkSizes) {
    if (chunk > largest)
      break;
    if (chunk <= rest)
      whole = chunk;
    else if (!covering)
      covering = chunk;
  }
  if (!whole || (covering && covering - rest <= kDeadRows && whole != rest))
    return covering;
  return whole;
}

Result<uint32_t> ProgramTable::function(std::string_view name) const {
  auto found = functions.find(name);
  if (found != functions.end())
    return found->second;
  return notFound(strCat("the artifact exports no function '", name, "'"));
}
