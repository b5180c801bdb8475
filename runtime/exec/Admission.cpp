//===- Admission.cpp - A session's pages and slots for a scheduler --------===//

#include "runtime/exec/Admission.h"
#include "runtime/exec/SessionState.h"
#include "runtime/schema/LoopLayout.h"
#include "runtime/schema/PlaceLayout.h"

#include <algorithm>
#include <utility>

using namespace mtp;

uint64_t Admission::pagesToBegin(const Sequence &sequence) const {
  return state.memory->pages().pagesFor(
      state.endOfRound(sequence.prefillTokens(), state.options.k));
}

bool Admission::isWorthWaiting(const Sequence &sequence) const {
  const std::vector<SequenceId> &prefilling = state.table.prefilling();
  if (!state.memory->pages().sharesPrefixes() || prefilling.empty())
    return false;
  std::vector<int32_t> context = sequence.prefillContext();
  return std::ranges::any_of(prefilling, [&](SequenceId id) {
    const Sequence &other = state.table.at(id);
    return state.memory->fillsPagesFor(sequence.kept, context, other.kept,
                                       *other.residency);
  });
}

std::optional<Residency> Admission::take(Sequence &sequence, uint32_t slot,
                                         uint64_t reserved) {
  // A newcomer comes before rounds ahead.
  giveBackAhead();
  std::vector<int32_t> context = sequence.prefillContext();
  uint64_t capacity = state.endOfRound(context.size(), state.options.k);
  return state.memory->place(sequence.kept, std::move(context), slot, capacity,
                             reserved);
}

/// Returns the sampling words of a request. The host reads the slot's logits if
/// `readsLogits`. Rules change all logits of a row, so its head writes them.
static SamplingRow samplingRow(const Request &request, bool readsLogits,
                               bool hasRules) {
  const SamplingParams &s = request.sampling;
  SamplingRow row = {};
  row.seedLow = uint32_t(s.seed);
  row.seedHigh = uint32_t(s.seed >> 32);
  row.temperature = s.temperature;
  row.topK = int32_t(s.topK);
  row.topP = s.topP;
  row.minP = s.minP;
  row.skipLogits = !readsLogits && s.temperature == 0 && !hasRules;
  return row;
}

Status Admission::prepare(Sequence &sequence) {
  Residency &residency = *sequence.residency;
  state.padding.noteTaken(residency.slot);
  uint32_t places = state.host.mostPlaced();
  residency.drafters.places.assign(places, {});
  residency.drafters.placeWords.assign(size_t(places) * kPlaceWords, 0);
  state.results.count(&sequence, &Statistics::cachedTokens, residency.reused);
  const std::vector<int32_t> &output = sequence.output.tokens();
  std::optional<int32_t> anchor;
  if (!output.empty())
    anchor = output.back();
  MTP_ASSIGN_OR_RETURN(SequenceMemory::Prepared prepared,
                       state.memory->prepare(sequence.kept, residency, anchor));
  if (prepared.accepted)
    MTP_RETURN_IF_ERROR(
        state.host.setAccepted(residency.slot, *prepared.accepted));
  if (prepared.isFromCopy) {
    state.results.count(&sequence, &Statistics::restoredSnapshots, 1);
    state.results.count(&sequence, &Statistics::restoredPreemptions,
                        sequence.kept.hasLeft);
  }
  bool readsLogits =
      sequence.readsLogits() || state.options.logits != LogitsMode::None;
  MTP_RETURN_IF_ERROR(state.host.setSampling(
      residency.slot, samplingRow(sequence.request, readsLogits,
                                  state.hasRules(sequence.request))));
  MTP_RETURN_IF_ERROR(state.rules.write(
      residency.slot, sequence.request, sequence.prefillContext(),
      state.results.stopTokensOf(sequence.request)));
  if (sequence.matcher) {
    // The matcher may be ahead: after a preemption the last token is picked
    // again. This mask was made before without an error.
    MTP_RETURN_IF_ERROR(
        state.masks.makeFirst(*sequence.request.constraint, output));
    MTP_RETURN_IF_ERROR(state.masks.store(residency.slot));
  }
  return writeStops(sequence);
}

Status Admission::writeStops(Sequence &sequence) {
  std::vector<int32_t> stops;
  if (sequence.mayStop())
    stops = state.results.stopTokensOf(sequence.request);
  sequence.residency->endsOnDevice =
      sequence.mayStop() && stops.size() <= kStopTokens;
  return state.host.setStopTokens(sequence.residency->slot, stops);
}

Status Admission::save(Sequence &sequence) {
  return state.memory->leave(sequence.kept, *sequence.residency);
}

void Admission::release(Sequence &sequence) {
  state.memory->release(sequence.residency->slot);
}

bool Admission::growForRound(Sequence &sequence, uint32_t k) {
  const Residency &residency = *sequence.residency;
  return state.memory->pages().grow(residency.slot,
                                    state.endOfRound(residency.length, k));
}

void Admission::giveBackAhead() {
  for (Sequence *sequence : state.table.running()) {
    Residency &residency = *sequence->residency;
    state.memory->pages().shrink(
        residency.slot, state.endOfRound(residency.length, state.options.k));
    residency.tableCapacity = 0;
  }
}
