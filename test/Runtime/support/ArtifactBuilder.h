//===- ArtifactBuilder.h - Artifacts without a compiler ---------*- C++ -*-===//

#ifndef MTP_TEST_RUNTIME_SUPPORT_ARTIFACTBUILDER_H
#define MTP_TEST_RUNTIME_SUPPORT_ARTIFACTBUILDER_H

#include "runtime/artifact/Artifact.h"
#include "runtime/schema/ArtifactFormat.h"
#include "runtime/schema/mtp_artifact_generated.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mtp::test {

/// Collects the parts of an artifact in plain structs, similar to FlatBuffers'
/// object API. A test may spoil them before it calls finish().
class ArtifactBuilder {
public:
  /// Launch parameters of a kernel on a GPU.
  struct Launch {
    uint32_t threads = 32, sharedBytes = 0;
    bool takesActive = false;
  };
  /// A kernel. A kernel of an image has a contract: a task for each unit of
  /// params[0], and bytes of its buffers by index.
  struct Kernel {
    std::string symbol;
    int32_t image = 0;
    uint32_t buffers = 0;
    uint32_t params = 0;
    std::map<uint32_t, std::vector<schema::Term>> bytes;
    uint8_t alignment = 0;
    std::optional<Launch> launch;
  };
  /// Growth of a command's numbers, which are given for the smallest n. May be
  /// left out.
  struct Growth {
    int64_t offset = 0, bytes = 0;
  };
  struct Command {
    uint32_t kernel = 0;
    std::vector<Binding> bindings;
    std::vector<int64_t> params;
    std::vector<Growth> bindingGrowth;
    std::vector<int64_t> paramGrowth;
    /// Place of the number of active rows.
    std::optional<Binding> live;
  };
  struct Port {
    std::string name;
    Binding binding;
    schema::DType dtype = schema::DType::F32;
    std::vector<uint64_t> shape;
    Growth bindingGrowth;
    std::vector<int64_t> shapeGrowth;
    schema::PortRows of = schema::PortRows::None;
  };
  /// Flags of schema::CpuStep for each command, from n = `begin` on.
  struct Schedule {
    uint32_t begin = 0;
    std::vector<uint8_t> steps;
  };
  struct Program {
    std::string name;
    schema::ProgramKind kind = schema::ProgramKind::Function;
    uint32_t batch = 0, k = 0, chunk = 0;
    /// Only for a prefill.
    bool drafts = false;
    uint32_t sequences = 1;
    /// For a decode program with rows below this number of positions.
    uint32_t positions = 0;
    /// The first command of a decode program's second half.
    uint32_t cut = 0;
    /// Number of prompt rows of a mixed batch.
    uint32_t prompts = 0;
    /// Reach of a prefill for drafters that catch up.
    uint32_t catchUp = 0;
    /// The first command that only requested outputs need.
    uint32_t onRequest = 0;
    uint64_t arenaBytes = 0;
    std::vector<Command> commands;
    std::vector<Port> inputs, outputs;
    /// Exclusive upper bound of n; 0: a single n.
    uint32_t end = 0;
    int64_t arenaGrowth = 0;
    std::vector<Schedule> schedules;

    uint32_t begin() const {
      return kind == schema::ProgramKind::Decode ? batch : chunk;
    }
  };
  /// A plan for another machine, placed before the CPU's plan and with its
  /// programs.
  struct OtherPlan {
    std::string arch;
    /// Segment of all its images.
    uint32_t segment = 0;
  };
  struct Upkeep {
    bool shared = false;
    double init = 0;
    schema::Rebuild rebuild = schema::Rebuild::Rows;
    uint32_t rows = 1;
    bool input = false;
  };
  struct State {
    std::string name;
    schema::DType dtype = schema::DType::I32;
    std::vector<uint64_t> shape;
    uint64_t offset = 0;
    Upkeep upkeep;
  };
  struct Cache {
    std::string name;
    uint32_t layers = 1, entryWidth = 0;
    schema::DType dtype = schema::DType::I32;
  };
  struct Segment {
    schema::SegmentKind kind = schema::SegmentKind::Weights;
    uint64_t offset = 0;
    std::vector<uint8_t> bytes;
  };
  struct Blob {
    std::string name;
    uint32_t segment = 0;
    uint64_t offset = 0, size = 0;
    schema::DType dtype = schema::DType::F32;
    std::vector<uint64_t> shape;
    schema::BlobFormat format = schema::BlobFormat::Elements;
    uint32_t group = 0, inputs = 0;
    schema::BlobScales scales = schema::BlobScales::F32;
    bool hasOffset = false;
  };
  struct Envelope {
    uint32_t maxK = 0, maxBatch = 0, maxContext = 0, chunk = 0, page = 0,
             vocab = 0, maxNodes = 0, maxRows = 0;
    std::vector<int32_t> tree = {};
  };

  /// Adds a zeroed buffer after the others, with 4 bytes per element.
  uint32_t addState(const std::string &name, std::vector<uint64_t> shape,
                    schema::DType dtype, const Upkeep &upkeep);
  uint32_t addState(const std::string &name, std::vector<uint64_t> shape,
                    schema::DType dtype = schema::DType::I32) {
    return addState(name, std::move(shape), dtype, Upkeep());
  }
  uint32_t addSegment(schema::SegmentKind kind, std::vector<uint8_t> bytes);
  /// Returns the index of a kernel of image 0 (or of a builtin), added on first
  /// use.
  uint32_t kernel(const std::string &symbol, uint32_t buffers, uint32_t params);

  /// Returns the FlatBuffer alone, or the whole file.
  std::vector<uint8_t> program() const;
  std::vector<uint8_t> finish() const;

  /// False: the artifact has no plan for the CPU.
  bool hasCpuPlan = true;
  std::vector<OtherPlan> otherPlans;
  std::string arch = "x86_64", cpu = "generic";
  /// Format of all images of the CPU's plan, and the segment of the same
  /// kernels as PTX, or -1.
  schema::ImageFormat imageFormat = schema::ImageFormat::ElfShared;
  int32_t ptx = -1;
  /// Only for plans for a GPU.
  int32_t deviceLoop = 0;
  std::vector<std::string> features;
  bool hasEnvelope = true;
  Envelope envelope;
  std::vector<int32_t> eos;
  int32_t bos = -1;
  float temperature = 0, topP = 1;
  std::vector<Cache> caches;
  std::vector<State> states;
  uint64_t stateBytes = 0, arenaBytes = 0, scratchBytes = 0;
  std::vector<Segment> segments;
  std::vector<uint32_t> images;
  std::vector<Kernel> kernels;
  std::vector<Blob> weights, constants;
  std::vector<Program> programs;
  int32_t tokenizer = -1;
  /// Names and sources of chat templates, and their tokens. Without templates
  /// there is no chat.
  std::vector<std::pair<std::string, std::string>> chatTemplates, chatTokens;
  /// Drafting method and accept rule; empty: absent.
  std::optional<std::string> method, rule;
  bool isLossy = false;
};

/// Makes one program from two with the same commands, for the smallest and the
/// largest n. All numbers must grow linearly between them; otherwise aborts.
ArtifactBuilder::Program mergeRange(const ArtifactBuilder::Program &least,
                                    const ArtifactBuilder::Program &largest);

/// Recomputes the seal of a file whose header or FlatBuffer was changed.
void reseal(std::vector<uint8_t> &file);

/// A copy of bytes at an address that ArtifactFile::fromMemory accepts.
class AlignedBytes {
public:
  explicit AlignedBytes(const std::vector<uint8_t> &bytes);
  AlignedBytes(const AlignedBytes &) = delete;
  ~AlignedBytes();
  std::span<const uint8_t> span() const { return {data, size}; }

private:
  uint8_t *data;
  size_t size;
};

} // namespace mtp::test

#endif // MTP_TEST_RUNTIME_SUPPORT_ARTIFACTBUILDER_H
