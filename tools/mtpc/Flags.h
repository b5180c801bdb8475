//===- Flags.h - Parse the flags of mtpc ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTPC_FLAGS_H
#define MTP_TOOLS_MTPC_FLAGS_H

#include "compiler/Pipeline/Phases.h"
#include "tools/mtpc/ProfileChoice.h"
#include "llvm/Support/CommandLine.h"
#include <optional>

enum class Report { None, Text, Json };

/// The cache of compiled kernels.
struct CacheSettings {
  /// Empty: no cache.
  std::string folder;
  uint64_t bytes = 0;
};

/// The values of all flags. They are read once: the linker, a library, resets
/// all flags of the process when it is called.
struct Invocation {
  std::string input;
  /// The artifact, or the file for the printed module; empty for standard
  /// output.
  std::string output;
  mtp::compiler::Phase stopAfter = mtp::compiler::Phase::Artifact;
  std::string dumpFolder;
  /// The folder searched first for names in angle brackets; empty for none.
  std::string drafterLibrary;
  Report report = Report::None;
  mtp::compiler::Targets targets;
  mtp::compiler::LoweringOptions lowering;
  /// The profile that chose values of tunables.
  std::optional<ProfileChoice> profile;
  std::optional<uint64_t> randomWeights;
  /// Write how random weights are made instead of the weights.
  bool omitWeights = false;
  /// Do not keep integers of weight files.
  bool widensWeights = false;
  /// The text of --calibrate; empty: none.
  std::string calibration;
  /// Flags for a compilation that collects statistics of the text.
  std::vector<std::string> collectFlags;
  /// Threads that compile kernels and pack weights.
  unsigned jobs = 1;
  CacheSettings cache;
  /// Whether times are printed.
  bool timing = false;

  /// Returns whether the module is printed.
  bool printsModule() const {
    return stopAfter < mtp::compiler::Phase::Artifact &&
           (!output.empty() || (dumpFolder.empty() && report == Report::None));
  }
};

/// Returns whether an option is one of mtpc's own.
bool isOwnFlag(const llvm::cl::Option &option);

/// Reads the flags after parsing; an error names the wrong flag.
mtp::Result<Invocation>
readFlags(const mtp::compiler::TargetRegistry &registry);

#endif // MTP_TOOLS_MTPC_FLAGS_H
