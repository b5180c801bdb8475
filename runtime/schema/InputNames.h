//===- InputNames.h - Meaning of input names --------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_SCHEMA_INPUTNAMES_H
#define MTP_RUNTIME_SCHEMA_INPUTNAMES_H

#include <string_view>

namespace mtp {

/// Suffix of the name of a function's input whose rows are distributions, as in
/// "q.distributions".
inline constexpr std::string_view kDistributions = ".distributions";

inline bool holdsDistributions(std::string_view name) {
  return name.ends_with(kDistributions);
}

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_INPUTNAMES_H
