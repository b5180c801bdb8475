//===- HostState.cpp - The states that the host writes and reads ----------===//

#include "runtime/exec/launch/HostState.h"
#include "runtime/schema/ConfidenceStates.h"
#include "runtime/schema/LoopLayout.h"
#include "runtime/schema/PromptLayout.h"

#include <algorithm>
#include <array>

using namespace mtp;

HostState::HostState(const Artifact &artifact, Executable &executable)
    : artifact(artifact), executable(executable), active(find("active")),
      pageTable(find("page_table")), sampling(find("sampling")),
      outTokens(find("out_tokens")), outCount(find("out_count")),
      loop(find("loop")), stopTokens(find("stop_tokens")), ring(find("ring")),
      accepted(find("accepted")),
      drafters{find("draft_limit"), find("drafter_places"),
               find(kShownConfidence)},
      prompt{find("prompt_tokens"), find("prompt_positions"),
             find("prompt_slots"), find("prompt_sequences")} {}

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

Binding HostState::row(const Table &table, uint64_t index) {
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

Status HostState::syncPageTable(Residency &residency,
                                const KvCacheManager &pages) {
  uint64_t capacity = pages.capacity(residency.slot);
  if (capacity == residency.tableCapacity)
    return okStatus();
  MTP_RETURN_IF_ERROR(
      setPageTable(residency.slot, pages.table(residency.slot)));
  residency.tableCapacity = capacity;
  return okStatus();
}

Status HostState::setSampling(uint32_t slot, const SamplingRow &values) {
  return writeRow(sampling, slot, &values, sizeof(values));
}

Status HostState::setLoop(uint32_t slot, const LoopLimits &limits) {
  auto word = [](uint64_t value) {
    return int32_t(std::min<uint64_t>(value, INT32_MAX));
  };
  std::array<int32_t, kLoopWords> words = {};
  words[kLoopRounds] = word(limits.rounds);
  words[kLoopBudget] = word(limits.budget);
  words[kLoopPositions] = word(limits.positions);
  words[kLoopEnded] = limits.isDead;
  words[kLoopYields] = limits.yields;
  words[kLoopMostRows] = word(limits.mostRows);
  return writeRow(loop, slot, words.data(), sizeof(words));
}

Status HostState::setStopTokens(uint32_t slot,
                                std::span<const int32_t> tokens) {
  std::array<int32_t, kStopTokens> all;
  all.fill(-1);
  std::copy_n(tokens.begin(), std::min(tokens.size(), all.size()), all.begin());
  return writeRow(stopTokens, slot, all.data(), sizeof(all));
}

Status HostState::setDraftLimit(uint32_t slot, uint32_t drafts) {
  int32_t word = int32_t(std::min<uint32_t>(drafts, INT32_MAX));
  return writeRow(drafters.limit, slot, &word, sizeof(word));
}

bool HostState::canSetAccepted() const {
  // A user's method may have another state of this name.
  return accepted.state && accepted.width == 1 &&
         accepted.rows == artifact.envelope->max_batch() &&
         artifact.states[*accepted.state].dtype == schema::DType::I32;
}

Status HostState::setAccepted(uint32_t slot, int32_t drafts) {
  return writeRow(accepted, slot, &drafts, sizeof(drafts));
}

Status HostState::setDrafterPlaces(uint32_t slot,
                                   std::span<const int32_t> words) {
  return writeRow(drafters.places, slot, words.data(), words.size_bytes());
}

/// Writes the rows of a chunk. Row d of the states of tokens and positions has
/// the values that belong d places ahead of each row.
Status HostState::setPrefill(std::span<const PromptPart> parts) {
  uint64_t places = prompt.tokens.rows, chunk = prompt.tokens.width;
  std::vector<int32_t> ahead(places * chunk, 0), positions(places * chunk, -1);
  std::vector<int32_t> slots(chunk, int32_t(parts.front().slot));
  uint64_t width = prompt.sequences.width, first = parts.front().firstRow;
  std::vector<int32_t> words(prompt.sequences.rows * width, 0);
  for (size_t s = 0; s < parts.size(); ++s) {
    const auto &[slot, start, count, unused, tokens] = parts[s];
    for (uint64_t d = 0; d < places; ++d)
      for (uint64_t row = 0; row < count && start + row + d < tokens.size();
           ++row) {
        ahead[d * chunk + first + row] = tokens[start + row + d];
        positions[d * chunk + first + row] = int32_t(start + row);
      }
    std::fill_n(slots.begin() + first, count, int32_t(slot));
    if (prompt.sequences.state) {
      words[kPromptSlot * width + s] = int32_t(slot);
      words[kPromptFirstRow * width + s] = int32_t(first);
      words[kPromptRows * width + s] = int32_t(count);
      words[kPromptStart * width + s] = int32_t(start);
      words[kPromptTotal * width + s] = int32_t(tokens.size());
    }
    first += count;
  }
  MTP_RETURN_IF_ERROR(writeAll(prompt.tokens, ahead));
  MTP_RETURN_IF_ERROR(writeAll(prompt.positions, positions));
  MTP_RETURN_IF_ERROR(writeAll(prompt.slots, slots));
  return writeAll(prompt.sequences, words);
}

Result<std::span<const int32_t>> HostState::emitted(uint32_t slot) {
  int32_t count = 0;
  MTP_RETURN_IF_ERROR(
      executable.read(row(outCount, slot), &count, sizeof(count)));
  Binding source = row(outTokens, slot);
  buffer.resize(outTokens.width);
  MTP_RETURN_IF_ERROR(executable.read(source, buffer.data(), source.bytes));
  return checkCount(count);
}

Result<HostState::RoundOutput> HostState::emittedIn(uint32_t round,
                                                    uint32_t slot) {
  if (!hasRing()) {
    // The number of drafts is not known.
    MTP_ASSIGN_OR_RETURN(std::span<const int32_t> tokens, emitted(slot));
    return RoundOutput{tokens, UINT32_MAX};
  }
  // An entry is a count and the tokens of a row of `out_tokens`.
  uint64_t width = outTokens.width + 1, bytes = width * sizeof(int32_t);
  Binding entry = {schema::Space::State, *ring.state,
                   (slot * (ring.width / width) + round) * bytes, bytes};
  buffer.resize(width);
  MTP_RETURN_IF_ERROR(executable.read(entry, buffer.data(), bytes));
  int32_t count = buffer.front();
  buffer.erase(buffer.begin());
  // After the tokens, -1 stands for a missing draft.
  uint32_t drafted = 0;
  while (drafted + 1 < buffer.size() &&
         (int64_t(drafted) + 1 < count || buffer[drafted + 1] >= 0))
    ++drafted;
  return RoundOutput{checkCount(count), drafted};
}

Result<std::vector<float>> HostState::confidences(uint32_t round, uint32_t slot,
                                                  uint32_t count) {
  std::vector<float> values;
  if (!drafters.confidence.state)
    return values;
  const std::vector<uint64_t> &shape =
      artifact.states[*drafters.confidence.state].shape;
  uint64_t rounds = shape[1], drafts = shape[2];
  values.resize(std::min<uint64_t>(count, drafts));
  Binding entry = row(drafters.confidence, slot);
  entry.offset +=
      std::min<uint64_t>(round, rounds - 1) * drafts * sizeof(float);
  entry.bytes = values.size() * sizeof(float);
  if (!values.empty())
    MTP_RETURN_IF_ERROR(executable.read(entry, values.data(), entry.bytes));
  auto isNone = [](float value) { return !(value >= 0); };
  values.erase(std::ranges::find_if(values, isNone), values.end());
  return values;
}

Result<std::vector<uint64_t>> HostState::activeRows() {
  std::vector<int32_t> words(loop.rows * loop.width);
  if (loop.state) {
    Binding all = row(loop, 0);
    all.bytes *= loop.rows;
    MTP_RETURN_IF_ERROR(executable.read(all, words.data(), all.bytes));
  }
  std::vector<uint64_t> rows;
  for (uint64_t slot = 0; slot < loop.rows; ++slot)
    rows.push_back(uint64_t(std::max(words[slot * loop.width + kLoopRows], 0)));
  return rows;
}

/// Returns the first `count` tokens of the buffer; none if it has fewer.
std::span<const int32_t> HostState::checkCount(int32_t count) const {
  if (count < 1 || size_t(count) > buffer.size())
    return {};
  return std::span<const int32_t>(buffer).first(size_t(count));
}
