//===- Alternatives.h - Measure what mtpc could choose ----------*- C++ -*-===//
//
// A module is compiled with the default values of all tunables, and for each
// other value once more. An artifact with other code is compared with the
// default artifact in pairs. At last the module is compiled with the values
// that pay, and compared again.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_TUNE_ALTERNATIVES_H
#define MTP_TOOLS_MTP_TUNE_ALTERNATIVES_H

#include "runtime/profile/Profile.h"
#include "tools/mtp-tune/Compiler.h"
#include "tools/mtp-tune/Options.h"

namespace mtp::tune {

/// The alternatives of a module, and its artifact with the chosen values.
struct ComparedAlternatives {
  std::vector<profile::Alternative> alternatives;
  /// The chosen values together, by shape; empty if none was chosen.
  std::vector<profile::Alternative> together;
  /// Owns the folder of `artifact`.
  std::unique_ptr<Compiler> compiler;
  std::string artifact;
  double seconds = 0;
  /// Number of values for which there was no time.
  uint32_t skipped = 0;
};

/// Returns whether a path is of a module and not of an artifact.
bool isModule(const std::string &path);

/// Compiles and measures the alternatives of `options.artifact`, a module, in
/// about 70 % of `options.minutes`.
Result<ComparedAlternatives> compareAlternatives(const Options &options);

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_ALTERNATIVES_H
