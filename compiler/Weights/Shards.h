//===- Shards.h - Sets of files -------------------------------*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_SHARDS_H
#define MTP_COMPILER_WEIGHTS_SHARDS_H

#include "runtime/core/Result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// Returns the files in a folder that have an extension, sorted.
std::vector<std::string> listFiles(const std::string &folder,
                                   std::string_view extension);

/// A file's name within a set: "model-00002-of-00003.safetensors".
struct Shard {
  std::string stem; ///< "model-", which distinguishes sets.
  unsigned number = 0, count = 0;
};

/// Reads a file's name. Nothing unless it is a shard's.
std::optional<Shard> parseShard(const std::string &path);

/// Returns the shards of the only set among the files, by number. Fails if one
/// is missing. Empty if no file is a shard.
Result<std::vector<std::string>>
findShards(const std::vector<std::string> &files);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_SHARDS_H
