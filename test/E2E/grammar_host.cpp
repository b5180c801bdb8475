//===- grammar_host.cpp - A host that sees the drafts ---------------------===//
//
// grammar_host ARTIFACT cpu|cuda K BATCH PAGES TEMPERATURE WHO ID,ID,...
//
// Runs BATCH prompts. WHO has a letter per prompt: 'g' uses the grammar, 'a'
// uses it and writes ahead what may follow the anchor, 's' sees drafts and
// allows all, 'n' does not see drafts. The grammar is an automaton over tokens,
// whose masks the host writes after each first half of a round. Prints a line
// for each prompt with its output, rounds and accepted drafts, and then the
// number of preemptions.
//
//===----------------------------------------------------------------------===//

#include "mtp/session.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>

using namespace mtp;

namespace {
/// The number of states of the automaton. A token is allowed in some of them.
constexpr int32_t kStates = 7;

bool isAllowed(int32_t state, int32_t token) {
  return (token * 3 + state) % kStates < 4;
}
int32_t nextState(int32_t state, int32_t token) {
  return (state + token) % kStates;
}

/// The bits of rows of 64 tokens.
class Masks {
public:
  Masks(uint64_t rows) : words(2 * rows, UINT32_MAX) {}

  void setRow(size_t row, int32_t state) {
    for (int32_t token = 0; token < 64; ++token)
      if (!isAllowed(state, token))
        words[2 * row + token / 32] &= ~(1u << token % 32);
  }
  RequestInput input() const {
    Tensor tensor{{ElementType::I32, {words.size() / 2, 2}}, {}};
    tensor.bytes.resize(words.size() * sizeof(uint32_t));
    std::memcpy(tensor.bytes.data(), words.data(), tensor.bytes.size());
    return {"allowed", std::move(tensor)};
  }

private:
  std::vector<uint32_t> words;
};

/// A sequence and the state of its grammar.
struct Guided {
  char who = 'n';
  int32_t state = 0;

  bool hasGrammar() const { return who == 'g' || who == 'a'; }
};

/// Returns masks for the token after the anchor and after each draft that can
/// be accepted.
Masks masksOf(const Guided &guided, const SeenDrafts &seen, uint64_t rows) {
  Masks masks(rows);
  masks.setRow(0, guided.state);
  std::vector<int32_t> states{guided.state};
  for (size_t node = 1; node <= seen.tokens.size(); ++node) {
    int32_t parent =
        seen.parents.empty() ? int32_t(node) - 1 : seen.parents[node];
    int32_t before =
        parent < 0 || parent >= int32_t(node) ? -1 : states[size_t(parent)];
    int32_t token = seen.tokens[node - 1];
    bool lives = before >= 0 && token >= 0 && isAllowed(before, token);
    states.push_back(lives ? nextState(before, token) : -1);
    if (lives)
      masks.setRow(node, states.back());
  }
  return masks;
}

[[noreturn]] void fail(const Status &status) {
  std::fprintf(stderr, "grammar_host: error: %s\n", status.toString().c_str());
  std::exit(1);
}
void check(const Status &status) {
  if (!status.isOk())
    fail(status);
}

class Host {
public:
  Host(std::unique_ptr<Session> session)
      : session(std::move(session)),
        rows(this->session->model()->requestInputs().at(0).type.shape.at(0)) {}

  void add(std::vector<int32_t> prompt, char who, float temperature);
  void run();
  void print() const;

private:
  void take(const SequenceUpdate &update);

  std::unique_ptr<Session> session;
  uint64_t rows;
  std::map<SequenceId, Guided> guided;
};
} // namespace

void Host::add(std::vector<int32_t> prompt, char who, float temperature) {
  Guided own;
  own.who = who;
  own.state = int32_t(prompt.size()) % kStates;
  Request request;
  request.prompt = std::move(prompt);
  request.maxTokens = 40;
  request.sampling.temperature = temperature;
  request.sampling.seed = 11;
  request.seesDrafts = who != 'n';
  if (own.hasGrammar()) {
    Masks first(rows);
    first.setRow(0, own.state);
    request.inputs.push_back(first.input());
  }
  auto id = session->add(std::move(request));
  if (!id)
    fail(id.status());
  guided[*id] = own;
}

/// Advances the automaton by tokens, and answers drafts with masks.
void Host::take(const SequenceUpdate &update) {
  Guided &own = guided.at(update.id);
  check(update.error);
  if (!own.hasGrammar())
    return;
  for (int32_t token : update.tokens) {
    if (!isAllowed(own.state, token))
      fail(Status(StatusCode::Internal, "a token that is not allowed"));
    own.state = nextState(own.state, token);
  }
  if (update.seen) {
    check(
        session->setInput(update.id, masksOf(own, *update.seen, rows).input()));
  } else if (own.who == 'a' && update.finish == FinishReason::None) {
    Masks ahead(rows);
    ahead.setRow(0, own.state);
    check(session->setInput(update.id, ahead.input()));
  }
}

void Host::run() {
  while (!session->idle()) {
    auto updates = session->step();
    if (!updates)
      fail(updates.status());
    for (const SequenceUpdate &update : *updates)
      take(update);
    check(session->checkInvariants());
  }
}

void Host::print() const {
  for (const auto &[id, own] : guided) {
    Statistics counts = *session->statistics(id);
    std::printf("%llu %llu", (unsigned long long)counts.rounds,
                (unsigned long long)std::accumulate(counts.accepted.begin(),
                                                    counts.accepted.end(),
                                                    uint64_t(0)));
    for (int32_t token : *session->output(id))
      std::printf(" %d", token);
    std::printf("\n");
  }
  std::printf("%llu\n", (unsigned long long)session->statistics().preemptions);
}

static std::vector<int32_t> parse(const char *text) {
  std::vector<int32_t> ids;
  for (char *end = nullptr; *text; text = *end ? end + 1 : end)
    ids.push_back(int32_t(std::strtol(text, &end, 10)));
  return ids;
}

int main(int argc, char **argv) {
  if (argc < 9) {
    std::fprintf(stderr, "usage: grammar_host ARTIFACT DEVICE K BATCH PAGES "
                         "TEMPERATURE WHO IDS...\n");
    return 2;
  }
  LoadOptions load;
  load.device =
      std::strcmp(argv[2], "cuda") ? DeviceKind::Cpu : DeviceKind::Cuda;
  auto model = Model::load(argv[1], load);
  if (!model)
    fail(model.status());
  SessionOptions options;
  options.k = uint32_t(std::atoi(argv[3]));
  options.maxSlots = uint32_t(std::atoi(argv[4]));
  options.kvPages = uint32_t(std::atoi(argv[5]));
  // As in check.py: lit runs a test on each processor.
  options.threads = options.kvPages ? 2 : 1;
  auto session = Session::create(*model, options);
  if (!session)
    fail(session.status());
  Host host(std::move(*session));
  const char *who = argv[7];
  for (int i = 8; i < argc; ++i, ++who)
    host.add(parse(argv[i]), *who, std::strtof(argv[6], nullptr));
  host.run();
  host.print();
  return 0;
}
