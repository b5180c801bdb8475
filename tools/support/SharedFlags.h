//===- SharedFlags.h - Flags that several tools have ------------*- C++ -*-===//
//
// One table declares the flags of mtp-run, mtp-serve and mtp-bench that set how
// a model is loaded and how its session works.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_SUPPORT_SHAREDFLAGS_H
#define MTP_TOOLS_SUPPORT_SHAREDFLAGS_H

#include "mtp/model.h"
#include "mtp/session.h"

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>

namespace mtp {

/// A row of the table.
enum class SharedFlag {
  K,
  DraftPMin,
  MaxBatch,
  KvPages,
  PrefillChunk,
  PromptMilliseconds,
  StepMilliseconds,
  SeparatePrompts,
  RoundsPerLaunch,
  CaptureSizes,
  LazyMemory,
  NoPrefixCache,
  SnapshotBytes,
  SnapshotTokens,
  Deterministic,
  Device,
  Threads,
  Pin,
  NoMmap,
  Profile,
  Verify,
};

/// Adds a flag that sets a member of one of the options. A tool may give the
/// returned option another description if it has another default.
CLI::Option *addSharedFlag(CLI::App &app, SharedFlag flag, LoadOptions &load,
                           SessionOptions &session);

/// Adds flags in this order, to `group` or to the tool's other flags.
void addSharedFlags(CLI::App &app, std::initializer_list<SharedFlag> flags,
                    LoadOptions &load, SessionOptions &session,
                    const std::string &group = {});

/// Warns once if more threads were requested than can run.
void warnAboutThreads(const std::string &tool, uint32_t threads,
                      uint32_t usable);

} // namespace mtp

#endif // MTP_TOOLS_SUPPORT_SHAREDFLAGS_H
