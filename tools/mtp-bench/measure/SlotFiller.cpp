//===- SlotFiller.cpp - Random entries of caches and states ---------------===//

#include "tools/mtp-bench/measure/SlotFiller.h"
#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/schema/KvPage.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace mtp;
using namespace mtp::bench;

/// Returns a uniform value in (-1.7, 1.7), which has unit variance like
/// activations after a norm.
static float randomValue(std::mt19937_64 &random) {
  return (float(random() >> 40) * 0x1p-23f - 1) * 1.7320508f;
}

/// Fills a page with random integers and scales of 0.0115.
static void fillIntegers(std::mt19937_64 &random, uint64_t share,
                         std::vector<uint8_t> &bytes) {
  constexpr uint8_t kByteOfScale = 0x3c;
  for (uint64_t i = 0; i < bytes.size(); ++i)
    bytes[i] =
        i % share + kEntryScaleBytes < share ? uint8_t(random()) : kByteOfScale;
}

/// Returns a page of random entries of `cache`. Elements of types that no
/// current cache has stay zero.
static std::vector<uint8_t> randomPage(std::mt19937_64 &random,
                                       const schema::Cache &cache,
                                       uint64_t tokens) {
  schema::DType type = cache.dtype();
  uint64_t elements = tokens * cache.entry_width();
  std::vector<uint8_t> bytes(elements * dtypeBytes(type));
  if (type == schema::DType::I8)
    fillIntegers(random, cache.entry_width() / std::max(cache.heads(), 1u),
                 bytes);
  for (uint64_t i = 0; i < elements; ++i) {
    float value = randomValue(random);
    if (type == schema::DType::F32)
      std::memcpy(bytes.data() + 4 * i, &value, 4);
    // The upper half of a float is a bf16, little endian.
    if (type == schema::DType::BF16)
      std::memcpy(bytes.data() + 2 * i,
                  reinterpret_cast<const uint8_t *>(&value) + 2, 2);
  }
  return bytes;
}

SlotFiller::SlotFiller(const Artifact &artifact, const EnvelopeInfo &envelope,
                       uint64_t seed)
    : artifact(artifact), envelope(envelope), random(seed),
      pagesOfSlot(uint32_t(
          mtp::pagesPerSlot(envelope.maxContext, envelope.pageTokens))) {}

Status SlotFiller::start(Executable &loaded, uint32_t slots) {
  executable = &loaded;
  filled.assign(slots, 0);
  for (uint32_t i = 0; i < vectorSize(artifact.caches); ++i) {
    const schema::Cache *cache = artifact.caches->Get(i);
    pages.push_back(randomPage(random, *cache, envelope.pageTokens));
  }
  return fillHidden();
}

Status SlotFiller::fillHidden() {
  for (uint32_t i = 0; i < artifact.states.size(); ++i) {
    std::string_view name = artifact.states[i].name;
    if (name != "hidden" && !name.starts_with("carry_"))
      continue;
    Binding state = wholeState(artifact, i);
    std::vector<float> values(state.bytes / sizeof(float));
    for (float &value : values)
      value = randomValue(random);
    MTP_RETURN_IF_ERROR(executable->write(state, values.data(), state.bytes));
  }
  return okStatus();
}

std::vector<int32_t> SlotFiller::pagesOf(uint32_t slot) const {
  // Page 0 is the dummy page.
  std::vector<int32_t> row(pagesOfSlot);
  std::iota(row.begin(), row.end(), int32_t(1 + slot * pagesOfSlot));
  return row;
}

Status SlotFiller::fill(uint32_t slot, uint32_t tokens) {
  uint32_t page = envelope.pageTokens;
  uint32_t needed = std::min((tokens + page - 1) / page, pagesOfSlot);
  for (; filled[slot] < needed; ++filled[slot])
    for (uint32_t cache = 0; cache < pages.size(); ++cache)
      for (uint32_t l = 0; l < artifact.caches->Get(cache)->layers(); ++l)
        MTP_RETURN_IF_ERROR(executable->writePage(
            cache, l, 1 + slot * pagesOfSlot + filled[slot],
            pages[cache].data()));
  return okStatus();
}

std::vector<int32_t> SlotFiller::tokens(uint32_t count) {
  std::vector<int32_t> tokens(count);
  for (int32_t &token : tokens)
    token = int32_t(random() % envelope.vocab);
  return tokens;
}
