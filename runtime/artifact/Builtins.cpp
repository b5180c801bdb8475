//===- Builtins.cpp - Kernels that the runtime provides -------------------===//

#include "runtime/artifact/Builtins.h"
#include "runtime/schema/SamplingLayout.h"

using namespace mtp;

static constexpr Builtin kBuiltins[] = {
    {"mtp.sample", 5, 3, false},       {"mtp.sample_mapped", 6, 3, false},
    {"mtp.sample_parts", 7, 3, false}, {"mtp.sample_parts_mapped", 8, 3, false},
    {"mtp.sample_scan", 7, 3, true},   {"mtp.sample_scan_mapped", 8, 3, true},
    {"mtp.sample_join", 8, 3, false},  {"mtp.sample_join_mapped", 9, 3, false}};

const Builtin *mtp::findBuiltin(std::string_view name) {
  for (const Builtin &builtin : kBuiltins)
    if (builtin.name == name)
      return &builtin;
  return nullptr;
}

/// Returns the number of tasks of a row.
static int64_t tasksPerRow(const Builtin &builtin, int64_t vocab) {
  return builtin.isScan ? sampleStretches(vocab) : 1;
}

int64_t mtp::builtinTasks(const Builtin &builtin,
                          std::span<const int64_t> params) {
  return params[0] * tasksPerRow(builtin, params[1]);
}
