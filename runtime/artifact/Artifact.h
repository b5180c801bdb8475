//===- Artifact.h - The content of a file -----------------------*- C++ -*-===//

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

  /// Returns the value at n. The verifier ensures that it fits for every n of
  /// the program.
  int64_t at(uint64_t n) const { return base + step * int64_t(n); }
  bool isFixed() const { return step == 0; }
  bool operator==(const Count &) const = default;
};

/// A place resolved for one n.
struct Binding {
  schema::Space space = schema::Space::Arena;
  uint32_t index = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;

  bool operator==(const Binding &) const = default;
};

/// Memory that kernels read or write, see schema::Place.
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

/// A call of a kernel. Its places and params are in the program's lists.
struct Command {
  uint32_t kernel = 0;
  uint32_t firstPlace = 0;
  uint32_t firstParam = 0;
  /// Index of the place with the number of active rows; negative: all rows are
  /// active.
  int32_t live = -1;
};

/// How the CPU runs a program from n = `begin` on: schema::CpuStep flags, one
/// for each command.
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

/// An input or output tensor of a program.
struct Port {
  std::string_view name;
  Place place;
  schema::DType dtype = schema::DType::F32;
  std::vector<Count> shape;
  /// Kind of rows of a declared output. Requests may ask for declared
  /// outputs.
  schema::PortRows of = schema::PortRows::None;

  std::vector<uint64_t> shapeAt(uint64_t n) const {
    std::vector<uint64_t> dims;
    for (Count dim : shape)
      dims.push_back(uint64_t(dim.at(n)));
    return dims;
  }
};

/// A list of commands without branches, for begin <= n < end.
struct Program {
  std::string_view name;
  schema::ProgramKind kind = schema::ProgramKind::Function;
  uint32_t begin = 0;
  uint32_t end = 1;
  uint32_t k = 0;
  /// Number of sequences of a chunk, or of prompts in a mixed batch.
  uint32_t sequences = 0;
  bool drafts = false;
  /// Exclusive upper bound of the positions for which the program is fast; 0:
  /// any positions.
  uint32_t positions = 0;
  /// First command of the second half, if the program may stop before it; 0: it
  /// may not stop.
  uint32_t cut = 0;
  /// First command that only computes outputs that requests ask for; 0: none.
  uint32_t onRequest = 0;
  /// Number of prompts in a mixed batch.
  uint32_t prompts = 0;
  /// For a Prefill that refreshes drafters: the maximum number of positions
  /// before the anchor at which it may begin. 0: the program is for prompts.
  uint32_t catchUp = 0;
  /// Whether the GPU vendor's library computes some of its products.
  bool callsLibrary = false;
  Count arenaBytes;
  std::vector<Command> commands;
  std::vector<Place> places;
  std::vector<Count> params;
  std::vector<CpuSchedule> schedules;
  std::vector<Port> inputs, outputs;

  bool covers(uint64_t n) const { return n >= begin && n < end; }
  /// Commands that always run.
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
  /// Returns the place of a command's number of active rows; null if all rows
  /// are active.
  const Place *activeRowsOf(const Command &command) const {
    return command.live < 0 ? nullptr : &places[uint32_t(command.live)];
  }
  /// Returns the output of that name, or null.
  const Port *output(std::string_view name) const;
  /// Returns the number of rows per slot that a Decode program verifies; k + 1
  /// if the program does not say it.
  uint32_t windowRows() const;
  /// Returns the CPU's schedule for n; null if no command is solo or joined.
  const CpuSchedule *scheduleFor(uint64_t n) const;
};

/// Returns the maximum number of rows per slot that a round verifies.
uint32_t mostNodes(const schema::Envelope &envelope);

/// Everything that one machine needs to run the model.
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
  /// Image of a GPU plan's own kernels, which belong to no program; -1: none.
  int32_t deviceLoop = -1;

  const schema::Kernel &kernelOf(const Command &command) const {
    return *kernels->Get(command.kernel);
  }
  bool isGpu() const { return target->arch()->string_view() == "nvptx"; }
  /// Returns the target's name of the processor, a GPU's chip, or a driver; may
  /// be empty.
  std::string_view processor() const;
  /// Returns the number of tasks of a verified command with these params.
  int64_t tasksOf(const Command &command, const int64_t *params) const;
};

struct State {
  std::string_view name;
  schema::DType dtype = schema::DType::F32;
  std::vector<uint64_t> shape;
  uint64_t bytes = 0;
  StateRule rule;
};

/// The verified tables of a file. Points into their bytes.
struct Artifact {
  std::string_view producer;
  /// Name of the model; may be null.
  const flatbuffers::String *model = nullptr;
  const schema::Envelope *envelope = nullptr;
  const schema::Generation *generation = nullptr;
  const Tables<schema::Cache> *caches = nullptr;
  const Tables<schema::Segment> *segments = nullptr;
  /// Index into segments, or -1.
  int32_t tokenizer = -1;
  /// Null: no chat template.
  const schema::Chat *chat = nullptr;
  /// Drafting method and accept rule as text for display; empty if the file
  /// does not contain them.
  std::string_view method, rule;
  /// Whether the accept rule changes the distribution of texts.
  bool isLossy = false;
  std::vector<State> states;
  /// Plans, at least one.
  std::vector<Plan> plans;
  /// Maximum number of rounds of one launch: the entries of the state "ring",
  /// or 1 in files without it.
  uint32_t maxRounds = 1;
  /// How many positions ahead of its rows a drafting prefill reads tokens.
  uint32_t ahead = 0;

  /// Bytes of a page's entries in one layer of a cache, and the distance from
  /// one page to the next. A file without an envelope has functions only and
  /// pages of one token.
  uint64_t pageBytes(uint32_t cache) const;
  uint64_t pageStride(uint32_t cache) const;
  /// Returns the index of the state of that name, if there is one.
  std::optional<uint32_t> findState(std::string_view name) const;
};

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_ARTIFACT_H
