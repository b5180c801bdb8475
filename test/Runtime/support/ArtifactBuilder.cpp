//===- ArtifactBuilder.cpp - Artifacts without a compiler -----------------===//

#include "ArtifactBuilder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace mtp;
using namespace mtp::test;

using Builder = flatbuffers::FlatBufferBuilder;

uint32_t ArtifactBuilder::addState(const std::string &name,
                                   std::vector<uint64_t> shape,
                                   schema::DType dtype, const Upkeep &upkeep) {
  uint64_t bytes = 4;
  for (uint64_t dim : shape)
    bytes *= dim;
  states.push_back({name, dtype, std::move(shape), stateBytes, upkeep});
  stateBytes = alignTo(stateBytes + bytes, kBufferAlignment);
  return uint32_t(states.size() - 1);
}

uint32_t ArtifactBuilder::addSegment(schema::SegmentKind kind,
                                     std::vector<uint8_t> bytes) {
  uint64_t offset = 0;
  if (!segments.empty())
    offset = alignTo(segments.back().offset + segments.back().bytes.size(),
                     kSegmentAlignment);
  segments.push_back({kind, offset, std::move(bytes)});
  return uint32_t(segments.size() - 1);
}

uint32_t ArtifactBuilder::kernel(const std::string &symbol, uint32_t buffers,
                                 uint32_t params) {
  for (uint32_t i = 0; i < kernels.size(); ++i)
    if (kernels[i].symbol == symbol)
      return i;
  bool builtin = symbol.rfind("mtp.", 0) == 0;
  kernels.push_back({symbol, builtin ? -1 : 0, buffers, params, {}, 0, {}});
  return uint32_t(kernels.size() - 1);
}

template <typename T, typename F>
static auto vectorOf(Builder &fbb, const std::vector<T> &items, F make) {
  std::vector<decltype(make(items[0]))> offsets;
  for (const T &item : items)
    offsets.push_back(make(item));
  return fbb.CreateVector(offsets);
}

static auto blobs(Builder &fbb,
                  const std::vector<ArtifactBuilder::Blob> &items) {
  return vectorOf(fbb, items, [&](const ArtifactBuilder::Blob &b) {
    return schema::CreateBlob(fbb, fbb.CreateString(b.name), b.segment,
                              b.offset, b.size, b.dtype,
                              fbb.CreateVector(b.shape), b.format, b.group,
                              b.inputs, b.scales, b.hasOffset);
  });
}

static auto states(Builder &fbb,
                   const std::vector<ArtifactBuilder::State> &items) {
  return vectorOf(fbb, items, [&](const ArtifactBuilder::State &s) {
    auto upkeep =
        schema::CreateUpkeep(fbb, s.upkeep.shared, s.upkeep.init,
                             s.upkeep.rebuild, s.upkeep.rows, s.upkeep.input);
    return schema::CreateState(fbb, fbb.CreateString(s.name), s.dtype,
                               fbb.CreateVector(s.shape), upkeep);
  });
}

static auto caches(Builder &fbb,
                   const std::vector<ArtifactBuilder::Cache> &items) {
  return vectorOf(fbb, items, [&](const ArtifactBuilder::Cache &c) {
    return schema::CreateCache(fbb, fbb.CreateString(c.name), c.layers,
                               c.entryWidth, c.dtype);
  });
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Returns a count with a given value at `n` and a given growth. Both wrap
/// around if a test spoils them.
static schema::Count count(uint64_t value, int64_t growth, uint32_t n) {
  return schema::Count(int64_t(value - uint64_t(growth) * n), growth);
}

using Growth = ArtifactBuilder::Growth;

static schema::Place place(const Binding &b, Growth growth, uint32_t n) {
  return schema::Place(b.space, b.index, count(b.offset, growth.offset, n),
                       count(b.bytes, growth.bytes, n));
}

template <typename T>
static T at(const std::vector<T> &items, size_t index) {
  return index < items.size() ? items[index] : T();
}

static auto planPorts(Builder &fbb,
                      const std::vector<ArtifactBuilder::Port> &items,
                      uint32_t n) {
  return vectorOf(fbb, items, [&](const ArtifactBuilder::Port &port) {
    schema::Place where = place(port.binding, port.bindingGrowth, n);
    std::vector<schema::Count> shape;
    for (size_t d = 0; d < port.shape.size(); ++d)
      shape.push_back(count(port.shape[d], at(port.shapeGrowth, d), n));
    return schema::CreatePlanPort(fbb, fbb.CreateString(port.name), &where,
                                  port.dtype, fbb.CreateVectorOfStructs(shape),
                                  port.of);
  });
}

static auto planProgram(Builder &fbb, const ArtifactBuilder::Program &p) {
  uint32_t n = p.begin();
  std::vector<schema::Place> places;
  std::vector<uint8_t> actions;
  std::vector<flatbuffers::Offset<void>> commands;
  for (const ArtifactBuilder::Command &c : p.commands) {
    std::vector<uint32_t> bindings;
    for (size_t i = 0; i < c.bindings.size(); ++i) {
      bindings.push_back(uint32_t(places.size()));
      places.push_back(place(c.bindings[i], at(c.bindingGrowth, i), n));
    }
    std::vector<schema::Count> params;
    for (size_t i = 0; i < c.params.size(); ++i)
      params.push_back(count(uint64_t(c.params[i]), at(c.paramGrowth, i), n));
    auto bindingVector = fbb.CreateVector(bindings);
    auto paramVector = fbb.CreateVectorOfStructs(params);
    int32_t live = -1;
    if (c.live) {
      live = int32_t(places.size());
      places.push_back(place(*c.live, Growth(), n));
    }
    commands.push_back(
        schema::CreateDispatch(fbb, c.kernel, bindingVector, paramVector, live)
            .Union());
    actions.push_back(uint8_t(schema::Action::Dispatch));
  }
  auto cpu = vectorOf(fbb, p.schedules,
                      [&](const ArtifactBuilder::Schedule &schedule) {
                        return schema::CreateCpuSchedule(
                            fbb, schedule.begin,
                            fbb.CreateVectorScalarCast<schema::CpuStep>(
                                schedule.steps.data(), schedule.steps.size()));
                      });
  schema::Count arena = count(p.arenaBytes, p.arenaGrowth, n);
  bool isPrefill = p.kind == schema::ProgramKind::Prefill;
  auto name = fbb.CreateString(p.name);
  auto placeVector = fbb.CreateVectorOfStructs(places);
  auto actionVector = fbb.CreateVectorScalarCast<schema::Action>(
      actions.data(), actions.size());
  auto commandVector = fbb.CreateVector(commands);
  auto inputs = planPorts(fbb, p.inputs, n);
  auto outputs = planPorts(fbb, p.outputs, n);
  return schema::CreatePlanProgram(
      fbb, name, p.kind, n, p.end ? p.end : n + 1, p.k,
      isPrefill || p.prompts ? p.sequences : 0, isPrefill && p.drafts, &arena,
      placeVector, actionVector, commandVector, cpu, inputs, outputs,
      p.positions, p.cut, p.prompts, p.catchUp, p.onRequest);
}

/// Returns the cache that some command passes to kernel `index` as its buffer,
/// or null.
static const ArtifactBuilder::Cache *cacheOf(const ArtifactBuilder &a,
                                             uint32_t index, uint32_t buffer) {
  for (const ArtifactBuilder::Program &program : a.programs)
    for (const ArtifactBuilder::Command &command : program.commands)
      if (command.kernel == index && buffer < command.bindings.size() &&
          command.bindings[buffer].space == schema::Space::Kv &&
          command.bindings[buffer].index < a.caches.size())
        return &a.caches[command.bindings[buffer].index];
  return nullptr;
}

static flatbuffers::Offset<schema::Contract>
contract(Builder &fbb, const ArtifactBuilder &a, uint32_t index) {
  const ArtifactBuilder::Kernel &k = a.kernels[index];
  if (k.image < 0)
    return 0;
  std::vector<flatbuffers::Offset<schema::BufferContract>> buffers;
  for (uint32_t i = 0; i < k.buffers; ++i) {
    flatbuffers::Offset<schema::CacheContract> cache;
    if (const ArtifactBuilder::Cache *given = cacheOf(a, index, i))
      cache = schema::CreateCacheContract(fbb, a.envelope.page,
                                          given->entryWidth, 1, given->dtype);
    auto bytes = k.bytes.find(i);
    auto terms = fbb.CreateVectorOfStructs(
        bytes == k.bytes.end() ? std::vector<schema::Term>() : bytes->second);
    buffers.push_back(schema::CreateBufferContract(fbb, terms, false,
                                                   k.alignment, false, cache));
  }
  auto bufferVector = fbb.CreateVector(buffers);
  std::vector<schema::ParamContract> params(
      k.params, schema::ParamContract(INT64_MIN, INT64_MAX));
  auto paramVector = fbb.CreateVectorOfStructs(params);
  return schema::CreateContract(fbb, bufferVector, paramVector, 1, 1);
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// Returns the growth of a number per n.
static int64_t slope(uint64_t least, uint64_t largest, uint32_t steps) {
  int64_t difference = int64_t(largest - least);
  if (difference % int64_t(steps))
    std::abort();
  return difference / int64_t(steps);
}

static Growth slope(const Binding &least, const Binding &largest,
                    uint32_t steps) {
  if (least.space != largest.space || least.index != largest.index)
    std::abort();
  return {slope(least.offset, largest.offset, steps),
          slope(least.bytes, largest.bytes, steps)};
}

static void mergePorts(std::vector<ArtifactBuilder::Port> &ports,
                       const std::vector<ArtifactBuilder::Port> &largest,
                       uint32_t steps) {
  for (size_t i = 0; i < ports.size(); ++i) {
    ports[i].bindingGrowth = slope(ports[i].binding, largest[i].binding, steps);
    for (size_t d = 0; d < ports[i].shape.size(); ++d)
      ports[i].shapeGrowth.push_back(
          slope(ports[i].shape[d], largest[i].shape[d], steps));
  }
}

ArtifactBuilder::Program
mtp::test::mergeRange(const ArtifactBuilder::Program &least,
                      const ArtifactBuilder::Program &largest) {
  ArtifactBuilder::Program merged = least;
  merged.end = largest.begin() + 1;
  uint32_t steps = largest.begin() - least.begin();
  if (steps == 0)
    return merged;
  if (least.commands.size() != largest.commands.size())
    std::abort();
  merged.arenaGrowth = slope(least.arenaBytes, largest.arenaBytes, steps);
  for (size_t c = 0; c < merged.commands.size(); ++c) {
    ArtifactBuilder::Command &command = merged.commands[c];
    const ArtifactBuilder::Command &last = largest.commands[c];
    if (command.kernel != last.kernel)
      std::abort();
    for (size_t i = 0; i < command.bindings.size(); ++i)
      command.bindingGrowth.push_back(
          slope(command.bindings[i], last.bindings[i], steps));
    for (size_t i = 0; i < command.params.size(); ++i)
      command.paramGrowth.push_back(
          slope(uint64_t(command.params[i]), uint64_t(last.params[i]), steps));
  }
  mergePorts(merged.inputs, largest.inputs, steps);
  mergePorts(merged.outputs, largest.outputs, steps);
  return merged;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

namespace {
/// The vectors of a plan's parts.
struct PlanTables {
  flatbuffers::Offset<schema::Target> target;
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::Image>>>
      images;
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::Kernel>>>
      kernels;
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<schema::Blob>>>
      weights, constants;
};
} // namespace

static PlanTables planTables(Builder &fbb, const ArtifactBuilder &a,
                             const std::string &arch,
                             const std::vector<uint32_t> &images) {
  PlanTables tables;
  bool isOther = arch != a.arch;
  auto features = fbb.CreateVectorOfStrings(a.features);
  tables.target = schema::CreateTarget(fbb, fbb.CreateString(arch),
                                       fbb.CreateString(a.cpu), features);
  tables.images = vectorOf(fbb, images, [&](uint32_t segment) {
    return isOther ? schema::CreateImage(fbb, schema::ImageFormat::ElfShared,
                                         segment)
                   : schema::CreateImage(fbb, a.imageFormat, segment, a.ptx);
  });
  tables.kernels =
      vectorOf(fbb, a.kernels, [&](const ArtifactBuilder::Kernel &k) {
        auto symbol = fbb.CreateString(k.symbol);
        auto terms = contract(fbb, a, uint32_t(&k - a.kernels.data()));
        flatbuffers::Offset<schema::CudaLaunch> launch;
        if (k.launch && !isOther)
          launch = schema::CreateCudaLaunch(fbb, k.launch->threads,
                                            k.launch->sharedBytes,
                                            k.launch->takesActive);
        return schema::CreateKernel(fbb, symbol, symbol, 0, k.image, k.buffers,
                                    k.params, terms, launch);
      });
  tables.weights = blobs(fbb, a.weights);
  tables.constants = blobs(fbb, a.constants);
  return tables;
}

static bool isGpu(const std::string &arch) { return arch == "nvptx"; }

static flatbuffers::Offset<schema::Plan>
plan(Builder &fbb, const ArtifactBuilder &a, const std::string &arch,
     const std::vector<uint32_t> &images) {
  PlanTables tables = planTables(fbb, a, arch, images);
  std::vector<uint64_t> offsets;
  for (const ArtifactBuilder::State &state : a.states)
    offsets.push_back(state.offset);
  auto offsetVector = fbb.CreateVector(offsets);
  auto programs = vectorOf(fbb, a.programs,
                           [&](const auto &p) { return planProgram(fbb, p); });
  return schema::CreatePlan(
      fbb, tables.target, tables.images, tables.kernels, tables.weights,
      tables.constants, offsetVector, a.stateBytes, a.arenaBytes,
      a.scratchBytes, programs,
      isGpu(arch) && !a.kernels.empty() ? a.deviceLoop : -1);
}

static auto plans(Builder &fbb, const ArtifactBuilder &a) {
  std::vector<flatbuffers::Offset<schema::Plan>> all;
  for (const ArtifactBuilder::OtherPlan &other : a.otherPlans)
    all.push_back(plan(fbb, a, other.arch,
                       std::vector<uint32_t>(a.images.size(), other.segment)));
  if (a.hasCpuPlan)
    all.push_back(plan(fbb, a, a.arch, a.images));
  return fbb.CreateVector(all);
}

static flatbuffers::Offset<schema::Chat> chat(Builder &fbb,
                                              const ArtifactBuilder &a) {
  if (a.chatTemplates.empty())
    return {};
  auto templates = vectorOf(fbb, a.chatTemplates, [&](const auto &one) {
    return schema::CreateChatTemplateDirect(fbb, one.first.c_str(),
                                            one.second.c_str());
  });
  auto tokens = vectorOf(fbb, a.chatTokens, [&](const auto &one) {
    return schema::CreateChatTokenDirect(fbb, one.first.c_str(),
                                         one.second.c_str());
  });
  return schema::CreateChat(fbb, templates, tokens);
}

std::vector<uint8_t> ArtifactBuilder::program() const {
  Builder fbb;
  auto producer = fbb.CreateString("ArtifactBuilder");
  auto model = fbb.CreateString("fake");
  flatbuffers::Offset<schema::Envelope> env;
  auto tree = fbb.CreateVector(envelope.tree);
  if (hasEnvelope)
    env = schema::CreateEnvelope(fbb, envelope.maxK, envelope.maxBatch,
                                 envelope.maxContext, envelope.chunk,
                                 envelope.page, envelope.vocab,
                                 envelope.maxNodes, envelope.maxRows, tree);
  auto generation = schema::CreateGeneration(
      fbb, bos, bos >= 0, fbb.CreateVector(eos), temperature, 0, topP);
  auto cacheList = ::caches(fbb, caches);
  auto stateList = ::states(fbb, states);
  auto segmentList = vectorOf(fbb, segments, [&](const Segment &s) {
    return schema::CreateSegment(fbb, s.kind, s.offset, s.bytes.size(),
                                 hashBytes(s.bytes.data(), s.bytes.size()));
  });
  auto planList = plans(fbb, *this);
  auto line = [&](const std::optional<std::string> &text) {
    return text ? fbb.CreateString(*text)
                : flatbuffers::Offset<flatbuffers::String>();
  };
  auto methodLine = line(method), ruleLine = line(rule);
  schema::FinishArtifactBuffer(
      fbb,
      schema::CreateArtifact(fbb, producer, model, env, generation, cacheList,
                             stateList, segmentList, tokenizer, planList,
                             chat(fbb, *this), methodLine, ruleLine, isLossy));
  return {fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize()};
}

std::vector<uint8_t> ArtifactBuilder::finish() const {
  std::vector<uint8_t> fb = program();
  uint64_t end = 0;
  for (const Segment &segment : segments)
    end = std::max<uint64_t>(end, segment.offset + segment.bytes.size());
  std::vector<uint8_t> file = makeFileFront(fb.data(), fb.size(), end);
  uint64_t base = file.size();
  file.resize(base + end);
  for (const Segment &segment : segments)
    std::copy(segment.bytes.begin(), segment.bytes.end(),
              file.begin() + int64_t(base + segment.offset));
  return file;
}

void mtp::test::reseal(std::vector<uint8_t> &file) {
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  uint64_t sealed = header.programOffset + header.programSize;
  if (sealed < header.programSize || sealed + 8 > file.size())
    return;
  uint64_t seal = hashBytes(file.data(), sealed);
  std::memcpy(file.data() + sealed, &seal, sizeof(seal));
}

AlignedBytes::AlignedBytes(const std::vector<uint8_t> &bytes)
    : data(static_cast<uint8_t *>(
          std::aligned_alloc(64, alignTo(bytes.size() + 1, 64)))),
      size(bytes.size()) {
  std::copy(bytes.begin(), bytes.end(), data);
}

AlignedBytes::~AlignedBytes() { std::free(data); }
