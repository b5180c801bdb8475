//===- OldNames.h - Names that ops, passes and flags had --------*- C++ -*-===//
//
// An old name is an error that names the new one. The IR parser and the tools
// look names up here after they have found them unknown.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_OLDNAMES_H
#define MTP_RUNTIME_SCHEMA_OLDNAMES_H

#include <string_view>

namespace mtp {

/// The old and the new name of an op, with its dialect, of a pass, or of a
/// flag, without its hyphens.
struct OldName {
  std::string_view before, now;
};

inline constexpr OldName kOldOps[] = {
    {"mtp.regroup", "mtp.reshape"},
    {"exec.regroup", "exec.reshape"},
    {"mtp.take_rows", "mtp.gather_rows"},
    {"mtp.pick_residual", "mtp.sample_residual"},
    {"exec.pick_residual", "exec.sample_residual"},
    {"mtp.exclude", "mtp.mask_tokens"},
    {"exec.exclude", "exec.mask_tokens"},
    {"exec.nearest_task", "exec.clamp_task"},
    {"exec.attention_parts", "exec.attention_split_kv"},
    {"exec.attention_join", "exec.attention_combine"},
};

inline constexpr OldName kOldFlags[] = {
    // Passes, which are flags of mtp-opt.
    {"mtp-check-upkeep", "mtp-lint-states"},
    {"mtp-mix-prompts", "mtp-merge-prefill"},
    // mtp-import.
    {"round-prompt-rows", "max-mixed-prefill-tokens"},
    {"max-rows", "max-verify-tokens"},
    // mtp-run, mtp-serve and mtp-bench.
    {"prompt-milliseconds", "prefill-budget-ms"},
    {"step-milliseconds", "step-budget-ms"},
    {"step-ms", "step-budget-ms"},
    {"separate-prompts", "no-mixed-batches"},
    {"deterministic", "no-cublaslt"},
    {"accept", "acceptance"},
};

/// A flag that a tool had, and the way to its result.
struct GoneFlag {
  std::string_view tool, flag, instead;
};

inline constexpr GoneFlag kGoneFlags[] = {
    {"mtp-bench", "svg", "mtp-chart draws the report of --json"},
    {"mtp-import", "with-logit-rules",
     "models have logit rules unless --without-logit-rules omits them"},
};

/// Returns the new name of an op, or "" if it has always had its name.
constexpr std::string_view newNameOfOp(std::string_view name) {
  for (const OldName &old : kOldOps)
    if (old.before == name)
      return old.now;
  return {};
}

/// Returns the new name of a flag or a pass without its hyphens, or "".
constexpr std::string_view newNameOfFlag(std::string_view name) {
  for (const OldName &old : kOldFlags)
    if (old.before == name)
      return old.now;
  return {};
}

/// Returns the way to the result of a flag that the tool had, or "".
constexpr std::string_view insteadOfFlag(std::string_view tool,
                                         std::string_view name) {
  for (const GoneFlag &gone : kGoneFlags)
    if (gone.tool == tool && gone.flag == name)
      return gone.instead;
  return {};
}

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_OLDNAMES_H
