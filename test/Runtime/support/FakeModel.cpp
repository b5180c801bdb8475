//===- FakeModel.cpp - An artifact of the fake language -------------------===//

#include "FakeModel.h"
#include "FakeLanguage.h"
#include "runtime/device/cpu/Sample.h"
#include "runtime/exec/SessionFactory.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace mtp;
using namespace mtp::test;

namespace {

/// Writes the commands of one program. Prefills pick from logits. Rounds pick
/// from the best logit of each part if they need no logits.
class ProgramWriter {
public:
  ProgramWriter(ArtifactBuilder &a, const FakeOptions &o) : a(a), o(o) {}

  /// Adds a buffer whose size depends on n. With ranges, the part of each slot
  /// or row is a multiple of 64 bytes, so that places grow linearly.
  Binding arena(uint64_t elements) {
    Binding b(schema::Space::Arena, 0, p.arenaBytes, elements * 4);
    uint64_t parts = o.hasRanges && p.begin() ? p.begin() : 1;
    p.arenaBytes += parts * alignTo(elements / parts * 4, kBufferAlignment);
    return b;
  }
  /// Adds a buffer of one size for every n.
  Binding constantArena(uint64_t elements) {
    Binding b(schema::Space::Arena, 0, p.arenaBytes, elements * 4);
    p.arenaBytes = alignTo(p.arenaBytes + elements * 4, kBufferAlignment);
    return b;
  }
  Binding state(const std::string &name) const {
    for (uint32_t i = 0; i < a.states.size(); ++i) {
      uint64_t bytes = 4;
      for (uint64_t dim : a.states[i].shape)
        bytes *= dim;
      if (a.states[i].name == name)
        return Binding(schema::Space::State, i, 0, bytes);
    }
    std::abort();
  }
  /// Returns the first elements of a row of a shared state.
  Binding part(const std::string &name, uint64_t row, uint64_t elements) const {
    Binding all = state(name);
    uint64_t width = a.states[all.index].shape.back();
    return Binding(schema::Space::State, all.index, row * width * 4,
                   elements * 4);
  }
  Binding kv(uint32_t cache, uint32_t layer) const {
    return Binding(schema::Space::Kv, cache, layer, 0);
  }
  void run(const std::string &kernel, std::vector<Binding> bindings,
           std::vector<int64_t> params, uint64_t tasks) {
    // The first param of a fake kernel is its number of tasks.
    if (!kernel.starts_with("mtp."))
      params.insert(params.begin(), int64_t(tasks));
    uint32_t index =
        a.kernel(kernel, uint32_t(bindings.size()), uint32_t(params.size()));
    p.commands.push_back({index, std::move(bindings), std::move(params)});
  }

  /// Runs the target over rows; returns logits, and hidden states in `hidden`.
  Binding target(Binding tokens, Binding slots, Binding positions,
                 uint64_t rows, Binding hidden) {
    Binding logits = arena(rows * FAKE_VOCAB);
    Binding table = state("page_table");
    std::vector<int64_t> params = {pages(), o.page};
    run("append", {tokens, slots, positions, table, kv(0, 0)}, params, rows);
    run("target", {slots, positions, table, kv(0, 0), logits, hidden}, params,
        rows);
    return logits;
  }
  /// Runs module d (from 1) over rows; returns its picks.
  Binding module(uint32_t d, Binding tokens, Binding hidden, Binding slots,
                 Binding positions, uint64_t rows, Binding out) {
    Binding picks = arena(rows), table = state("page_table");
    std::vector<int64_t> params = {pages(), o.page};
    run("append", {tokens, slots, positions, table, kv(1, d - 1)}, params,
        rows);
    run("module",
        {tokens, hidden, slots, positions, table, kv(1, d - 1), picks, out},
        params, rows);
    return picks;
  }
  /// Returns the state of drafts. If the host sees drafts, the state has only
  /// the drafts of the batch.
  Binding draftsOf(uint32_t batch) const {
    Binding all = state("drafts");
    if (o.showsDrafts)
      all.bytes = uint64_t(batch) * o.maxK * 4;
    return all;
  }
  /// Returns the state that folds all tokens; if there is none, another state.
  Binding fold() const { return state(o.hasFold ? "fold" : "marks"); }
  int64_t pages() const { return (o.maxContext + o.page - 1) / o.page; }
  void outputs(Binding logits, Binding picks, uint64_t rows) {
    p.outputs.push_back(
        {"logits", logits, schema::DType::F32, {rows, FAKE_VOCAB}});
    p.outputs.push_back({"picks", picks, schema::DType::I32, {rows}});
  }
  ArtifactBuilder::Program take() { return std::move(p); }
  void finish() {
    if (o.hasRanges && p.kind != schema::ProgramKind::Function)
      return;
    a.arenaBytes = std::max(a.arenaBytes, p.arenaBytes);
    a.programs.push_back(std::move(p));
  }

  void prefill(uint32_t chunk, uint32_t modules);
  void audit(Binding sequences, uint32_t chunk, Binding pick);
  void decode(uint32_t batch, uint32_t k);
  void drafts(uint32_t batch, uint32_t k);

  ArtifactBuilder &a;
  const FakeOptions &o;
  ArtifactBuilder::Program p;
};

} // namespace

void ProgramWriter::prefill(uint32_t chunk, uint32_t modules) {
  p.name = "prefill_c" + std::to_string(chunk) + "_m" + std::to_string(modules);
  p.kind = schema::ProgramKind::Prefill;
  p.batch = 1;
  p.chunk = chunk;
  p.drafts = modules > 0;
  if (p.sequences > 1)
    p.name += "_s" + std::to_string(p.sequences);
  int64_t slotCount = o.maxBatch;
  uint32_t count = p.sequences;
  Binding sequences = state("prompt_sequences"), previous, logits;
  Binding hidden = arena(chunk), slots = part("prompt_slots", 0, chunk);
  for (uint32_t d = 0; d <= modules; ++d) {
    Binding tokens = part("prompt_tokens", d, chunk);
    Binding positions = part("prompt_positions", d, chunk);
    if (d == 0) {
      logits = target(tokens, slots, positions, chunk, hidden);
      previous = hidden;
      continue;
    }
    if (d >= 2)
      run("prompt_carry",
          {sequences, previous, state("carry_" + std::to_string(d))},
          {d, slotCount}, count);
    Binding out = arena(chunk);
    module(d, tokens, previous, slots, positions, chunk, out);
    previous = out;
  }
  Binding last = constantArena(count), slot = constantArena(count);
  Binding row = constantArena(count * FAKE_VOCAB);
  Binding position = constantArena(count), pick = constantArena(count);
  run("prompt_last", {sequences, last}, {slotCount}, count);
  run("last_row",
      {last, logits, slots, part("prompt_positions", 0, chunk), row, slot,
       position},
      {}, count);
  run("mtp.sample", {row, slot, position, state("sampling"), pick},
      {count, FAKE_VOCAB, 1}, count);
  run("prompt_commit",
      {sequences, pick, hidden, state("length"), state("accepted"),
       state("window"), state("hidden"), state("out_tokens"),
       state("out_count")},
      {o.maxK + 1, slotCount}, count);
  if (o.hasAudit)
    audit(sequences, chunk, pick);
  outputs(row, pick, count);
  finish();
}

/// Checks the states that exist only for auditing.
void ProgramWriter::audit(Binding sequences, uint32_t chunk, Binding pick) {
  run("prompt_audit",
      {sequences, part("prompt_tokens", 0, chunk), state("page_table"),
       kv(0, 0), pick, state("history"), state("pair"), fold(), state("marks"),
       state("out_count")},
      {o.maxBatch, pages(), o.page, o.maxContext, o.hasFold}, p.sequences);
}

/// Refreshes the modules, then runs the chain of drafts.
void ProgramWriter::drafts(uint32_t batch, uint32_t k) {
  Binding active = state("active"), drafts = draftsOf(batch);
  Binding previous, chain = arena(batch);
  uint32_t used = std::min(o.modules, k);
  int64_t kmax = o.maxK;
  for (uint32_t d = 1; d <= used; ++d) {
    uint64_t rows = uint64_t(batch) * (k + d);
    Binding tokens = arena(rows), slots = arena(rows), pos = arena(rows);
    Binding last = arena(batch), hidden = arena(rows), out = arena(rows);
    run("refresh_rows",
        {active, state("length"), state("accepted"), state("window"), drafts,
         tokens, slots, pos, last},
        {k, d, kmax}, batch);
    if (d == 1)
      run("refresh_hidden", {active, state("hidden"), hidden}, {k, kmax + 1},
          batch);
    else
      run("shift_hidden",
          {active, state("accepted"), state("carry_" + std::to_string(d)),
           previous, hidden},
          {k, d}, batch);
    Binding picks = module(d, tokens, hidden, slots, pos, rows, out);
    run("put_drafts", {picks, out, last, drafts, chain}, {d - 1, kmax}, batch);
    previous = out;
  }
  for (uint32_t j = used; j < k; ++j) {
    Binding tokens = arena(batch), slots = arena(batch), pos = arena(batch);
    Binding last = arena(batch), out = arena(batch), next = arena(batch);
    run("chain_rows",
        {active, state("length"), drafts, tokens, slots, pos, last},
        {j - 1, j + 1 - used, kmax}, batch);
    Binding picks = module(used, tokens, chain, slots, pos, batch, out);
    run("put_drafts", {picks, out, last, drafts, next}, {j, kmax}, batch);
    chain = next;
  }
}

void ProgramWriter::decode(uint32_t batch, uint32_t k) {
  p.name = "decode_b" + std::to_string(batch) + "_k" + std::to_string(k);
  p.kind = schema::ProgramKind::Decode;
  p.batch = batch;
  p.k = k;
  drafts(batch, k);
  uint64_t rows = uint64_t(batch) * (k + 1);
  int64_t kmax = o.maxK;
  if (o.showsDrafts && k > 0) {
    p.cut = uint32_t(p.commands.size());
    p.outputs.push_back(
        {"drafts", draftsOf(batch), schema::DType::I32, {batch, o.maxK}});
  }
  if (o.hasLimit && k > 0)
    run("limit_drafts",
        {state("active"), state("draft_limit"), state("drafts")}, {k, kmax},
        batch);
  Binding tokens = arena(rows), slots = arena(rows), pos = arena(rows);
  run("verify_rows",
      {state("active"), state("length"), state("accepted"), state("window"),
       state("drafts"), tokens, slots, pos},
      {k, kmax}, batch);
  Binding hidden = arena(rows), picks = arena(rows);
  Binding logits = target(tokens, slots, pos, rows, hidden);
  Binding values = arena(rows * FAKE_PARTS), best = arena(rows * FAKE_PARTS);
  run("best_of_parts", {logits, slots, state("sampling"), values, best}, {},
      rows);
  run("mtp.sample_parts",
      {values, best, logits, slots, pos, state("sampling"), picks},
      {int64_t(rows), FAKE_VOCAB, FAKE_PARTS}, rows);
  run("accept_commit",
      {state("active"), picks, state("drafts"), hidden, state("length"),
       state("accepted"), state("window"), state("hidden"), state("out_tokens"),
       state("out_count")},
      {k, kmax}, batch);
  if (o.hasAudit)
    run("track",
        {state("active"), state("length"), state("accepted"),
         state("out_tokens"), state("history"), fold(), state("marks")},
        {kmax + 1, o.maxContext, o.hasFold}, batch);
  outputs(logits, picks, rows);
  finish();
}

static void addPrompt(ArtifactBuilder &a, const FakeOptions &o) {
  using schema::DType;
  uint64_t s = o.maxBatch, chunk = o.chunks[0], places = o.modules + 1;
  constexpr ArtifactBuilder::Upkeep kShared{.shared = true};
  a.addState("prompt_tokens", {places, chunk}, DType::I32, kShared);
  a.addState("prompt_positions", {places, chunk}, DType::I32, kShared);
  a.addState("prompt_slots", {chunk}, DType::I32, kShared);
  a.addState("prompt_sequences", {5, s}, DType::I32, kShared);
}

static void addAudit(ArtifactBuilder &a, const FakeOptions &o) {
  using schema::DType;
  using schema::Rebuild;
  using Upkeep = ArtifactBuilder::Upkeep;
  uint64_t s = o.maxBatch;
  a.addState("history", {s, o.maxContext}, DType::I32,
             Upkeep{.init = -1, .rebuild = Rebuild::Tokens});
  a.addState("pair", {s, 2}, DType::I32, Upkeep{.rows = o.pairRows});
  a.addState("marks", {s}, DType::I32, Upkeep{.init = 7});
  if (o.hasFold)
    a.addState("fold", {s}, DType::I32,
               Upkeep{.init = 5, .rebuild = o.foldRebuild});
}

static void addStates(ArtifactBuilder &a, const FakeOptions &o) {
  uint64_t s = o.maxBatch, w = o.maxK + 1;
  uint64_t pages = (o.maxContext + o.page - 1) / o.page;
  using Upkeep = ArtifactBuilder::Upkeep;
  Upkeep slot, shared{.shared = true};
  auto add = [&](const std::string &name, std::vector<uint64_t> shape,
                 const Upkeep &upkeep,
                 schema::DType type = schema::DType::I32) {
    a.addState(name, std::move(shape), type, upkeep);
  };
  add("active", {s}, shared);
  add("length", {s}, slot);
  add("accepted", {s}, slot);
  add("window", {s, w}, slot);
  add("drafts", {s, std::max<uint64_t>(o.maxK, 1)}, shared);
  add("page_table", {s, pages}, slot);
  add("sampling", {s, 8}, slot);
  add("out_tokens", {s, w}, slot);
  add("out_count", {s}, slot);
  add("hidden", {s, w, 1}, slot, schema::DType::F32);
  for (uint32_t d = 2; d <= o.modules; ++d) {
    slot.rows = d;
    add("carry_" + std::to_string(d), {s, 1}, slot, schema::DType::F32);
  }
  addPrompt(a, o);
  if (o.hasLimit)
    add("draft_limit", {s}, Upkeep{.init = INT32_MAX});
  if (o.showsDrafts)
    a.addState("allowed", {s, 3}, schema::DType::I32,
               Upkeep{.init = -1, .input = true});
  if (o.hasAudit)
    addAudit(a, o);
}

static void addTwice(ArtifactBuilder &a, const FakeOptions &o) {
  ProgramWriter w(a, o);
  w.p.name = "twice";
  Binding x = w.arena(4), y = w.arena(4);
  w.run("twice", {x, y}, {}, 4);
  w.p.inputs = {{"arg0", x, schema::DType::F32, {4}}};
  w.p.outputs = {{"result0", y, schema::DType::F32, {4}}};
  w.finish();
}

static void addPrograms(ArtifactBuilder &a, const FakeOptions &o) {
  for (uint32_t chunk : o.chunks)
    for (uint32_t modules : {0u, o.modules}) {
      ProgramWriter(a, o).prefill(chunk, modules);
      if (o.modules == 0)
        break;
    }
  for (uint32_t batch = 1; batch <= o.maxBatch; ++batch)
    for (uint32_t k = 0; k <= o.maxK; ++k)
      ProgramWriter(a, o).decode(batch, k);
}

/// Adds one program for a range of n; `make` gets a writer and n.
template <typename Make>
static void addRange(ArtifactBuilder &a, const FakeOptions &o, uint32_t begin,
                     uint32_t end, Make make) {
  auto programAt = [&](uint32_t n) {
    ProgramWriter writer(a, o);
    make(writer, n);
    return writer.take();
  };
  ArtifactBuilder::Program last = programAt(end - 1);
  a.arenaBytes = std::max(a.arenaBytes, last.arenaBytes);
  a.programs.push_back(mergeRange(programAt(begin), last));
  // From the third n on, one thread runs the last command.
  std::vector<uint8_t> steps(last.commands.size(), 0);
  a.programs.back().schedules = {{begin, steps}};
  steps.back() = uint8_t(schema::CpuStep::Solo);
  if (end - begin > 2)
    a.programs.back().schedules.push_back({begin + 2, steps});
}

static void addRanges(ArtifactBuilder &a, const FakeOptions &o) {
  for (uint32_t sequences : o.sequences)
    for (uint32_t modules : {0u, o.modules}) {
      addRange(a, o, sequences, o.chunks[0] + 1,
               [&](ProgramWriter &w, uint32_t rows) {
                 w.p.sequences = sequences;
                 w.prefill(rows, modules);
               });
      if (o.modules == 0)
        break;
    }
  uint32_t middle = std::min(o.maxBatch, 2u) + 1;
  for (uint32_t k = 0; k <= o.maxK; ++k)
    for (auto [begin, end] : {std::pair(1u, middle), {middle, o.maxBatch + 1}})
      if (begin < end)
        addRange(a, o, begin, end,
                 [&](ProgramWriter &w, uint32_t batch) { w.decode(batch, k); });
}

ArtifactBuilder mtp::test::makeFakeModel(const FakeOptions &o) {
  ArtifactBuilder a;
  a.features = {"sse2"};
  a.envelope = {o.maxK,      o.maxBatch, o.maxContext,
                o.chunks[0], o.page,     FAKE_VOCAB};
  a.eos = o.eos;
  a.caches.push_back({"target", 1, FAKE_ENTRY});
  if (o.modules)
    a.caches.push_back({"drafter", o.modules, FAKE_ENTRY});
  addStates(a, o);
  std::ifstream image(MTP_FAKE_KERNELS, std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(image), {}};
  a.images.push_back(a.addSegment(schema::SegmentKind::Image, bytes));
  if (o.hasRanges)
    addRanges(a, o);
  else
    addPrograms(a, o);
  addTwice(a, o);
  return a;
}

namespace {
/// Removes the files of a test program when it ends.
struct TemporaryFiles {
  std::vector<std::string> paths;
  ~TemporaryFiles() {
    for (const std::string &path : paths)
      std::remove(path.c_str());
  }
};
} // namespace

void mtp::test::planForGpu(ArtifactBuilder &builder, bool isHosted) {
  builder.arch = "nvptx";
  builder.cpu = isHosted ? "gpu-sim" : "sm_90";
  builder.imageFormat =
      isHosted ? schema::ImageFormat::Hosted : schema::ImageFormat::Cubin;
  builder.ptx = isHosted ? -1 : 0;
  builder.scratchBytes = 0;
  for (ArtifactBuilder::Kernel &kernel : builder.kernels) {
    kernel.image = 0;
    kernel.launch = ArtifactBuilder::Launch{};
  }
  for (ArtifactBuilder::Program &program : builder.programs)
    program.schedules.clear();
}

std::string mtp::test::writeFile(const std::string &name,
                                 const std::vector<uint8_t> &bytes) {
  static TemporaryFiles files;
  std::string path = testing::TempDir() + "mtp-" + std::to_string(getpid()) +
                     "-" + std::to_string(files.paths.size()) + "-" + name;
  files.paths.push_back(path);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
  return path;
}

/// Every step of every session in the tests checks the session's invariants.
static const bool checksSteps = [] {
  SessionFactory::checkEveryStep(true);
  return true;
}();

std::shared_ptr<const Model>
mtp::test::loadFakeModel(const FakeOptions &options) {
  std::string path = writeFile("fake.bin", makeFakeModel(options).finish());
  Result<std::shared_ptr<const Model>> model = Model::load(path);
  std::remove(path.c_str());
  if (model)
    return *model;
  std::fprintf(stderr, "%s\n", model.status().toString().c_str());
  std::abort();
}

std::unique_ptr<Session> mtp::test::openFake(const FakeOptions &options) {
  SessionOptions single;
  single.threads = 1;
  return *Session::create(loadFakeModel(options), single);
}

std::vector<float> mtp::test::fakeLogits(const std::vector<int32_t> &tokens) {
  uint32_t history = 1;
  int32_t previous = 0, last = 0;
  for (int32_t token : tokens) {
    previous = last;
    last = token;
    history = fakeMix(history, uint32_t(token));
  }
  std::vector<float> logits(FAKE_VOCAB);
  for (int32_t v = 0; v < FAKE_VOCAB; ++v)
    logits[size_t(v)] = fakeLogit(history, previous, last, v);
  return logits;
}

Expected mtp::test::expectedOutput(const Request &request,
                                   const std::vector<int32_t> &eos) {
  Expected expected;
  SamplingRow row = {};
  row.seedLow = uint32_t(request.sampling.seed);
  row.seedHigh = uint32_t(request.sampling.seed >> 32);
  row.temperature = request.sampling.temperature;
  row.topK = int32_t(request.sampling.topK);
  row.topP = request.sampling.topP;
  row.minP = request.sampling.minP;
  std::vector<int32_t> tokens = request.prompt;
  auto in = [](const std::vector<int32_t> &list, int32_t token) {
    return std::find(list.begin(), list.end(), token) != list.end();
  };
  while (expected.tokens.size() < request.maxTokens) {
    std::vector<float> logits = fakeLogits(tokens);
    std::vector<uint64_t> scratch(logits.size());
    int32_t token =
        sampleToken(logits, {}, row, int32_t(tokens.size()), scratch);
    if ((!request.ignoreEos && in(eos, token)) ||
        in(request.stopTokens, token)) {
      expected.finish = FinishReason::Stop;
      return expected;
    }
    tokens.push_back(token);
    expected.tokens.push_back(token);
  }
  expected.finish = FinishReason::Length;
  return expected;
}

std::vector<SequenceUpdate> mtp::test::drain(Session &session) {
  std::vector<SequenceUpdate> all;
  for (int steps = 0; !session.idle(); ++steps) {
    auto updates = session.step();
    Status invariant = session.checkInvariants();
    if (!updates.isOk() || !invariant.isOk() || steps > 10000) {
      ADD_FAILURE() << updates.status().toString() << " "
                    << invariant.toString() << " after " << steps << " steps";
      return {};
    }
    all.insert(all.end(), updates->begin(), updates->end());
  }
  return all;
}
