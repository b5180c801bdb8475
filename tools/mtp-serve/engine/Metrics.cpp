//===- Metrics.cpp - Numbers for Prometheus -------------------------------===//

#include "tools/mtp-serve/engine/Metrics.h"
#include "tools/mtp-serve/api/Answers.h"

#include <algorithm>
#include <malloc.h>
#include <map>
#include <optional>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <unordered_map>

using namespace mtp;
using namespace mtp::serve;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;

namespace {
/// A sequence so far.
struct Times {
  Clock::time_point submitted;
  Clock::time_point last;
  /// When it got a slot, and its first token.
  std::optional<Clock::time_point> admitted, first;
  SequenceFacts facts;
  size_t tokens = 0;
};

// vLLM's buckets, in seconds.
const Histogram::BucketBoundaries kFirstToken = {
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,
    0.5,   0.75,  1.0,  2.5,  5.0,  7.5,  10.0, 20.0, 40.0};
const Histogram::BucketBoundaries kBetweenTokens = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15,
    0.2,   0.3,    0.4,   0.5,  0.75,  1.0,  2.5,   5.0};
const Histogram::BucketBoundaries kWhole = {
    0.05, 0.1,  0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,   5.0,  10.0,
    15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0};
const Histogram::BucketBoundaries kAnswers = {1, 2, 5, 10, 20};
const Histogram::BucketBoundaries kStepTokens = {
    1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
// vLLM's buckets for tokens are 1, 2 and 5 times powers of ten.
const Histogram::BucketBoundaries kTokens = {
    1,    2,    5,    10,    20,    50,    100,    200, 500,
    1000, 2000, 5000, 10000, 20000, 50000, 100000, 2e5, 5e5};

/// Makes metrics with the model's name.
struct Registrar {
  explicit Registrar(const std::string &model)
      : labels{{"model_name", model}} {}

  Counter &counter(const std::string &name, const std::string &help,
                   Labels more = {}) {
    more.insert(labels.begin(), labels.end());
    return prometheus::BuildCounter()
        .Name(name)
        .Help(help)
        .Register(*registry)
        .Add(more);
  }
  Gauge &gauge(const std::string &name, const std::string &help) {
    return prometheus::BuildGauge()
        .Name(name)
        .Help(help)
        .Register(*registry)
        .Add(labels);
  }
  Histogram &histogram(const std::string &name, const std::string &help,
                       const Histogram::BucketBoundaries &buckets) {
    return prometheus::BuildHistogram()
        .Name(name)
        .Help(help)
        .Register(*registry)
        .Add(labels, buckets);
  }

  std::shared_ptr<prometheus::Registry> registry =
      std::make_shared<prometheus::Registry>(
          prometheus::Registry::InsertBehavior::Merge);
  Labels labels;
};

/// vLLM's histograms of requests, one value for each sequence that has ended.
struct RequestHistograms {
  explicit RequestHistograms(Registrar &r)
      : queue(r.histogram("vllm:request_queue_time_seconds",
                          "From request to slot", kWhole)),
        prefill(r.histogram("vllm:request_prefill_time_seconds",
                            "From slot to first token", kWhole)),
        decode(r.histogram("vllm:request_decode_time_seconds",
                           "From first to last token", kWhole)),
        inference(r.histogram("vllm:request_inference_time_seconds",
                              "From slot to last token", kWhole)),
        perToken(r.histogram("vllm:request_time_per_output_token_seconds",
                             "Mean time between tokens", kBetweenTokens)),
        promptTokens(r.histogram("vllm:request_prompt_tokens",
                                 "Tokens of the prompt", kTokens)),
        outputTokens(r.histogram("vllm:request_generation_tokens",
                                 "Generated tokens", kTokens)),
        mostOutput(r.histogram("vllm:request_max_num_generation_tokens",
                               "Generated tokens of the longest answer",
                               kTokens)),
        maxTokens(r.histogram("vllm:request_params_max_tokens",
                              "The limit on generated tokens", kTokens)),
        answers(r.histogram("vllm:request_params_n", "Answers to a prompt",
                            kAnswers)) {}

  void observe(const Times &times, Clock::time_point now);

  Histogram &queue, &prefill, &decode, &inference, &perToken;
  Histogram &promptTokens, &outputTokens, &mostOutput, &maxTokens, &answers;
};

/// The metrics of llama-server.
struct LlamaMetrics {
  explicit LlamaMetrics(Registrar &r)
      : promptTokens(r.counter("llamacpp:prompt_tokens_total",
                               "Computed tokens of prompts")),
        promptSeconds(r.counter("llamacpp:prompt_seconds_total",
                                "Seconds in which prompts were computed")),
        outputTokens(
            r.counter("llamacpp:tokens_predicted_total", "Generated tokens")),
        outputSeconds(r.counter("llamacpp:tokens_predicted_seconds_total",
                                "Seconds of decode rounds")),
        decodes(r.counter("llamacpp:n_decode_total",
                          "Decode rounds and chunks of prompts")),
        promptSpeed(r.gauge("llamacpp:prompt_tokens_seconds",
                            "Computed tokens of prompts per second")),
        outputSpeed(r.gauge("llamacpp:predicted_tokens_seconds",
                            "Generated tokens per second")),
        processing(
            r.gauge("llamacpp:requests_processing", "Sequences in a slot")),
        deferred(r.gauge("llamacpp:requests_deferred",
                         "Sequences that wait for a slot")),
        busySlots(r.gauge("llamacpp:n_busy_slots_per_decode",
                          "Mean number of sequences in a round")),
        mostTokens(r.gauge("llamacpp:n_tokens_max",
                           "Tokens of the longest sequence so far")) {}

  /// Adds what has happened since `then`.
  void set(const EngineState &state, const Statistics &then);

  Counter &promptTokens, &promptSeconds, &outputTokens, &outputSeconds,
      &decodes;
  Gauge &promptSpeed, &outputSpeed, &processing, &deferred, &busySlots,
      &mostTokens;
};
} // namespace

static double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// Adds the difference of two values.
static void increase(Counter &counter, double now, double then) {
  if (now > then)
    counter.Increment(now - then);
}

void RequestHistograms::observe(const Times &times, Clock::time_point now) {
  promptTokens.Observe(double(times.facts.promptTokens));
  outputTokens.Observe(double(times.tokens));
  mostOutput.Observe(double(times.tokens));
  maxTokens.Observe(times.facts.maxTokens);
  answers.Observe(times.facts.n);
  if (!times.admitted)
    return;
  queue.Observe(seconds(*times.admitted - times.submitted));
  inference.Observe(seconds(now - *times.admitted));
  if (!times.first)
    return;
  prefill.Observe(seconds(*times.first - *times.admitted));
  decode.Observe(seconds(times.last - *times.first));
  if (times.tokens > 1)
    perToken.Observe(seconds(times.last - *times.first) /
                     double(times.tokens - 1));
}

void LlamaMetrics::set(const EngineState &state, const Statistics &then) {
  const Statistics &now = state.statistics;
  increase(promptTokens, double(now.prefillTokens), double(then.prefillTokens));
  increase(promptSeconds, now.prefillSeconds, then.prefillSeconds);
  increase(outputTokens, double(now.outputTokens), double(then.outputTokens));
  increase(outputSeconds, now.decodeSeconds, then.decodeSeconds);
  increase(decodes, double(now.rounds + now.prefillChunks),
           double(then.rounds + then.prefillChunks));
  auto ratio = [](double value, double by) { return by > 0 ? value / by : 0; };
  promptSpeed.Set(ratio(double(now.prefillTokens), now.prefillSeconds));
  outputSpeed.Set(ratio(double(now.decodeTokens), now.decodeSeconds));
  busySlots.Set(ratio(double(now.slotRounds), double(now.rounds)));
  processing.Set(state.running);
  deferred.Set(state.waiting);
}

struct Metrics::Impl : Registrar {
  using Registrar::Registrar;

  Counter &ends(FinishReason reason) {
    return counter("vllm:request_success_total", "Sequences that have ended",
                   {{"finished_reason", finishName(reason)}});
  }
  Counter &acceptedAt(size_t position) {
    return counter("vllm:spec_decode_num_accepted_tokens_per_pos_total",
                   "Accepted drafts, by position",
                   {{"position", std::to_string(position)}});
  }

  std::unordered_map<Handle, Times> times;
  /// The current values of the counters.
  Statistics counted;
  uint32_t stateWaiting = 0;
  size_t encoding = 0;

  Gauge &running = gauge("vllm:num_requests_running", "Sequences in a slot");
  Gauge &waiting =
      gauge("vllm:num_requests_waiting",
            "Sequences that wait for a slot, or for their prompt's tokens");
  Gauge &paused =
      gauge("mtp:num_requests_paused",
            "Sequences without a slot, because their readers are slow");
  Gauge &pages = gauge("vllm:kv_cache_usage_perc",
                       "Share of the KV pages that sequences hold, 0 to 1");
  Gauge &bodyBytes =
      gauge("mtp:request_body_bytes",
            "Bytes of bodies that arrive, or wait for their tokens");
  Gauge &heapBytes =
      gauge("mtp:heap_bytes", "Bytes that the process has allocated and not "
                              "freed, without KV pages and weights");
  Counter &promptTokens =
      counter("vllm:prompt_tokens_total", "Tokens of prompts");
  Counter &outputTokens =
      counter("vllm:generation_tokens_total", "Generated tokens");
  Counter &queriedTokens =
      counter("vllm:prefix_cache_queries_total",
              "Tokens of prompts that were looked up in the prefix cache");
  Counter &cachedTokens = counter("vllm:prefix_cache_hits_total",
                                  "Tokens found in the prefix cache");
  Counter &preemptions = counter("vllm:num_preemptions_total", "Preemptions");
  Counter &drafts = counter("vllm:spec_decode_num_drafts_total",
                            "Rounds of sequences with drafts");
  Counter &draftTokens =
      counter("vllm:spec_decode_num_draft_tokens_total", "Drafts");
  Counter &acceptedTokens =
      counter("vllm:spec_decode_num_accepted_tokens_total", "Accepted drafts");
  Counter &rounds = counter("mtp:rounds_total", "Decode rounds");
  Counter &roundRows =
      counter("mtp:round_rows_total",
              "Active rows that the model computed in decode rounds");
  Counter &roundCapacity =
      counter("mtp:round_rows_capacity_total",
              "Rows for which decode rounds had room: k + 1 of each slot");
  Counter &paddedRounds =
      counter("mtp:rounds_padded_total",
              "Decode rounds with padding slots, which only fill a batch");
  Counter &paddingSlots = counter("mtp:padding_slots_total",
                                  "Padding slots, summed over decode rounds");
  Counter &mixedTokens =
      counter("mtp:prompt_tokens_mixed_total",
              "Tokens of prompts whose rows ran in mixed batches");
  Counter &snapshots =
      counter("mtp:snapshots_stored_total",
              "Stored copies of the states of recurrent layers");
  Counter &droppedSnapshots =
      counter("mtp:snapshots_dropped_total",
              "Dropped copies of the states of recurrent layers");
  Counter &restoredSnapshots = counter("mtp:snapshots_restored_total",
                                       "Sequences that continued from a copy");
  Counter &restoredPreemptions = counter(
      "mtp:preemptions_restored_total",
      "Sequences that continued from a copy after a preemption or pause");
  Gauge &snapshotBytes =
      gauge("mtp:snapshot_bytes",
            "Bytes of all copies of the states of recurrent layers");
  Counter &refused =
      counter("mtp:requests_refused_total", "Requests with the answer 429");
  Histogram &firstToken = histogram("vllm:time_to_first_token_seconds",
                                    "From request to first token", kFirstToken);
  Histogram &betweenTokens = histogram(
      "vllm:inter_token_latency_seconds",
      "Between tokens; tokens that come together share their time equally",
      kBetweenTokens);
  Histogram &whole = histogram("vllm:e2e_request_latency_seconds",
                               "From request to last token", kWhole);
  Histogram &stepTokens =
      histogram("vllm:iteration_tokens_total",
                "Tokens of prompts and output in a step", kStepTokens);
  RequestHistograms requests{*this};
  LlamaMetrics llama{*this};
};

Metrics::Metrics(const std::string &model, const CacheConfig &cache)
    : impl(std::make_unique<Impl>(model)) {
  prometheus::BuildGauge()
      .Name("vllm:cache_config_info")
      .Help("The KV cache's settings, as labels")
      .Register(*impl->registry)
      .Add({{"block_size", std::to_string(cache.pageTokens)},
            {"num_gpu_blocks", std::to_string(cache.pages)},
            {"enable_prefix_caching", cache.sharesPrefixes ? "True" : "False"},
            {"model_name", model}})
      .Set(1);
  for (FinishReason reason : {FinishReason::Stop, FinishReason::Length,
                              FinishReason::Cancelled, FinishReason::Failed})
    impl->ends(reason);
}

Metrics::~Metrics() = default;

void Metrics::submitted(Handle handle, const SequenceFacts &facts,
                        Clock::time_point arrived) {
  impl->times[handle] = {arrived, arrived, {}, {}, facts, 0};
}

void Metrics::taken(const EngineEvent &event, FinishReason reason,
                    Clock::time_point now) {
  auto found = impl->times.find(event.handle);
  if (found == impl->times.end())
    return;
  Times &times = found->second;
  size_t tokens = event.tokens.size();
  if (event.admitted && !times.admitted)
    times.admitted = event.admitted;
  if (tokens > 0 && !times.first) {
    impl->firstToken.Observe(seconds(now - times.submitted));
    impl->promptTokens.Increment(double(times.facts.promptTokens));
    impl->queriedTokens.Increment(double(times.facts.promptTokens));
    times.first = now;
    // A round has run after the prefill.
    for (size_t i = 1; i < tokens; ++i)
      impl->betweenTokens.Observe(0);
  } else {
    for (size_t i = 0; i < tokens; ++i)
      impl->betweenTokens.Observe(seconds(now - times.last) / double(tokens));
  }
  if (tokens > 0)
    times.last = now;
  times.tokens += tokens;
  if (reason == FinishReason::None)
    return;
  impl->ends(reason).Increment();
  if (reason != FinishReason::Failed) {
    impl->whole.Observe(seconds(now - times.submitted));
    impl->requests.observe(times, now);
  }
  double length = double(times.facts.promptTokens + times.tokens);
  Gauge &longest = impl->llama.mostTokens;
  longest.Set(std::max(longest.Value(), length));
  impl->times.erase(found);
}

void Metrics::setState(const EngineState &state) {
  const KvUsage &pages = state.pages;
  uint32_t all = pages.freePages + pages.cachedPages + pages.heldPages;
  impl->running.Set(state.running);
  impl->stateWaiting = state.waiting;
  impl->waiting.Set(double(state.waiting + impl->encoding));
  impl->paused.Set(state.paused);
  impl->pages.Set(all ? double(pages.heldPages) / all : 0);
  const Statistics &now = state.statistics;
  Statistics &then = impl->counted;
  auto count = [](Counter &counter, uint64_t now, uint64_t then) {
    increase(counter, double(now), double(then));
  };
  impl->llama.set(state, then);
  uint64_t tokens = now.prefillTokens + now.outputTokens;
  uint64_t before = then.prefillTokens + then.outputTokens;
  if (tokens > before)
    impl->stepTokens.Observe(double(tokens - before));
  count(impl->outputTokens, now.outputTokens, then.outputTokens);
  count(impl->cachedTokens, now.cachedTokens, then.cachedTokens);
  count(impl->preemptions, now.preemptions, then.preemptions);
  count(impl->rounds, now.rounds, then.rounds);
  count(impl->roundRows, now.roundRows, then.roundRows);
  count(impl->roundCapacity, now.roundCapacity, then.roundCapacity);
  count(impl->paddedRounds, now.paddedRounds, then.paddedRounds);
  count(impl->paddingSlots, now.paddingSlots, then.paddingSlots);
  count(impl->mixedTokens, now.mixedTokens, then.mixedTokens);
  count(impl->snapshots, now.snapshots, then.snapshots);
  count(impl->droppedSnapshots, now.droppedSnapshots, then.droppedSnapshots);
  count(impl->restoredSnapshots, now.restoredSnapshots, then.restoredSnapshots);
  count(impl->restoredPreemptions, now.restoredPreemptions,
        then.restoredPreemptions);
  impl->snapshotBytes.Set(double(now.snapshotBytes));
  auto roundsOf = [](const Statistics &s) {
    return s.drafted.empty() ? 0 : s.drafted.front();
  };
  count(impl->drafts, roundsOf(now), roundsOf(then));
  count(impl->draftTokens, sumOf(now.drafted), sumOf(then.drafted));
  count(impl->acceptedTokens, sumOf(now.accepted), sumOf(then.accepted));
  for (size_t i = 0; i < now.accepted.size(); ++i)
    count(impl->acceptedAt(i), now.accepted[i],
          i < then.accepted.size() ? then.accepted[i] : 0);
  then = now;
}

void Metrics::setEncoding(size_t sequences) {
  impl->encoding = sequences;
  impl->waiting.Set(double(impl->stateWaiting + sequences));
}

void Metrics::setBodyBytes(uint64_t bytes) {
  impl->bodyBytes.Set(double(bytes));
}

void Metrics::refused() { impl->refused.Increment(); }

/// Returns the bytes of all heaps and of separately mapped allocations.
static double heapBytes() {
  struct mallinfo2 info = ::mallinfo2();
  return double(info.uordblks) + double(info.hblkhd);
}

std::string Metrics::text() const {
  impl->heapBytes.Set(heapBytes());
  return prometheus::TextSerializer().Serialize(impl->registry->Collect());
}
