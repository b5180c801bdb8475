//===- HostState.cpp - The states that the host writes and reads ----------===//

#include "runtime/exec/HostState.h"

#include <algorithm>

using namespace mtp;

HostState::HostState(const schema::Artifact &artifact, Executable &executable)
    : artifact(artifact), executable(executable), active(find("active")),
      pageTable(find("page_table")), sampling(find("sampling")),
      info(find("prefill_info")), tokens(find("prefill_tokens")),
      outTokens(find("out_tokens")), outCount(find("out_count")) {}

/// The verifier has made sure that it is there.
uint32_t HostState::find(std::string_view name) const {
  uint32_t i = 0;
  while (artifact.states()->Get(i)->name()->string_view() != name)
    ++i;
  return i;
}

schema::Binding HostState::row(uint32_t state, uint64_t index) const {
  const flatbuffers::Vector<uint64_t> *shape =
      artifact.states()->Get(state)->shape();
  uint64_t bytes = 4;
  for (uint32_t d = 1; d < shape->size(); ++d)
    bytes *= shape->Get(d);
  return schema::Binding(schema::Space::State, state, index * bytes, bytes);
}

void HostState::setActive(std::span<const int32_t> slots) {
  executable.write(row(active, 0), slots.data(), slots.size_bytes());
}

void HostState::setPageTable(uint32_t slot, std::span<const int32_t> table) {
  executable.write(row(pageTable, slot), table.data(), table.size_bytes());
}

void HostState::setSampling(uint32_t slot, const SamplingRow &values) {
  executable.write(row(sampling, slot), &values, sizeof(values));
}

void HostState::setPrefill(uint32_t slot, uint32_t start, uint32_t count,
                           std::span<const int32_t> prompt) {
  int32_t values[4] = {int32_t(slot), int32_t(start), int32_t(count),
                       int32_t(prompt.size())};
  executable.write(row(info, 0), values, sizeof(values));
  buffer.assign(artifact.states()->Get(tokens)->shape()->Get(0), 0);
  std::span<const int32_t> rest = prompt.subspan(start);
  size_t known = std::min(rest.size(), buffer.size());
  std::copy_n(rest.begin(), known, buffer.begin());
  executable.write(row(tokens, 0), buffer.data(),
                   buffer.size() * sizeof(int32_t));
}

std::span<const int32_t> HostState::emitted(uint32_t slot) {
  int32_t count = 0;
  executable.read(row(outCount, slot), &count, sizeof(count));
  schema::Binding source = row(outTokens, slot);
  buffer.resize(source.bytes() / sizeof(int32_t));
  executable.read(source, buffer.data(), source.bytes());
  if (count < 1 || size_t(count) > buffer.size())
    return {};
  return std::span<const int32_t>(buffer).first(size_t(count));
}
