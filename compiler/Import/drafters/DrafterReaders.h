//===- DrafterReaders.h - One reader per drafting method --------*- C++ -*-===//
//
// Private to DrafterFolder.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_DRAFTERS_DRAFTERREADERS_H
#define MTP_COMPILER_IMPORT_DRAFTERS_DRAFTERREADERS_H

#include "compiler/Import/config/ConfigFields.h"
#include "compiler/Import/drafters/DrafterFolder.h"

namespace mtp::importer {

/// The input of a reader: the config's keys, and the weights if there are any.
struct DrafterSource {
  ConfigFields &fields;
  const WeightSet *weights;
  const ModelConfig &target;

  bool contains(const std::string &key) const {
    return weights && weights->contains(key);
  }
};

// Each function reads one method's config and weights, and checks them against
// the target.
Status readEagle(DrafterSource &source, DrafterFolder &drafter);
Status readEagle3(DrafterSource &source, DrafterFolder &drafter);
Status readMedusa(DrafterSource &source, DrafterFolder &drafter);
Status readDraftModel(DrafterSource &source, DrafterFolder &drafter);
Status readBlock(DrafterSource &source, DrafterFolder &drafter);
Status readPard(DrafterSource &source, DrafterFolder &drafter);
Status readHeads(DrafterSource &source, DrafterFolder &drafter);
Status readPEagle(DrafterSource &source, DrafterFolder &drafter);

/// Returns true if the drafter is in the speculators format.
bool isSpeculators(const DrafterSource &source);
/// Reads the config of the layers. Speculators nests it in a config of its own.
Status readLayers(DrafterSource &source, DrafterFolder &drafter);
/// Fails if a layer is recurrent.
Status refuseRecurrence(const DrafterFolder &drafter);
/// Sets the biases and norms of attention from the weights, because configs
/// omit them.
void findBiases(const DrafterSource &source, DrafterFolder &drafter);
/// Adds a note if the drafter's rotary embedding differs from the target's.
void noteRope(const DrafterSource &source, DrafterFolder &drafter);
/// Checks the vocabulary, and the target's width if the drafter's config gives
/// it.
Status checkCommon(const DrafterSource &source, const DrafterFolder &drafter);

/// The taps of a config without taps, and their description.
struct TapDefaults {
  std::vector<int64_t> taps;
  std::string_view meaning;
};
/// Reads the taps, checks that the target has them, and adds a note with the
/// convention by which they were counted.
Status readTaps(DrafterSource &source, DrafterFolder &drafter,
                const TapDefaults &absent);
/// Checks that the projection of the taps has columns for all taps.
Status checkTapWidth(const DrafterSource &source, const DrafterFolder &drafter);
/// Reads the columns of the drafter's own head and the token of each column.
Status readVocabulary(DrafterSource &source, DrafterFolder &drafter);

/// Returns the error "expected the target's WHAT N, got M" for `key` of the
/// drafter's config, unless the numbers are equal.
Status checkEqual(const char *key, int64_t own, int64_t target);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_DRAFTERS_DRAFTERREADERS_H
