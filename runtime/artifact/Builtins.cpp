//===- Builtins.cpp - Kernels that the runtime brings ---------------------===//

#include "runtime/artifact/Builtins.h"
#include "runtime/core/StrCat.h"

using namespace mtp;

/// mtp.sample: [logits, slots, positions, sampling, picks] / [M, V, rows].
static Status checkSample(const schema::Artifact &artifact,
                          const schema::Command &command) {
  if (!artifact.envelope())
    return dataLoss("mtp.sample needs an envelope");
  int64_t rows = command.params()->Get(0);
  int64_t vocab = command.params()->Get(1);
  if (rows < 1 || rows > (int64_t(1) << 24))
    return dataLoss(strCat("params[0]: expected a row count, got ", rows));
  if (vocab < 1 || vocab > int64_t(artifact.envelope()->vocab()))
    return dataLoss(strCat("params[1]: expected a vocabulary of at most ",
                           artifact.envelope()->vocab(), ", got ", vocab));
  if (command.tasks() != uint64_t(rows))
    return dataLoss(strCat("expected one task a row, got ", command.tasks(),
                           " for ", rows, " rows"));
  uint64_t slots = artifact.envelope()->max_batch();
  uint64_t need[] = {uint64_t(rows) * uint64_t(vocab) * 4, uint64_t(rows) * 4,
                     uint64_t(rows) * 4, slots * 8 * 4, uint64_t(rows) * 4};
  for (uint32_t i = 0; i < 5; ++i) {
    uint64_t bytes = command.bindings()->Get(i)->bytes();
    if (bytes < need[i])
      return dataLoss(strCat("bindings[", i, "]: expected at least ", need[i],
                             " bytes, got ", bytes));
  }
  return okStatus();
}

static constexpr Builtin kBuiltins[] = {{"mtp.sample", 5, 3, checkSample}};

const Builtin *mtp::findBuiltin(std::string_view name) {
  for (const Builtin &builtin : kBuiltins)
    if (builtin.name == name)
      return &builtin;
  return nullptr;
}
