//===- contract_test.cpp - Commands that break contracts ------------------===//
//
// A compiled artifact with one error at a time. A kernel's contract or its
// context refuses each.
//
//===----------------------------------------------------------------------===//

#include "mtp/session.h"
#include "runtime/artifact/ArtifactFile.h"
#include "test/Runtime/support/ArtifactBuilder.h"
#include "test/Runtime/support/FakeModel.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <numeric>

using namespace mtp;
using namespace mtp::test;

namespace {

std::vector<uint8_t> goldenFile() {
  std::ifstream file(MTP_GOLDEN, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The golden artifact as objects, and the bytes after its tables.
struct Golden {
  Golden() {
    std::vector<uint8_t> file = goldenFile();
    FileHeader header;
    std::memcpy(&header, file.data(), sizeof(header));
    schema::GetArtifact(&file[header.programOffset])->UnPackTo(&tables);
    uint64_t base = segmentBase(header.programOffset, header.programSize);
    segments.assign(file.begin() + int64_t(base), file.end());
  }

  std::vector<uint8_t> finish() const {
    flatbuffers::FlatBufferBuilder fbb;
    schema::FinishArtifactBuffer(fbb, schema::Artifact::Pack(fbb, &tables));
    std::vector<uint8_t> file =
        makeFileFront(fbb.GetBufferPointer(), fbb.GetSize(), segments.size());
    file.insert(file.end(), segments.begin(), segments.end());
    return file;
  }

  uint32_t state(const char *name) {
    for (uint32_t i = 0; i < tables.states.size(); ++i)
      if (tables.states[i]->name == name)
        return i;
    std::abort();
  }

  schema::PlanT &plan() { return *tables.plans[0]; }
  /// Returns the first command of a kernel of that kind, and its program.
  std::pair<schema::PlanProgramT *, schema::DispatchT *>
  find(const char *kind) {
    for (auto &program : plan().programs)
      for (schema::ActionUnion &command : program->commands)
        if (plan().kernels[command.AsDispatch()->kernel]->kind == kind)
          return {program.get(), command.AsDispatch()};
    std::abort();
  }
  schema::DispatchT &command(const char *kind) { return *find(kind).second; }
  schema::KernelT &kernel(const char *kind) {
    return *plan().kernels[command(kind).kernel];
  }
  /// Gives a buffer a place of its own and returns it.
  schema::Place &place(const char *kind, size_t index) {
    auto [program, command] = find(kind);
    program->places.push_back(program->places[command->bindings[index]]);
    command->bindings[index] = uint32_t(program->places.size() - 1);
    return program->places.back();
  }

  schema::ArtifactT tables;
  std::vector<uint8_t> segments;
};

schema::Count fixed(int64_t value) { return schema::Count(value, 0); }

/// Returns the message after the path; empty if the file loads.
std::string messageWith(const std::function<void(Golden &)> &spoil) {
  Golden golden;
  spoil(golden);
  AlignedBytes bytes(golden.finish());
  std::string message(
      ArtifactFile::fromMemory(bytes.span()).status().message());
  size_t path = message.rfind("]: ");
  return path == std::string::npos ? message : message.substr(path + 3);
}

} // namespace

TEST(Contract, TheFileItselfIsFine) {
  EXPECT_EQ(messageWith([](Golden &) {}), "");
}

TEST(Contract, HoldsParams) {
  EXPECT_EQ(
      messageWith([](Golden &g) { g.command("embed").params[0] = fixed(0); }),
      "embed_0_0 takes 1 to 1073741824, got 0");
  EXPECT_EQ(
      messageWith([](Golden &g) { g.command("embed").params[0] = fixed(-8); }),
      "embed_0_0 takes 1 to 1073741824, got -8");
}

TEST(Contract, HoldsThePlaceOfActiveRows) {
  auto with = [](int32_t live) {
    return messageWith([&](Golden &g) { g.command("embed").live = live; });
  };
  EXPECT_EQ(with(-1), "");
  for (int32_t live : {-2, 9999})
    EXPECT_NE(with(live).find("live: place " + std::to_string(live) +
                              " is past the "),
              std::string::npos);
}

TEST(Contract, HoldsBuffers) {
  EXPECT_NE(messageWith([](Golden &g) {
              schema::Place &p = g.place("embed", 2);
              p = schema::Place(
                  p.space(), p.index(), p.offset(),
                  schema::Count(p.bytes().base() - 4, p.bytes().step()));
            }).find("the kernel may touch "),
            std::string::npos);
  EXPECT_NE(messageWith([](Golden &g) {
              g.command("embed").params[0] = fixed(1 << 20);
            }).find("the kernel may touch "),
            std::string::npos);
  EXPECT_NE(messageWith([](Golden &g) {
              // A kernel with equal counts.
              g.command("mask_first").kernel = g.command("embed").kernel;
            }),
            "");
  EXPECT_EQ(
      messageWith([](Golden &g) { g.plan().scratch_bytes = 64; }).substr(0, 16),
      "contract: needs ");
}

TEST(Contract, HoldsWhatIsWritten) {
  using schema::Space;
  EXPECT_EQ(messageWith([](Golden &g) {
              g.place("embed", 2) =
                  schema::Place(Space::Weight, 0, fixed(0),
                                fixed(int64_t(g.plan().weights[0]->size)));
            }),
            "a kernel may not write to weights and constants");
  EXPECT_EQ(messageWith([](Golden &g) {
              g.place("embed", 2) = schema::Place(
                  Space::State, g.state("active"), fixed(0), fixed(4));
            }),
            "a kernel may not write to state 'active', which is the host's");
  EXPECT_EQ(messageWith([](Golden &g) {
              g.tables.states[g.state("accepted")]->upkeep->input = true;
            }),
            "a kernel may not write to state 'accepted', which is the host's");
  EXPECT_EQ(messageWith([](Golden &g) {
              size_t picks = g.command("mtp.sample_parts").bindings.size() - 1;
              g.place("mtp.sample_parts", picks) =
                  schema::Place(Space::Constant, 0, fixed(0),
                                fixed(int64_t(g.plan().constants[0]->size)));
            }),
            "a kernel may not write to weights and constants");
}

TEST(Contract, HoldsCachesAndPages) {
  auto cache = [](const std::function<void(schema::CacheT &)> &change) {
    return messageWith([&](Golden &g) { change(*g.tables.caches[0]); });
  };
  EXPECT_EQ(cache([](auto &c) { c.entry_width = 8; }),
            "expected a cache with pages of 8 entries of 32xf32, heads 2, got "
            "pages of 8 entries of 8xf32, heads 2");
  EXPECT_NE(cache([](auto &c) { c.dtype = schema::DType::BF16; }), "");
  EXPECT_NE(cache([](auto &c) { c.heads = 1; }), "");
  EXPECT_EQ(cache([](auto &c) { c.heads = 0; }), "") << "it is not said";
  EXPECT_NE(messageWith([](Golden &g) { g.tables.envelope->page_tokens = 16; }),
            "");
  EXPECT_EQ(messageWith([](Golden &g) {
              // The page table comes before the pages.
              auto [program, command] = g.find("attention");
              for (uint32_t binding : command->bindings)
                if (schema::Place &p = program->places[binding];
                    p.space() == schema::Space::State &&
                    p.index() == g.state("page_table"))
                  p = schema::Place(schema::Space::State, g.state("length"),
                                    fixed(0), fixed(8));
            }),
            "expected page numbers: the state 'page_table', in functions a "
            "constant of i32, too");
  EXPECT_EQ(messageWith([](Golden &g) {
              g.place("embed", 2) =
                  schema::Place(schema::Space::Kv, 0, fixed(0), fixed(0));
            }),
            "the kernel takes no cache here");
}

TEST(Contract, IsCheckedItself) {
  EXPECT_EQ(messageWith([](Golden &g) {
              g.kernel("embed").contract->buffers.pop_back();
            }),
            "contract: expected 3 buffers and 1 params, got 2 and 1");
  EXPECT_EQ(messageWith([](Golden &g) {
              auto &bytes = g.kernel("embed").contract->buffers[2]->bytes;
              bytes[0] = schema::Term(1, 7, 255);
            }),
            "param 7 is past the 1");
  EXPECT_EQ(messageWith([](Golden &g) {
              g.kernel("embed").contract->buffers[2]->bytes = {
                  schema::Term(INT64_MAX, 255, 255), schema::Term(1, 0, 255)};
            }),
            "the bytes that the kernel may touch do not fit 64 bits");
  EXPECT_EQ(messageWith([](Golden &g) { g.kernel("embed").contract.reset(); }),
            "expected a contract of embed_0_0, which says its tasks");
}

TEST(Contract, PlacesAndStatesAreThere) {
  EXPECT_EQ(messageWith([](Golden &g) {
              g.command("embed").bindings[0] = 9999;
            }).substr(0, 11),
            "place 9999 ");
  EXPECT_EQ(messageWith([](Golden &g) {
              g.plan().state_offsets.pop_back();
            }).substr(0, 24),
            "state_offsets: expected ");
}

/// Changes the size of a state, and of places that name all of it.
static void resize(Golden &g, const char *name, std::vector<uint64_t> shape) {
  uint32_t index = g.state(name);
  schema::StateT &state = *g.tables.states[index];
  auto bytes = [](const std::vector<uint64_t> &shape) {
    return int64_t(
        std::accumulate(shape.begin(), shape.end(), 4, std::multiplies<>()));
  };
  int64_t before = bytes(state.shape);
  state.shape = std::move(shape);
  int64_t after = bytes(state.shape);
  // After all other states.
  uint64_t end = (g.plan().state_bytes + 63) / 64 * 64;
  g.plan().state_offsets[index] = end;
  g.plan().state_bytes = end + uint64_t(after);
  for (auto &program : g.plan().programs)
    for (schema::Place &p : program->places)
      if (p.space() == schema::Space::State && p.index() == index &&
          p.bytes().base() == before)
        p = schema::Place(p.space(), index, p.offset(),
                          schema::Count(after, 0));
}

TEST(Contract, HoldsTheEnvelope) {
  EXPECT_EQ(messageWith([](Golden &g) {
              EXPECT_EQ(g.tables.envelope->max_context, 64u);
              EXPECT_EQ(g.tables.envelope->page_tokens, 8u);
              g.tables.envelope->max_context = 256;
              resize(g, "page_table", {2, 32});
            }),
            "expected params[1] of 32, the pages of a slot in the envelope, "
            "got 8");
  // Rows of logits at their old distance.
  EXPECT_NE(messageWith([](Golden &g) {
              int64_t vocab = g.tables.envelope->vocab++;
              for (auto &program : g.plan().programs)
                for (auto &port : program->outputs)
                  if (port->name == "logits") {
                    port->shape.back() = schema::Count(vocab + 1, 0);
                    schema::Place &p = *port->place;
                    auto more = [&](int64_t bytes) {
                      return bytes / vocab * (vocab + 1);
                    };
                    p = schema::Place(p.space(), p.index(), p.offset(),
                                      schema::Count(more(p.bytes().base()),
                                                    more(p.bytes().step())));
                  }
            }).find("bytes that a kernel writes, got "),
            std::string::npos);
}

/// Makes the first command of each prompt's program write a recurrent state.
static void carryState(Golden &g) {
  constexpr int64_t kBytes = 1 << 16;
  auto state = std::make_unique<schema::StateT>();
  state->name = "carried";
  state->shape = {2, kBytes / 8};
  state->upkeep = std::make_unique<schema::UpkeepT>();
  state->upkeep->rebuild = schema::Rebuild::Run;
  uint32_t index = uint32_t(g.tables.states.size());
  g.tables.states.push_back(std::move(state));
  uint64_t begin = (g.plan().state_bytes + 63) / 64 * 64;
  g.plan().state_offsets.push_back(begin);
  g.plan().state_bytes = begin + kBytes;
  for (auto &program : g.plan().programs) {
    if (program->kind != schema::ProgramKind::Prefill)
      continue;
    schema::DispatchT &first = *program->commands[0].AsDispatch();
    ASSERT_EQ(g.plan().kernels[first.kernel]->kind, "embed");
    first.bindings[2] = uint32_t(program->places.size());
    program->places.push_back(
        schema::Place(schema::Space::State, index, fixed(0), fixed(kBytes)));
  }
}

/// Makes kernels only read `accepted` in prompts' programs.
static void readAccepted(Golden &g) {
  uint32_t accepted = g.state("accepted");
  for (auto &program : g.plan().programs)
    for (auto &command : program->commands) {
      schema::DispatchT *dispatch = command.AsDispatch();
      if (!dispatch || program->kind != schema::ProgramKind::Prefill)
        continue;
      auto &contract = g.plan().kernels[dispatch->kernel]->contract;
      if (!contract) // a builtin
        continue;
      auto &buffers = contract->buffers;
      for (size_t i = 0; i < dispatch->bindings.size(); ++i) {
        const schema::Place &place = program->places[dispatch->bindings[i]];
        if (place.space() == schema::Space::State && place.index() == accepted)
          buffers[i]->written = false;
      }
    }
}

TEST(Contract, HoldsWhatPromptsFold) {
  EXPECT_EQ(messageWith(carryState),
            "expected a program that reads 'accepted' before it writes "
            "'carried', got one of a compiler that took one row for granted: "
            "compile the model again");
  // Without `accepted`, one row is always folded.
  EXPECT_EQ(messageWith([](Golden &g) {
              carryState(g);
              g.tables.states[g.state("accepted")]->name = "others";
            }),
            "");
  // This state is written after a command that only writes `accepted`.
  auto runHidden = [](Golden &g) {
    g.tables.states[g.state("hidden")]->upkeep->rebuild = schema::Rebuild::Run;
  };
  EXPECT_NE(messageWith(runHidden).find("before it writes 'hidden'"),
            std::string::npos);
  EXPECT_EQ(messageWith([&](Golden &g) {
              runHidden(g);
              readAccepted(g);
            }),
            "");
}

/// A fake model whose contracts are still empty, and the first binding of a
/// state from some byte on, with its kernel.
struct FakeRows {
  FakeRows() {
    FakeOptions options;
    options.hasRanges = options.hasAudit = true;
    file = makeFakeModel(options);
  }
  std::pair<Binding *, ArtifactBuilder::Kernel *>
  find(std::string_view state, uint64_t offset, uint32_t &index) {
    for (ArtifactBuilder::Program &program : file.programs)
      for (ArtifactBuilder::Command &command : program.commands)
        for (index = 0; index < command.bindings.size(); ++index) {
          Binding &b = command.bindings[index];
          if (b.space == schema::Space::State && b.offset == offset &&
              file.states[b.index].name == state)
            return {&b, &file.kernels[command.kernel]};
        }
    std::abort();
  }
  std::string message() const {
    AlignedBytes bytes(file.finish());
    return ArtifactFile::fromMemory(bytes.span()).status().toString();
  }
  ArtifactBuilder file;
};

TEST(Contract, HoldsRowsOfPrompts) {
  FakeRows fake;
  EXPECT_EQ(fake.message(), "Ok");
  uint32_t index;
  Binding &b = *fake.find("prompt_tokens", 32, index).first;
  b = Binding(b.space, b.index, 28, b.bytes);
  EXPECT_NE(fake.message().find("expected rows of 32 bytes, those of "
                                "'prompt_tokens' in the envelope, got "),
            std::string::npos)
      << fake.message();
}

TEST(Contract, HoldsSizesOfStates) {
  // A kernel for three of four slots, and one for all slots.
  for (int64_t slots : {3, 4}) {
    FakeRows fake;
    uint32_t index;
    auto *kernel = fake.find("out_count", 0, index).second;
    kernel->bytes[index] = {schema::Term(4 * slots, 255, 255)};
    std::string message = fake.message();
    EXPECT_EQ(message.find("'out_count': expected programs that use all of its "
                           "16 bytes, which follow from the envelope, got 12 "
                           "bytes") == std::string::npos,
              slots == 4)
        << message;
  }
}

TEST(Contract, HoldsTasks) {
  EXPECT_NE(messageWith([](Golden &g) {
              g.kernel("embed").contract->tasks = uint64_t(1) << 40;
            }).find("tasks: expected no more than the "),
            std::string::npos);
  EXPECT_NE(messageWith([](Golden &g) {
              g.kernel("linear").contract->tasks = UINT64_MAX;
            }).find(" for these params do not fit 64 bits"),
            std::string::npos);
}

TEST(Contract, ZerosStandBetweenTablesAndSegments) {
  std::vector<uint8_t> file = goldenFile();
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  size_t gap = header.programOffset + header.programSize + 8;
  ASSERT_LT(gap, segmentBase(header.programOffset, header.programSize));
  file[gap] = 7;
  AlignedBytes bytes(file);
  EXPECT_EQ(ArtifactFile::fromMemory(bytes.span()).status().message(),
            "expected zeros between tables and segments, got 7 at byte " +
                std::to_string(gap));
}

static std::vector<int32_t> generate(Session &session) {
  Request request;
  request.prompt = {9, 8, 7, 6, 5};
  request.maxTokens = 8;
  request.ignoreEos = true;
  SequenceId id = *session.add(request);
  while (!session.idle())
    if (!session.step())
      return {};
  auto output = *session.output(id);
  return {output.begin(), output.end()};
}

TEST(Contract, TablesAreNotReadFromTheFileAgain) {
  std::string path = writeFile("tables", goldenFile());
  auto model = Model::load(path);
  ASSERT_TRUE(model.isOk()) << model.status().toString();
  auto session = Session::create(*model, {});
  ASSERT_TRUE(session.isOk());
  std::vector<int32_t> before = generate(**session);
  FileHeader header;
  std::vector<uint8_t> file = goldenFile();
  std::memcpy(&header, file.data(), sizeof(header));
  {
    // In place: the mapping sees it.
    std::fstream changed(path, std::ios::binary | std::ios::in | std::ios::out);
    std::vector<char> ones(header.programSize, char(0x7f));
    changed.seekp(std::streamoff(header.programOffset));
    changed.write(ones.data(), std::streamsize(ones.size()));
  }
  EXPECT_EQ(before.size(), 8u);
  EXPECT_EQ(generate(**session), before);
}
