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

/// "expected the target's WHAT N, got M", for `key` of the drafter's config.
Status checkEqual(const char *key, int64_t own, int64_t target);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_DRAFTERREADERS_H
