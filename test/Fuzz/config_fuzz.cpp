//===- config_fuzz.cpp - Any bytes as config.json -------------------------===//

#include "compiler/Import/config/ConfigReader.h"

#include <cstdint>
#include <cstdlib>

using namespace mtp::importer;

static bool isValid(const AttentionConfig &attention) {
  if (attention.gqa.has_value() == attention.mla.has_value())
    return false;
  bool hasHeads =
      attention.heads > 0 &&
      (attention.mla || (attention.gqa->kvHeads > 0 &&
                         attention.heads % attention.gqa->kvHeads == 0));
  return hasHeads && attention.rope.dim % 2 == 0;
}

static bool isValid(const RecurrenceConfig &recurrence) {
  return recurrence.keyHeads > 0 && recurrence.heads > 0 &&
         recurrence.heads % recurrence.keyHeads == 0;
}

static bool isValid(const LayerConfig &layer) {
  const MixerConfig &mixer = layer.mixer;
  if (mixer.attention.has_value() == mixer.recurrence.has_value())
    return false;
  if (const auto &moe = layer.feed.moe; moe && moe->topK > moe->experts)
    return false;
  return mixer.attention ? isValid(*mixer.attention)
                         : isValid(*mixer.recurrence);
}

/// Checks that an accepted config satisfies the emitters' assumptions.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  mtp::Result<ModelConfig> config = parseModelConfig(text, "");
  if (!config)
    return 0;
  bool valid = !config->layers.empty();
  for (const LayerConfig &layer : config->layers)
    valid &= isValid(layer);
  if (config->drafter.modules > 0)
    valid &= isValid(config->drafterLayer);
  if (!valid)
    std::abort();
  return 0;
}
