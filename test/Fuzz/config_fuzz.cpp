//===- config_fuzz.cpp - Any bytes as config.json -------------------------===//

#include "compiler/Import/config/ConfigReader.h"

#include <cstdint>
#include <cstdlib>

/// Checks that an accepted config satisfies the emitters' assumptions.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace mtp::importer;
  std::string_view text(reinterpret_cast<const char *>(data), size);
  mtp::Result<ModelConfig> config = parseModelConfig(text, "");
  if (!config)
    return 0;
  bool isOneKind = config->gqa.has_value() != config->mla.has_value();
  bool hasHeads = config->mla || config->heads % config->gqa->kvHeads == 0;
  bool needsExperts = config->drafter.modules > 0 && config->drafterLayer.isMoe;
  for (const LayerKind &layer : config->layers)
    needsExperts |= layer.isMoe;
  if (!isOneKind || !hasHeads || config->layers.empty() ||
      config->rope.dim % 2 != 0 || (needsExperts && !config->moe))
    std::abort();
  return 0;
}
