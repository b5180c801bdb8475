//===- ParallelReader.cpp - Drafters of all positions in one pass ---------===//
//
// PARD (AMD-AGI/PARD's pard_infer.py) is a language model that was tuned to
// fill masks. All masks are one token, at natural positions, and attention is
// causal. P-EAGLE (speculators' peagle; vLLM's llama_eagle3.py with parallel
// drafting) is EAGLE-3's network. A mask has one learned row in place of the
// taps.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/drafters/DrafterReaders.h"

namespace mtp::importer {

namespace {

constexpr int64_t kMostDepths = 1024;

/// Reads the mask token. It must be in the target's vocabulary, because no
/// other token is a useful draft.
Status readMask(DrafterSource &source, const char *key,
                DrafterFolder &drafter) {
  drafter.parallel.maskToken =
      int32_t(source.fields.integer(key, 0, source.target.vocab - 1));
  drafter.notes.push_back("masks are the token " +
                          std::to_string(drafter.parallel.maskToken) + " (" +
                          key + ")");
  return source.fields.status();
}

} // namespace

Status readPard(DrafterSource &source, DrafterFolder &drafter) {
  source.fields.expectText("spd_type", "pard");
  // PARD-2 adds features of the target to embeddings.
  if (source.contains("target_proj.weight") ||
      source.contains("model.target_proj.weight"))
    return unimplemented("expected a PARD drafter that reads tokens alone, got "
                         "\"target_proj.weight\" of PARD-2");
  MTP_RETURN_IF_ERROR(source.fields.status());
  MTP_RETURN_IF_ERROR(readDraftModel(source, drafter));
  return readMask(source, "pard_token", drafter);
}

Status readPEagle(DrafterSource &source, DrafterFolder &drafter) {
  ConfigFields &fields = source.fields;
  MTP_RETURN_IF_ERROR(readEagle3(source, drafter));
  ParallelConfig &parallel = drafter.parallel;
  parallel.maskHidden = "mask_hidden";
  if (source.contains("model.mask_hidden"))
    parallel.maskHidden = "model.mask_hidden";
  // speculators' name of the key, then names of its first files and of vLLM.
  const char *key = "mask_token_id";
  for (const char *other : {"ptd_token_id", "pard_token"})
    if (!fields.has("mask_token_id") && fields.has(other))
      key = other;
  for (const char *depths : {"para_num", "para_depths", "num_depths"})
    if (fields.has(depths))
      parallel.depths = fields.integer(depths, 1, kMostDepths);
  return readMask(source, key, drafter);
}

} // namespace mtp::importer
