//===- DrafterReaders.h - One reader per drafting method --------*- C++ -*-===//
//
// Private to DrafterFolder.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_DRAFTERREADERS_H
#define MTP_COMPILER_IMPORT_DRAFTERREADERS_H

#include "compiler/Import/ConfigFields.h"
#include "compiler/Import/DrafterFolder.h"

namespace mtp::importer {

/// What a reader goes by: keys, and tensors if these are there.
struct DrafterSource {
  ConfigFields &fields;
  const WeightSet *weights;
  const ModelConfig &target;

  bool contains(const std::string &key) const {
    return weights && weights->contains(key);
  }
};

// Each fills in what its method has, and checks it against the target.
Status readEagle(DrafterSource &source, DrafterFolder &drafter);
Status readEagle3(DrafterSource &source, DrafterFolder &drafter);
Status readMedusa(DrafterSource &source, DrafterFolder &drafter);
Status readDraftModel(DrafterSource &source, DrafterFolder &drafter);
Status readBlock(DrafterSource &source, DrafterFolder &drafter);
Status readPard(DrafterSource &source, DrafterFolder &drafter);
Status readHeads(DrafterSource &source, DrafterFolder &drafter);
Status readPEagle(DrafterSource &source, DrafterFolder &drafter);

/// Whether it is in the speculators' format.
bool isSpeculators(const DrafterSource &source);
/// The plain config of the layers, which speculators has in one of its own.
Status readLayers(DrafterSource &source, DrafterFolder &drafter);
/// Fails where layers are recurrent.
Status refuseRecurrence(const DrafterFolder &drafter);
/// Biases and norms of attention, which configs leave out and files show.
void findBiases(const DrafterSource &source, DrafterFolder &drafter);
/// Says where the drafter's rotary embedding is not the target's.
void noteRope(const DrafterSource &source, DrafterFolder &drafter);
/// The vocabulary, and a width of the target that the drafter says.
Status checkCommon(const DrafterSource &source, const DrafterFolder &drafter);

/// Streams that are tapped where a config says none, and in words.
struct TapDefaults {
  std::vector<int64_t> taps;
  std::string_view meaning;
};
/// Reads the taps, checks that the target has them, and says by which
/// convention they were counted.
Status readTaps(DrafterSource &source, DrafterFolder &drafter,
                const TapDefaults &absent);
/// Checks that the projection of the taps has columns for all of them.
Status checkTapWidth(const DrafterSource &source, const DrafterFolder &drafter);
/// The columns of a head of its own, and the tokens that they stand for.
Status readVocabulary(DrafterSource &source, DrafterFolder &drafter);

/// "expected the target's WHAT N, got M", for `key` of the drafter's config.
Status checkEqual(const char *key, int64_t own, int64_t target);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_DRAFTERREADERS_H
