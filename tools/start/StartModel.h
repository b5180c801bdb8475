//===- StartModel.h - From a model's files to an artifact -------*- C++ -*-===//
//
// mtp-run and mtp-serve take a model's files in place of an artifact. They run
// mtp-import and mtpc as child processes, once for each content, flags,
// programs and processor, and keep the artifact in the cache `models`.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_START_STARTMODEL_H
#define MTP_TOOLS_START_STARTMODEL_H

#include "runtime/cache/FileCache.h"
#include "runtime/core/PathKind.h"
#include "runtime/core/Result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace mtp::start {

constexpr uint32_t kDefaultCacheGiB = 64;

/// Flags for a model's files.
struct StartOptions {
  /// A drafter's folder or method, as mtp-import takes it; empty: the model's.
  std::string drafter;
  std::optional<uint32_t> maxContext;
  /// A format of mtpc; empty: the weights stay as they are.
  std::string quantize;
  /// Further flags of mtp-import and mtpc, as a shell would split them.
  std::string import, compile;
  /// Limit on the cache; absent: kDefaultCacheGiB.
  std::optional<uint32_t> cacheGiB;

  /// Slots to compile for. Also a flag of the session, so the tool sets it; 0:
  /// the default of mtp-import.
  uint32_t maxBatch = 0;
};

/// A process with other threads and its own signals, which starts models.
struct StartHost {
  /// Folder that is searched first for mtp-import and mtpc; empty: none.
  std::string programs;
  /// Receives each line that otherwise goes to standard error, with its end.
  std::function<void(const std::string &)> onLine;
  /// Returns whether the programs must end; asked several times per second.
  std::function<bool()> isCancelled;
};

/// A path that can be loaded.
struct StartedModel {
  std::string path;
  /// The name of the model for people: of the path that the user gave.
  std::string name;
  /// Keeps a file of the cache while the artifact is loaded and mapped.
  std::optional<cache::UsedFile> cached;
};

/// Returns whether a path needs mtp-import and mtpc.
bool isModelKind(PathKind kind);

/// Checks flags. Fails if a flag for models is given with an artifact, or if
/// the value of a flag cannot be split into words.
Status checkStart(const std::string &path, const StartOptions &options);

/// Returns the artifact of a path: the path itself, or the artifact of a model
/// from the cache or from mtp-import and mtpc. `tool` begins each line that is
/// written to standard error. Fails if the path is of a kind that cannot be
/// started, and names the next step. Requires checkStart().
///
/// Without `host`, the process must have one thread, and a signal that ends the
/// children ends this process, too. With `host`, the process may have other
/// threads, and a cancelled start fails with Unavailable.
Result<StartedModel> findArtifact(const std::string &tool,
                                  const std::string &path,
                                  const StartOptions &options,
                                  const StartHost *host = nullptr);

} // namespace mtp::start

#endif // MTP_TOOLS_START_STARTMODEL_H
