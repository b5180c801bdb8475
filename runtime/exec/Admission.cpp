//===- Admission.cpp - Who gets a slot, and who gives it up ---------------===//

#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionImpl.h"
#include "runtime/schema/LoopWords.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

using namespace mtp;

Status mtp::checkSampling(const SamplingParams &s) {
  if (!std::isfinite(s.temperature) || s.temperature < 0)
    return invalidArgument(
        strCat("expected a temperature of 0 or more, got ", s.temperature));
  if (!(s.topP > 0 && s.topP <= 1))
    return invalidArgument(
        strCat("expected top-p above 0 and up to 1, got ", s.topP));
  if (!(s.minP >= 0 && s.minP <= 1))
    return invalidArgument(strCat("expected min-p of 0 to 1, got ", s.minP));
  if (s.topK > INT32_MAX)
    return invalidArgument(strCat("expected top-k below 2^31, got ", s.topK));
  return okStatus();
}

Status Session::Impl::checkRequest(const Request &request) const {
  if (!inner.envelope)
    return failedPrecondition("the artifact has functions only, no model");
  const EnvelopeInfo &e = *inner.envelope;
  if (request.prompt.empty())
    return invalidArgument("expected a prompt of at least 1 token");
  for (size_t i = 0; i < request.prompt.size(); ++i)
    if (request.prompt[i] < 0 || uint32_t(request.prompt[i]) >= e.vocab)
      return invalidArgument(strCat("prompt token ", i, " is ",
                                    request.prompt[i],
                                    ", outside the vocabulary of ", e.vocab));
  if (request.maxTokens < 1)
    return invalidArgument("expected max tokens of at least 1");
  if (request.minTokens > request.maxTokens)
    return invalidArgument(strCat("expected min tokens of at most the ",
                                  request.maxTokens, " max tokens, got ",
                                  request.minTokens));
  if (request.cacheSalt.size() > Request::kMaxSalt)
    return invalidArgument(strCat("expected a cache salt of at most ",
                                  Request::kMaxSalt, " bytes, got ",
                                  request.cacheSalt.size()));
  MTP_RETURN_IF_ERROR(checkSampling(request.sampling));
  MTP_RETURN_IF_ERROR(checkK(request));
  if (request.seesDrafts && !inner.programs.canStop())
    return invalidArgument("expected no request that sees drafts, as the "
                           "model's rounds do not stop behind these "
                           "(mtp.await_host)");
  for (size_t i = 0; i < request.stopTokens.size(); ++i)
    if (request.stopTokens[i] < 0 || uint32_t(request.stopTokens[i]) >= e.vocab)
      return invalidArgument(strCat("stop token ", i, " is ",
                                    request.stopTokens[i],
                                    ", outside the vocabulary of ", e.vocab));
  uint64_t total = uint64_t(request.prompt.size()) + request.maxTokens;
  if (total > e.maxContext)
    return outOfRange(strCat("the prompt's ", request.prompt.size(),
                             " tokens and ", request.maxTokens,
                             " max tokens exceed the context of ", e.maxContext,
                             ", which the artifact was compiled for"));
  uint64_t pages = kv->pagesFor(endOfRound(total - 1, options.k));
  if (pages > kv->usablePages())
    return resourceExhausted(
        strCat("the prompt's ", request.prompt.size(), " tokens and ",
               request.maxTokens, " max tokens need ", pages,
               " KV pages, but the session has ", kv->usablePages()));
  return okStatus();
}

/// The hash of what a request has brought; zero if it has brought nothing.
static Hash128 hashInputs(const InputBytes &inputs) {
  Hash128 hash;
  for (auto &[state, bytes] : inputs) {
    // Elements have four bytes.
    std::vector<int32_t> words = {int32_t(state)};
    words.resize(1 + bytes.size() / sizeof(int32_t));
    std::memcpy(words.data() + 1, bytes.data(), bytes.size());
    hash = PrefixIndex::hashTokens(hash, words);
  }
  return hash;
}

/// The bytes of a salt as words, its length in front; of none no words.
static std::vector<int32_t> saltWords(const std::string &salt) {
  std::vector<int32_t> words;
  if (salt.empty())
    return words;
  words.resize(1 + (salt.size() + 3) / 4);
  words[0] = int32_t(salt.size());
  std::memcpy(words.data() + 1, salt.data(), salt.size());
  return words;
}

Result<SequenceId> Session::Impl::add(Request request) {
  MTP_RETURN_IF_ERROR(checkUsable());
  MTP_RETURN_IF_ERROR(checkRequest(request));
  MTP_ASSIGN_OR_RETURN(
      InputBytes inputs,
      readInputs(inner.artifact(), std::exchange(request.inputs, {})));
  MTP_ASSIGN_OR_RETURN(std::vector<RequestOutputType> outputs,
                       findOutputs(inner.plan(), request.outputs));
  uint32_t vocab = inner.envelope->vocab;
  uint64_t saved = slotStates->savedBytes();
  auto reserveLogits = [&] {
    return KeptLogits::reserve(options.logits, request.maxTokens, vocab,
                               memory);
  };
  auto reserveSaved = [&] {
    return hostMemory().reserve(saved, "the saved states of a sequence",
                                memory);
  };
  MTP_ASSIGN_OR_RETURN(
      KeptLogits logits,
      withoutSnapshots(
          KeptLogits::bytes(options.logits, request.maxTokens, vocab),
          reserveLogits));
  MTP_ASSIGN_OR_RETURN(MemoryReservation savedMemory,
                       withoutSnapshots(saved, reserveSaved));
  SequenceId id = nextId++;
  Sequence &sequence = sequences[id];
  sequence.id = id;
  sequence.request = std::move(request);
  sequence.salt = saltWords(sequence.request.cacheSalt);
  sequence.inputHash =
      PrefixIndex::hashTokens(hashInputs(inputs), sequence.salt);
  sequence.inputs = std::move(inputs);
  sequence.outputs = std::move(outputs);
  sequence.logits = std::move(logits);
  sequence.savedMemory = std::move(savedMemory);
  sequence.arrival = statistics.prefillTokens;
  setK(sequence);
  hasPriorities |= sequence.request.priority != 0;
  shares.enter(sequence.request.group);
  waiting.insert(id);
  // A slot may be free for it.
  endFlightSoon();
  return id;
}

Status Session::Impl::cancel(SequenceId id) {
  MTP_ASSIGN_OR_RETURN(Sequence * found, find(id));
  Sequence &sequence = *found;
  if (sequence.phase == Sequence::Phase::Done)
    return okStatus();
  // A text that a caller ends, by a string in it, is gone on with like others.
  // That there is no copy is no failure of the call.
  if (!flight && failure.isOk())
    static_cast<void>(keepEnd(sequence));
  giveUpSlot(sequence);
  giveBackMemory(sequence);
  shares.leave(sequence.request.group);
  waiting.erase(id);
  paused.erase(id);
  if (flight && admitted.empty() && failure.isOk()) {
    // Nobody is left for whom a round that has stopped would go on.
    if (flight->isStopped)
      flight.reset();
    else
      executable->stopRounds();
  }
  sequence.phase = Sequence::Phase::Done;
  sequence.finish = FinishReason::Cancelled;
  return okStatus();
}

Status Session::Impl::release(SequenceId id) {
  MTP_ASSIGN_OR_RETURN(const Sequence *sequence, find(id));
  if (sequence->phase != Sequence::Phase::Done)
    return failedPrecondition(
        strCat("sequence ", id, " has not finished; cancel it first"));
  sequences.erase(id);
  return okStatus();
}

/// Where the sequence has a slot, no rounds are under way that it could be in:
/// its own are one per launch.
Status Session::Impl::setInput(SequenceId id, RequestInput input) {
  MTP_RETURN_IF_ERROR(checkUsable());
  MTP_ASSIGN_OR_RETURN(Sequence * found, find(id));
  Sequence &sequence = *found;
  if (!sequence.request.seesDrafts)
    return failedPrecondition(
        strCat("expected a sequence that sees drafts, which ", id,
               " does not: its inputs stay as they are"));
  if (sequence.phase == Sequence::Phase::Done)
    return failedPrecondition(strCat("sequence ", id, " has finished"));
  std::vector<RequestInput> inputs;
  inputs.push_back(std::move(input));
  MTP_ASSIGN_OR_RETURN(InputBytes given,
                       readInputs(inner.artifact(), std::move(inputs)));
  auto &[state, bytes] = *given.begin();
  if (sequence.hasSlot())
    MTP_RETURN_IF_ERROR(slotStates->setInput(sequence.slot, state, bytes));
  sequence.inputs.insert_or_assign(state, std::move(bytes));
  sequence.hasNewInputs = true;
  return okStatus();
}

void Session::Impl::giveUpSlot(Sequence &sequence) {
  if (admitted.erase(sequence.id) == 0)
    return;
  kv->release(sequence.slot);
  slotUsed[sequence.slot] = false;
  sequence.tableCapacity = 0;
  std::erase(prefilling, sequence.id);
}

/// Gives back what was reserved for what will not come.
void Session::Impl::giveBackMemory(Sequence &sequence) {
  sequence.logits.finish();
  sequence.saved = {};
  sequence.savedMemory.shrinkTo(0);
  if (snapshots)
    snapshots->drop(sequence.kept);
}

static SamplingRow samplingRow(const SamplingParams &s, LogitsMode logits) {
  SamplingRow row = {};
  row.seedLow = uint32_t(s.seed);
  row.seedHigh = uint32_t(s.seed >> 32);
  row.temperature = s.temperature;
  row.topK = int32_t(s.topK);
  row.topP = s.topP;
  row.minP = s.minP;
  row.skipLogits = logits == LogitsMode::None && s.temperature == 0;
  return row;
}

/// Whether a prompt that is being prefilled fills pages that `sequence` can
/// share once they are there, and has not in its own copy: computing them twice
/// would cost more than a later pass.
bool Session::Impl::isWorthWaiting(const Sequence &sequence) const {
  if (!kv->sharesPrefixes())
    return false;
  uint64_t page = inner.envelope->pageTokens, kept = keptTokens(sequence);
  auto fillsPages = [&](SequenceId id) {
    const Sequence &other = sequences.at(id);
    if (other.inputHash != sequence.inputHash)
      return false;
    const std::vector<int32_t> &context = sequence.context;
    auto [end, otherEnd] =
        std::mismatch(context.begin(), context.end(), other.context.begin(),
                      other.context.end());
    uint64_t same = uint64_t(end - context.begin()) / page * page;
    // Recurrent layers go on behind a snapshot alone.
    while (snapshots && same > other.reused && !isSnapshot(other, same))
      same -= page;
    return same > std::max(other.reused, kept);
  };
  return std::any_of(prefilling.begin(), prefilling.end(), fillsPages);
}

/// Gives a sequence the pages for its prefill and first round, of which it
/// takes what the index has. Returns the tokens taken, or -1 where pages are
/// short. `keptPages` are for others.
int64_t Session::Impl::takePages(Sequence &sequence, uint32_t slot,
                                 uint64_t keptPages) {
  // A newcomer comes before rounds ahead.
  giveBackAhead();
  if (!sequence.wasAdmitted)
    sequence.makers = planPages(sequence.request.prompt.size());
  int64_t taken = kv->begin(slot, sequence.context,
                            endOfRound(sequence.context.size(), options.k),
                            {sequence.makers, sequence.wasAdmitted,
                             sequence.inputHash, sequence.salt});
  if (taken < 0)
    return -1;
  // A page is left for everyone who runs: else the newcomer would be the first
  // to be preempted again.
  if (kv->availablePages() < admitted.size() + keptPages) {
    kv->release(slot);
    return -1;
  }
  const Snapshots::Copy *copy = copyFor(sequence, slot, uint64_t(taken));
  std::span<const PageMaker> makers = kv->makers(slot);
  sequence.makers.assign(makers.begin(), makers.end());
  // What a preemption costs is nobody's.
  if (!sequence.wasAdmitted)
    shares.charge(sequence.request.group,
                  sequence.context.size() -
                      (copy ? copy->position : uint64_t(taken)));
  return taken;
}

/// Whose turn it is of those that wait and have not been passed by; null where
/// there is none.
Sequence *Session::Impl::nextWaiting(const std::set<SequenceId> &passed) {
  Sequence *first = nullptr;
  auto turn = [&](const Sequence &sequence) {
    return std::pair(sequence.request.priority,
                     shares.had(sequence.request.group));
  };
  for (SequenceId id : waiting) {
    Sequence &sequence = sequences.at(id);
    if (!passed.contains(id) && (!first || turn(sequence) < turn(*first)))
      first = &sequence;
  }
  return first;
}

/// Who gives up its pages first: of the least urgent sequences the youngest.
const Sequence *Session::Impl::lastAdmitted() const {
  auto urgency = [&](SequenceId id) {
    return std::pair(sequences.at(id).request.priority, id);
  };
  auto last = std::ranges::max_element(admitted, {}, urgency);
  return last == admitted.end() ? nullptr : &sequences.at(*last);
}

/// Preempts one that is less urgent than a sequence which waits; false where
/// there is none.
Result<bool> Session::Impl::makeWayFor(const Sequence &sequence) {
  if (!hasPriorities)
    return false;
  const Sequence *last = lastAdmitted();
  if (!last || last->request.priority <= sequence.request.priority)
    return false;
  MTP_RETURN_IF_ERROR(preemptYoungest());
  return true;
}

/// Gives sequences slots and the pages for their prefill and first round, in
/// their turn. Who is less urgent makes way. Nobody overtakes one that cannot
/// have them. One that waits for pages to share is overtaken by those that
/// leave it what it needs.
Status Session::Impl::admitWaiting() {
  std::set<SequenceId> kept;
  uint64_t keptPages = 0;
  for (;;) {
    size_t freeSlots = size_t(std::ranges::count(slotUsed, false));
    if (freeSlots <= kept.size() && !hasPriorities)
      return okStatus();
    Sequence *next = nextWaiting(kept);
    if (!next)
      return okStatus();
    Sequence &sequence = *next;
    if (freeSlots <= kept.size()) {
      MTP_ASSIGN_OR_RETURN(bool isFree, makeWayFor(sequence));
      if (!isFree)
        return okStatus();
      continue;
    }
    sequence.context = sequence.request.prompt;
    if (!sequence.output.empty())
      sequence.context.insert(sequence.context.end(), sequence.output.begin(),
                              sequence.output.end() - 1);
    if (isWorthWaiting(sequence)) {
      kept.insert(sequence.id);
      keptPages += kv->pagesFor(endOfRound(sequence.context.size(), options.k));
      continue;
    }
    uint32_t slot =
        uint32_t(std::ranges::find(slotUsed, false) - slotUsed.begin());
    int64_t taken = takePages(sequence, slot, keptPages);
    if (taken < 0) {
      MTP_ASSIGN_OR_RETURN(bool isFree, makeWayFor(sequence));
      if (!isFree)
        return okStatus();
      continue;
    }
    MTP_RETURN_IF_ERROR(admit(sequence, slot, uint64_t(taken)));
  }
}

/// The sequence has the slot and its pages, `taken` tokens of them filled.
Status Session::Impl::admit(Sequence &sequence, uint32_t slot, uint64_t taken) {
  const Snapshots::Copy *copy = copyFor(sequence, slot, taken);
  uint64_t reused = copy ? copy->position : taken;
  sequence.wasAdmitted = true;
  waiting.erase(sequence.id);
  admitted.insert(sequence.id);
  slotUsed[slot] = true;
  prefilling.push_back(sequence.id);
  sequence.phase = Sequence::Phase::Prefilling;
  sequence.slot = slot;
  sequence.length = sequence.reused = reused;
  sequence.accepted = 0;
  sequence.isTorn = false;
  sequence.places.assign(host->mostPlaced(), {});
  sequence.placeWords.assign(host->mostPlaced() * kPlaceWords, 0);
  sequence.statistics.cachedTokens += reused;
  statistics.cachedTokens += reused;
  std::vector<int32_t> known = sequence.context;
  if (!sequence.output.empty())
    known.push_back(sequence.output.back());
  MTP_RETURN_IF_ERROR(slotStates->admit(slot, known, sequence.inputs));
  if (copy)
    MTP_RETURN_IF_ERROR(goOnFrom(*copy, sequence, taken));
  MTP_RETURN_IF_ERROR(host->setSampling(
      slot, samplingRow(sequence.request.sampling, options.logits)));
  return writeStops(sequence);
}

/// Tells the device which tokens end a sequence, as far as they do already.
Status Session::Impl::writeStops(Sequence &sequence) {
  std::vector<int32_t> stops;
  if (sequence.mayStop())
    stops = stopTokensOf(sequence.request);
  sequence.endsOnDevice = sequence.mayStop() && stops.size() <= kStopTokens;
  return host->setStopTokens(sequence.slot, stops);
}

/// Takes slot and pages from the least urgent sequence that came last. It will
/// be prefilled again, output included, and goes on with the same tokens: what
/// a row computes does not depend on the rows beside it, and who multiplies it
/// stays.
Status Session::Impl::preemptYoungest() {
  Sequence &sequence = sequences.at(lastAdmitted()->id);
  MTP_RETURN_IF_ERROR(leaveSlot(sequence));
  sequence.phase = Sequence::Phase::Waiting;
  waiting.insert(sequence.id);
  ++sequence.statistics.preemptions;
  ++statistics.preemptions;
  return okStatus();
}
