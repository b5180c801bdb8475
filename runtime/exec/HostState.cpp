//===- HostState.cpp - The states that the host writes and reads ----------===//

#include "runtime/exec/HostState.h"
#include "runtime/schema/PromptWords.h"

#include <algorithm>

using namespace mtp;

HostState::HostState(const Artifact &artifact, Executable &executable)
    : artifact(artifact), executable(executable), active(find("active")),
      pageTable(find("page_table")), sampling(find("sampling")),
      outTokens(find("out_tokens")), outCount(find("out_count")),
      promptTokens(find("prompt_tokens")),
      promptPositions(find("prompt_positions")),
      promptSlots(find("prompt_slots")),
      promptSequences(find("prompt_sequences")), info(find("prefill_info")),
      tokens(find("prefill_tokens")) {}

HostState::Table HostState::find(std::string_view name) const {
  std::optional<uint32_t> index = artifact.findState(name);
  if (!index)
    return {};
  const std::vector<uint64_t> &shape = artifact.states[*index].shape;
  Table table{index, shape[0], 1};
  for (size_t d = 1; d < shape.size(); ++d)
    table.width *= shape[d];
  return table;
}

schema::Binding HostState::row(const Table &table, uint64_t index) {
  uint64_t bytes = table.width * sizeof(int32_t);
  return {schema::Space::State, *table.state, index * bytes, bytes};
}

Status HostState::writeRow(const Table &table, uint64_t index,
                           const void *source, uint64_t bytes) {
  return table.state ? executable.write(row(table, index), source, bytes)
                     : okStatus();
}

Status HostState::writeAll(const Table &table,
                           const std::vector<int32_t> &values) {
  return writeRow(table, 0, values.data(), values.size() * sizeof(int32_t));
}

Status HostState::setActive(std::span<const int32_t> slots) {
  return writeRow(active, 0, slots.data(), slots.size_bytes());
}

Status HostState::setPageTable(uint32_t slot, std::span<const int32_t> table) {
  return writeRow(pageTable, slot, table.data(), table.size_bytes());
}

Status HostState::setSampling(uint32_t slot, const SamplingRow &values) {
  return writeRow(sampling, slot, &values, sizeof(values));
}

Status HostState::setPrefill(std::span<const PromptPart> parts) {
  return promptTokens.state ? setPromptRows(parts)
                            : setPrefillTokens(parts.front());
}

/// Row d of tokens and positions is what the rows have d places on.
Status HostState::setPromptRows(std::span<const PromptPart> parts) {
  uint64_t places = promptTokens.rows, chunk = promptTokens.width;
  std::vector<int32_t> ahead(places * chunk, 0), positions(places * chunk, -1);
  std::vector<int32_t> slots(chunk, int32_t(parts.front().slot));
  uint64_t width = promptSequences.width, first = 0;
  std::vector<int32_t> words(promptSequences.rows * width, 0);
  for (size_t s = 0; s < parts.size(); ++s) {
    auto [slot, start, count, prompt] = parts[s];
    for (uint64_t d = 0; d < places; ++d)
      for (uint64_t row = 0; row < count && start + row + d < prompt.size();
           ++row) {
        ahead[d * chunk + first + row] = prompt[start + row + d];
        positions[d * chunk + first + row] = int32_t(start + row);
      }
    std::fill_n(slots.begin() + first, count, int32_t(slot));
    if (promptSequences.state) {
      words[kPromptSlot * width + s] = int32_t(slot);
      words[kPromptFirstRow * width + s] = int32_t(first);
      words[kPromptRows * width + s] = int32_t(count);
      words[kPromptStart * width + s] = int32_t(start);
      words[kPromptTotal * width + s] = int32_t(prompt.size());
    }
    first += count;
  }
  MTP_RETURN_IF_ERROR(writeAll(promptTokens, ahead));
  MTP_RETURN_IF_ERROR(writeAll(promptPositions, positions));
  MTP_RETURN_IF_ERROR(writeAll(promptSlots, slots));
  return writeAll(promptSequences, words);
}

Status HostState::setPrefillTokens(const PromptPart &part) {
  auto [slot, start, count, prompt] = part;
  int32_t values[4] = {int32_t(slot), int32_t(start), int32_t(count),
                       int32_t(prompt.size())};
  MTP_RETURN_IF_ERROR(writeRow(info, 0, values, sizeof(values)));
  buffer.assign(tokens.rows, 0);
  std::span<const int32_t> rest = prompt.subspan(start);
  size_t known = std::min(rest.size(), buffer.size());
  std::copy_n(rest.begin(), known, buffer.begin());
  return writeAll(tokens, buffer);
}

Result<std::span<const int32_t>> HostState::emitted(uint32_t slot) {
  int32_t count = 0;
  MTP_RETURN_IF_ERROR(
      executable.read(row(outCount, slot), &count, sizeof(count)));
  schema::Binding source = row(outTokens, slot);
  buffer.resize(outTokens.width);
  MTP_RETURN_IF_ERROR(executable.read(source, buffer.data(), source.bytes()));
  if (count < 1 || size_t(count) > buffer.size())
    return std::span<const int32_t>();
  return std::span<const int32_t>(buffer).first(size_t(count));
}
