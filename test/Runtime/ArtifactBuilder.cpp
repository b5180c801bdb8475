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
                                   schema::DType dtype,
                                   std::optional<Upkeep> upkeep) {
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
  kernels.push_back({symbol, builtin ? -1 : 0, buffers, params});
  return uint32_t(kernels.size() - 1);
}

template <typename T, typename F>
static auto vectorOf(Builder &fbb, const std::vector<T> &items, F make) {
  std::vector<decltype(make(items[0]))> offsets;
  for (const T &item : items)
    offsets.push_back(make(item));
  return fbb.CreateVector(offsets);
}

static auto ports(Builder &fbb,
                  const std::vector<ArtifactBuilder::Port> &items) {
  return vectorOf(fbb, items, [&](const ArtifactBuilder::Port &port) {
    return schema::CreatePort(fbb, fbb.CreateString(port.name), &port.binding,
                              port.dtype, fbb.CreateVector(port.shape));
  });
}

static auto command(Builder &fbb, const ArtifactBuilder::Command &c) {
  auto bindings = fbb.CreateVectorOfStructs(c.bindings);
  return schema::CreateCommand(fbb, c.kernel, bindings,
                               fbb.CreateVector(c.params), c.tasks);
}

static auto program(Builder &fbb, const ArtifactBuilder::Program &p) {
  auto name = fbb.CreateString(p.name);
  auto commands =
      vectorOf(fbb, p.commands, [&](const auto &c) { return command(fbb, c); });
  auto inputs = ports(fbb, p.inputs);
  auto outputs = ports(fbb, p.outputs);
  return schema::CreateProgram(fbb, name, p.kind, p.batch, p.k, p.chunk,
                               p.modules, p.arenaBytes, commands, inputs,
                               outputs);
}

static auto blobs(Builder &fbb,
                  const std::vector<ArtifactBuilder::Blob> &items) {
  return vectorOf(fbb, items, [&](const ArtifactBuilder::Blob &b) {
    return schema::CreateBlob(fbb, fbb.CreateString(b.name), b.segment,
                              b.offset, b.size, b.dtype,
                              fbb.CreateVector(b.shape), b.format, b.group,
                              b.inputs);
  });
}

static auto states(Builder &fbb,
                   const std::vector<ArtifactBuilder::State> &items) {
  return vectorOf(fbb, items, [&](const ArtifactBuilder::State &s) {
    flatbuffers::Offset<schema::Upkeep> upkeep;
    if (s.upkeep)
      upkeep = schema::CreateUpkeep(fbb, s.upkeep->shared, s.upkeep->init,
                                    s.upkeep->rebuild, s.upkeep->rows);
    return schema::CreateState(fbb, fbb.CreateString(s.name), s.dtype,
                               fbb.CreateVector(s.shape), s.offset, upkeep);
  });
}

static auto caches(Builder &fbb,
                   const std::vector<ArtifactBuilder::Cache> &items) {
  return vectorOf(fbb, items, [&](const ArtifactBuilder::Cache &c) {
    return schema::CreateCache(fbb, fbb.CreateString(c.name), c.layers,
                               c.entryWidth, c.dtype);
  });
}

std::vector<uint8_t> ArtifactBuilder::program() const {
  Builder fbb;
  auto producer = fbb.CreateString("ArtifactBuilder");
  auto model = fbb.CreateString("fake");
  auto featureList = fbb.CreateVectorOfStrings(features);
  auto target = schema::CreateTarget(fbb, fbb.CreateString(arch),
                                     fbb.CreateString("generic"), featureList);
  flatbuffers::Offset<schema::Envelope> env;
  if (hasEnvelope)
    env = schema::CreateEnvelope(
        fbb, envelope.maxK, envelope.maxBatch, envelope.maxContext,
        envelope.chunk, envelope.page, envelope.vocab, envelope.modules);
  auto generation =
      schema::CreateGeneration(fbb, bos, bos >= 0, fbb.CreateVector(eos),
                               temperature, 0, topP);
  auto cacheList = ::caches(fbb, caches);
  auto stateList = ::states(fbb, states);
  auto segmentList = vectorOf(fbb, segments, [&](const Segment &s) {
    return schema::CreateSegment(fbb, s.kind, s.offset, s.bytes.size(),
                                 hashBytes(s.bytes.data(), s.bytes.size()));
  });
  auto imageList = vectorOf(fbb, images, [&](uint32_t segment) {
    return schema::CreateImage(fbb, schema::ImageFormat::ElfShared, segment);
  });
  auto kernelList = vectorOf(fbb, kernels, [&](const Kernel &k) {
    return schema::CreateKernel(fbb, fbb.CreateString(k.symbol),
                                fbb.CreateString(k.symbol), 0, k.image,
                                k.buffers, k.params);
  });
  auto weightList = blobs(fbb, weights);
  auto constantList = blobs(fbb, constants);
  auto programList = vectorOf(
      fbb, programs, [&](const Program &p) { return ::program(fbb, p); });
  schema::FinishArtifactBuffer(
      fbb,
      schema::CreateArtifact(fbb, producer, model, target, env, generation,
                             cacheList, stateList, stateBytes, arenaBytes,
                             scratchBytes, segmentList, imageList, kernelList,
                             weightList, constantList, programList, tokenizer));
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
