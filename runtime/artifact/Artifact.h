//===- Artifact.h - What a file holds ---------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_ARTIFACT_ARTIFACT_H
#define MTP_RUNTIME_ARTIFACT_ARTIFACT_H

#include "runtime/artifact/StateRule.h"
#include "runtime/schema/mtp_artifact_generated.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace mtp {

template <typename T>
using Tables = flatbuffers::Vector<flatbuffers::Offset<T>>;

/// A number that grows with n, the slots of a round or the rows of a chunk.
struct Count {
  int64_t base = 0;
  int64_t step = 0;

  /// The verifier has made sure that it fits for every n of its program.
  int64_t at(uint64_t n) const { return base + step * int64_t(n); }
  bool isFixed() const { return step == 0; }
  bool operator==(const Count &) const = default;
};

/// A place at one n.
struct Binding {
  schema::Space space = schema::Space::Arena;
  uint32_t index = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;

  bool operator==(const Binding &) const = default;
};

/// A place that kernels read or write, see schema::Place.
struct Place {
  schema::Space space = schema::Space::Arena;
  uint32_t index = 0;
  Count offset;
  Count bytes;

  bool operator==(const Place &) const = default;
  Binding at(uint64_t n) const {
    return {space, index, uint64_t(offset.at(n)), uint64_t(bytes.at(n))};
  }
};

/// A call of a kernel; its places and params are in the program's lists.
struct Command {
  uint32_t kernel = 0;
  uint32_t firstPlace = 0;
  uint32_t firstParam = 0;
  /// Place of the number of rows that live; negative: all do.
  int32_t live = -1;
};

/// How the CPU runs a program from some n on: flags of schema::CpuStep, one for
/// each command.
struct CpuSchedule {
  uint32_t begin = 0;
  std::vector<uint8_t> steps;

  bool isSolo(size_t command) const {
    return has(command, schema::CpuStep::Solo);
  }
  bool isJoined(size_t command) const {
    return has(command, schema::CpuStep::Joined);
  }

private:
  bool has(size_t command, schema::CpuStep step) const {
    return (steps[command] & uint8_t(step)) != 0;
  }
};

/// A tensor that goes into or comes out of a program.
struct Port {
  std::string_view name;
  Place place;
  schema::DType dtype = schema::DType::F32;
  std::vector<Count> shape;
  /// Of a declared output, for which requests may ask.
  schema::PortRows of = schema::PortRows::None;

  std::vector<uint64_t> shapeAt(uint64_t n) const {
    std::vector<uint64_t> dims;
    for (Count dim : shape)
      dims.push_back(uint64_t(dim.at(n)));
    return dims;
  }
};

/// A straight list of commands, for begin <= n < end.
struct Program {
  std::string_view name;
  schema::ProgramKind kind = schema::ProgramKind::Function;
  uint32_t begin = 0;
  uint32_t end = 1;
  uint32_t k = 0;
  /// Of a chunk, or of prompts beside a round.
  uint32_t sequences = 0;
  bool drafts = false;
  /// It is for speed where rows are at positions below so many; 0: for any.
  uint32_t positions = 0;
  /// The first command of the second half, where it may stop in front of it; 0:
  /// it may not.
  uint32_t cut = 0;
  /// The first command of what is for outputs that requests ask for alone; 0:
  /// there is none.
  uint32_t onRequest = 0;
  /// Rows of prompts beside those of a round.
  uint32_t prompts = 0;
  /// Of a Prefill for drafters that fell behind, how many positions in front of
  /// the anchor it may begin; 0: it is for prompts.
  uint32_t catchUp = 0;
  /// Whether a library of the GPU's vendor computes some of its products.
  bool callsLibrary = false;
  Count arenaBytes;
  std::vector<Command> commands;
  std::vector<Place> places;
  std::vector<Count> params;
  std::vector<CpuSchedule> schedules;
  std::vector<Port> inputs, outputs;

  bool covers(uint64_t n) const { return n >= begin && n < end; }
  /// Those of its commands that run in any case.
  std::span<const Command> ownCommands() const {
    return std::span(commands).first(onRequest ? onRequest : commands.size());
  }
  std::span<const Place> placesOf(const Command &command,
                                  const schema::Kernel &kernel) const {
    return std::span(places).subspan(command.firstPlace, kernel.buffers());
  }
  std::span<const Count> paramsOf(const Command &command,
                                  const schema::Kernel &kernel) const {
    return std::span(params).subspan(command.firstParam, kernel.params());
  }
  /// Where a command finds how many of its rows live; null where all do.
  const Place *liveOf(const Command &command) const {
    return command.live < 0 ? nullptr : &places[uint32_t(command.live)];
  }
  /// The output of that name, or null.
  const Port *output(std::string_view name) const;
  /// Of a Decode program, the rows of a slot that it verifies; k + 1 where it
  /// does not say it.
  uint32_t windowRows() const;
  /// The CPU's schedule for n; null where nothing is solo or joined.
  const CpuSchedule *scheduleFor(uint64_t n) const;
};

/// The most rows of a slot that a round verifies.
uint32_t mostNodes(const schema::Envelope &envelope);

/// What one machine needs to run the model.
struct Plan {
  const schema::Target *target = nullptr;
  const Tables<schema::Image> *images = nullptr;
  const Tables<schema::Kernel> *kernels = nullptr;
  const Tables<schema::Blob> *weights = nullptr;
  const Tables<schema::Blob> *constants = nullptr;
  const Tables<schema::GemmAlgorithm> *gemmAlgorithms = nullptr;
  /// Indexed like the artifact's states.
  std::vector<uint64_t> stateOffsets;
  uint64_t stateBytes = 0;
  uint64_t arenaBytes = 0;
  uint64_t scratchBytes = 0;
  std::vector<Program> programs;
  /// Of a GPU's plan: the image of the kernels that are no program's; -1: none.
  int32_t deviceLoop = -1;

  const schema::Kernel &kernelOf(const Command &command) const {
    return *kernels->Get(command.kernel);
  }
  bool isGpu() const { return target->arch()->string_view() == "nvptx"; }
  /// What the target calls the processor, a GPU's chip, or a driver; may be
  /// empty.
  std::string_view processor() const;
  /// Into how many tasks a verified command divides with these params.
  int64_t tasksOf(const Command &command, const int64_t *params) const;
};

struct State {
  std::string_view name;
  schema::DType dtype = schema::DType::F32;
  std::vector<uint64_t> shape;
  uint64_t bytes = 0;
  StateRule rule;
};

/// A file's tables, verified. Points into their bytes.
struct Artifact {
  std::string_view producer;
  /// May be null, as its model's name may.
  const flatbuffers::String *model = nullptr;
  const schema::Envelope *envelope = nullptr;
  const schema::Generation *generation = nullptr;
  const Tables<schema::Cache> *caches = nullptr;
  const Tables<schema::Segment> *segments = nullptr;
  /// Index into segments, or -1.
  int32_t tokenizer = -1;
  /// Null: no chat template.
  const schema::Chat *chat = nullptr;
  /// How rounds draft and accept, for people; empty where nothing is said.
  std::string_view method, rule;
  /// Texts have not the target's distribution.
  bool isLossy = false;
  std::vector<State> states;
  /// One at least.
  std::vector<Plan> plans;
  /// Rounds that one launch may have: entries of the state "ring", or 1 in
  /// files without it.
  uint32_t maxRounds = 1;
  /// How many places ahead of its rows a prefill that drafts reads tokens.
  uint32_t ahead = 0;

  /// Bytes that the entries of a page take in one layer of a cache, and from
  /// the page to the next one. A file without an envelope, of functions alone,
  /// has pages of one token.
  uint64_t pageBytes(uint32_t cache) const;
  uint64_t pageStride(uint32_t cache) const;
  /// The index of the state of that name, if there is one.
  std::optional<uint32_t> findState(std::string_view name) const;
};

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_ARTIFACT_H
