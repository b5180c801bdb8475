//===- golden_transcript.cpp - Everything that an artifact does -----------===//
//
// golden_transcript ARTIFACT prints the results of sequences and functions. It
// runs sequences at every k, with one and two slots, greedy and sampled, with
// prefix reuse and with too few pages. golden.test compares the output with the
// artifact's original output. Logits are printed as a hash of their bits, and
// the last row of plain decoding as its bits.
//
//===----------------------------------------------------------------------===//

#include "mtp/session.h"

#include <bit>
#include <cstdio>
#include <cstring>

using namespace mtp;

static uint64_t hashOf(std::span<const uint8_t> bytes, uint64_t hash) {
  for (uint8_t byte : bytes) // FNV-1a
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

static constexpr uint64_t kHashSeed = 0xcbf29ce484222325;

[[noreturn]] static void fail(const Status &status) {
  std::fprintf(stderr, "golden_transcript: error: %s\n",
               status.toString().c_str());
  std::exit(1);
}

template <typename T>
static T get(Result<T> result) {
  if (!result)
    fail(result.status());
  return std::move(*result);
}

/// Returns a prompt that shares no page with a prompt of another seed.
static std::vector<int32_t> makePrompt(size_t size, uint32_t seed,
                                       uint32_t vocab) {
  std::vector<int32_t> prompt;
  for (uint32_t state = seed; prompt.size() < size;
       prompt.push_back(int32_t((state >> 16) % vocab)))
    state = state * 1664525 + 1013904223;
  return prompt;
}

static void printCounts(const char *what, const std::vector<uint64_t> &counts) {
  std::printf(" %s", what);
  for (uint64_t count : counts)
    std::printf(" %llu", (unsigned long long)count);
}

static void printSequence(const Session &session, SequenceId id) {
  Statistics s = get(session.statistics(id));
  std::printf("  ids");
  for (int32_t token : get(session.output(id)))
    std::printf(" %d", token);
  printCounts("| finish rounds cached chunks preemptions",
              {uint64_t(get(session.finishReason(id))), s.slotRounds,
               s.cachedTokens, s.prefillChunks, s.preemptions});
  printCounts("| accepted", s.accepted);
  uint64_t hash = kHashSeed;
  std::span<const float> row;
  for (size_t i = 0; i < get(session.output(id)).size(); ++i) {
    row = get(session.logits(id, i));
    hash = hashOf(
        {reinterpret_cast<const uint8_t *>(row.data()), row.size_bytes()},
        hash);
  }
  std::printf(" | logits %016llx\n", (unsigned long long)hash);
  if (session.options().k || session.options().maxSlots != 1)
    return;
  std::printf("  last row");
  for (float logit : row)
    std::printf(" %08x", std::bit_cast<uint32_t>(logit));
  std::printf("\n");
}

static void runAll(Session &session) {
  while (!session.idle())
    for (const SequenceUpdate &update : get(session.step()))
      if (update.finish == FinishReason::Failed)
        fail(update.error);
}

/// Runs three sequences, the last with the prompt of the first, and a second
/// turn of the first.
static void generate(const std::shared_ptr<const Model> &model, uint32_t k,
                     uint32_t slots, float temperature, uint32_t pages) {
  SessionOptions options;
  options.k = k;
  options.maxSlots = slots;
  options.threads = 2;
  options.kvPages = pages;
  options.logits = LogitsMode::All;
  // Counts must not depend on the order of prompts and rounds.
  options.chunksPerStep = SessionOptions::kUnbounded;
  std::unique_ptr<Session> session = get(Session::create(model, options));
  std::printf("k %u slots %u temperature %g pages %u\n", k, slots, temperature,
              pages);
  uint32_t vocab = model->envelope()->vocab;
  Request request;
  request.ignoreEos = true;
  request.maxTokens = 13;
  request.sampling = {.temperature = temperature, .seed = 7};
  std::vector<SequenceId> ids;
  for (auto [size, seed] : {std::pair(21u, 1u), {6u, 2u}, {21u, 1u}}) {
    request.prompt = makePrompt(size, seed, vocab);
    ids.push_back(get(session->add(request)));
  }
  runAll(*session);
  std::span<const int32_t> first = get(session->output(ids[0]));
  request.prompt.insert(request.prompt.end(), first.begin(), first.end());
  request.prompt.insert(request.prompt.end(), {3, 1, 4});
  ids.push_back(get(session->add(request)));
  runAll(*session);
  for (SequenceId id : ids)
    printSequence(*session, id);
}

static void runFunctions(const std::shared_ptr<const Model> &model) {
  std::unique_ptr<Session> session = get(Session::create(model, {}));
  for (const std::string &name : model->functions()) {
    std::vector<Tensor> inputs;
    for (const PortType &port : get(model->functionInputs(name))) {
      uint64_t count = elementCount(port.type);
      Tensor tensor{port.type, std::vector<uint8_t>(
                                   count * elementBytes(port.type.element))};
      // Ascending positions for inputs of that name; otherwise small numbers.
      for (uint64_t i = 0; i < count; ++i) {
        int32_t number = port.name == "positions" ? int32_t(i)
                         : port.name == "slots"   ? 0
                                                  : int32_t(i * 7 % 11);
        float value = float(number) - 4;
        std::memcpy(&tensor.bytes[i * 4],
                    port.type.element == ElementType::F32
                        ? static_cast<const void *>(&value)
                        : &number,
                    4);
      }
      inputs.push_back(std::move(tensor));
    }
    std::printf("function %s:", name.c_str());
    for (const Tensor &result : get(session->runFunction(name, inputs)))
      std::printf(" %s %016llx", toString(result.type).c_str(),
                  (unsigned long long)hashOf(result.bytes, kHashSeed));
    std::printf("\n");
  }
}

int main(int argc, char **argv) {
  if (argc != 2)
    return std::fprintf(stderr, "usage: golden_transcript ARTIFACT\n"), 2;
  std::shared_ptr<const Model> model = get(Model::load(argv[1]));
  const EnvelopeInfo &e = *model->envelope();
  for (uint32_t k = 0; k <= e.maxK; ++k)
    for (float temperature : {0.0f, 1.0f})
      for (uint32_t slots : {1u, 2u})
        generate(model, k, slots, temperature, 0);
  // Pages for the second turn only: the younger of two sequences is preempted.
  uint32_t pages = (2 * 13 + 21 + 3 + e.maxK) / e.pageTokens + 2;
  for (uint32_t k : {0u, e.maxK})
    generate(model, k, 2, 1.0f, pages);
  runFunctions(model);
  return 0;
}
