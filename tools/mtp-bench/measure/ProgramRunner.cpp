//===- ProgramRunner.cpp - Programs at any context and acceptance ---------===//

#include "tools/mtp-bench/measure/ProgramRunner.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/schedule/RowBudget.h"

#include <algorithm>
#include <chrono>
#include <numeric>

using namespace mtp;
using namespace mtp::bench;

ProgramRunner::ProgramRunner(std::shared_ptr<const Model> model, uint64_t seed)
    : loaded(std::move(model)),
      contents(ModelAccess::file(*loaded)->artifact()), table(plan()),
      filler(contents, *loaded->envelope(), seed), length(findState("length")),
      accepted(findState("accepted")), window(findState("window")) {}

Result<std::unique_ptr<ProgramRunner>>
ProgramRunner::create(std::shared_ptr<const Model> model, uint32_t slots,
                      uint32_t threads, bool pin, uint64_t seed,
                      float temperature) {
  std::unique_ptr<ProgramRunner> runner(
      new ProgramRunner(std::move(model), seed));
  MTP_RETURN_IF_ERROR(runner->start(slots, threads, pin, temperature));
  return runner;
}

int32_t ProgramRunner::findState(std::string_view name) const {
  std::optional<uint32_t> index = contents.findState(name);
  return index ? int32_t(*index) : -1;
}

Status ProgramRunner::start(uint32_t slots, uint32_t threads, bool pin,
                            float temperature) {
  const EnvelopeInfo &e = *loaded->envelope();
  CpuOptions options;
  options.threads = threads;
  options.pin = pin;
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                       ModelAccess::open(*loaded, options));
  MTP_ASSIGN_OR_RETURN(
      executable,
      device->load(ModelAccess::file(*loaded), ModelAccess::plan(*loaded),
                   uint64_t(slots) * filler.pagesPerSlot() + 1));
  host = std::make_unique<HostState>(contents, *executable);
  for (uint32_t slot = 0; slot < slots; ++slot) {
    MTP_RETURN_IF_ERROR(host->setPageTable(slot, filler.pagesOf(slot)));
    // As in a session without logits, for example mtp-run's.
    SamplingRow sampling = {};
    sampling.seedLow = slot;
    sampling.temperature = temperature;
    sampling.topP = 1;
    sampling.skipLogits = temperature > 0 ? 0 : 1;
    MTP_RETURN_IF_ERROR(host->setSampling(slot, sampling));
    MTP_RETURN_IF_ERROR(host->setDraftLimit(slot, e.maxK));
  }
  return filler.start(*executable, slots);
}

void ProgramRunner::note(Status status) {
  if (failure.isOk())
    failure = std::move(status);
}

void ProgramRunner::writeRow(int32_t state, uint64_t row,
                             std::span<const int32_t> values) {
  if (state < 0)
    return;
  note(
      executable->write(Binding(schema::Space::State, uint32_t(state),
                                row * values.size_bytes(), values.size_bytes()),
                        values.data(), values.size_bytes()));
}

void ProgramRunner::activate(uint32_t slots) {
  std::vector<int32_t> active(slots);
  std::iota(active.begin(), active.end(), 0);
  note(host->setActive(active));
  // No sequence ends, since rows of ended sequences are not computed.
  setLoops(slots, /*rounds=*/1);
}

void ProgramRunner::setLoops(uint32_t slots, uint32_t rounds) {
  LoopLimits limits;
  limits.rounds = rounds;
  limits.budget = INT32_MAX;
  limits.positions =
      uint64_t(filler.pagesPerSlot()) * loaded->envelope()->pageTokens;
  const EnvelopeInfo &e = *loaded->envelope();
  std::vector<uint32_t> rows =
      trimRows(std::vector<uint32_t>(slots, e.maxNodes), e.maxRows);
  for (uint32_t slot = 0; host->hasRing() && slot < slots; ++slot) {
    limits.mostRows = rows[slot];
    note(host->setLoop(slot, limits));
  }
}

void ProgramRunner::place(uint32_t slot, uint32_t context, uint32_t drafts,
                          uint32_t limit) {
  note(filler.fill(slot, context));
  int32_t anchor = int32_t(context) - 1, taken = int32_t(drafts);
  writeRow(length, slot, {&anchor, 1});
  writeRow(accepted, slot, {&taken, 1});
  note(host->setDraftLimit(slot, std::min(limit, loaded->envelope()->maxK)));
  if (period)
    writeTokens(slot, context, drafts);
  else
    writeRow(window, slot, filler.tokens(loaded->envelope()->maxK + 1));
}

/// Writes the last round's tokens, the last of which is the anchor, and the
/// tokens before.
void ProgramRunner::writeTokens(uint32_t slot, uint32_t context,
                                uint32_t drafts) {
  std::vector<int32_t> last(loaded->envelope()->maxK + 1);
  for (size_t i = 0; i < last.size(); ++i)
    last[i] = int32_t((context - 1 - drafts + i) % period);
  writeRow(window, slot, last);
  for (size_t i = 0; i < contents.states.size(); ++i) {
    const State &state = contents.states[i];
    if (state.rule.rebuild != schema::Rebuild::Tokens)
      continue;
    // The method itself writes the last round's output.
    std::vector<int32_t> known(state.shape[1], -1);
    for (uint32_t p = 0; p + 1 + drafts < context; ++p)
      known[p] = int32_t(p % period);
    writeRow(int32_t(i), slot, known);
  }
}

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::span<const int32_t> ProgramRunner::emitted(uint32_t slot) {
  Result<std::span<const int32_t>> tokens = host->emitted(slot);
  note(tokens.status());
  return tokens ? *tokens : std::span<const int32_t>();
}

Result<double> ProgramRunner::run(uint32_t index, uint32_t n) {
  MTP_RETURN_IF_ERROR(failure);
  Clock::time_point begin = Clock::now();
  MTP_RETURN_IF_ERROR(executable->run(index, n));
  return secondsSince(begin);
}

Result<double> ProgramRunner::runRounds(uint32_t index, uint32_t n,
                                        uint32_t rounds) {
  setLoops(n, rounds);
  MTP_RETURN_IF_ERROR(failure);
  Clock::time_point begin = Clock::now();
  MTP_RETURN_IF_ERROR(executable->startRounds(index, n));
  MTP_ASSIGN_OR_RETURN(Progress progress, executable->awaitRounds(UINT32_MAX));
  return secondsSince(begin) / progress.rounds;
}

double ProgramRunner::activeRows(uint32_t index, uint32_t n, uint32_t rounds) {
  if (table.places(index, n).bytes == 0)
    return double(n) * programAt(index).windowRows() * rounds;
  Result<std::vector<uint64_t>> rows = host->activeRows();
  note(rows.status());
  return rows ? double(std::accumulate(rows->begin(), rows->begin() + n,
                                       uint64_t(0)))
              : 0;
}

Result<double> ProgramRunner::runTimed(uint32_t index, uint32_t n,
                                       CommandTimes &times) {
  MTP_RETURN_IF_ERROR(failure);
  Clock::time_point begin = Clock::now();
  MTP_RETURN_IF_ERROR(executable->runTimed(index, n, times));
  return secondsSince(begin);
}

const LibraryChoice &ProgramRunner::useLibrary(bool deterministic) {
  library = chooseLibrary(table, *executable, loaded->envelope()->prefillChunk,
                          deterministic);
  return library;
}

Result<double> ProgramRunner::prefill(uint32_t slot,
                                      std::span<const int32_t> tokens,
                                      bool modules, uint32_t behind) {
  const EnvelopeInfo &e = *loaded->envelope();
  note(filler.fill(slot, behind));
  // The prompt overwrites random entries there.
  filler.noteTokens(slot, behind);
  // Rows that rounds kept do not belong to the prompt.
  if (host->canSetAccepted())
    note(host->setAccepted(slot, 0));
  MTP_RETURN_IF_ERROR(failure);
  Clock::time_point begin = Clock::now();
  for (uint32_t start = behind, chunk; start < tokens.size(); start += chunk) {
    uint32_t rest = uint32_t(tokens.size()) - start;
    bool byLibrary = library.rows != 0 && rest >= library.rows;
    chunk = byLibrary ? library.rows : table.nextChunk(rest, e.prefillChunk);
    PromptPart part = {slot, start, std::min(rest, chunk), /*firstRow=*/0,
                       tokens};
    uint32_t program = byLibrary ? table.libraryPrefill(modules)
                                 : table.prefill(chunk, modules);
    MTP_RETURN_IF_ERROR(host->setPrefill({&part, 1}));
    MTP_RETURN_IF_ERROR(executable->run(program, chunk));
  }
  return secondsSince(begin);
}

Result<double> ProgramRunner::copyStates(uint32_t slot) {
  Snapshots snapshots(contents, *executable,
                      {.bytes = UINT64_MAX, .pageTokens = 1});
  snapshotBytes = snapshots.bytes();
  if (!snapshotBytes)
    return 0;
  Clock::time_point begin = Clock::now();
  Snapshots::Place place;
  place.pending = 1;
  if (!snapshots.store({.page = 1}, place, slot, {}, hostMemoryLimit()))
    return resourceExhausted(
        strCat("expected a copy of the ", snapshotBytes,
               " bytes of a slot's recurrent states, got none"));
  return secondsSince(begin);
}

std::vector<uint8_t> ProgramRunner::saveStates() {
  std::vector<uint8_t> saved;
  for (uint32_t i = 0; i < contents.states.size(); ++i) {
    Binding state = wholeState(contents, i);
    size_t at = saved.size();
    saved.resize(at + state.bytes);
    note(executable->read(state, saved.data() + at, state.bytes));
  }
  return saved;
}

void ProgramRunner::restoreStates(const std::vector<uint8_t> &saved) {
  size_t at = 0;
  for (uint32_t i = 0; i < contents.states.size(); ++i) {
    Binding state = wholeState(contents, i);
    note(executable->write(state, saved.data() + at, state.bytes));
    at += state.bytes;
  }
}
