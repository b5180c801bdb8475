//===- Flags.h - Flags that tools of the runtime have in common -*- C++ -*-===//
//
// Needs exceptions: a tool includes this where it parses its flags, nowhere
// else.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_SUPPORT_FLAGS_H
#define MTP_TOOLS_SUPPORT_FLAGS_H

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>

namespace mtp {

/// For CLI::Option::check: CLI11 takes numbers outside of 64 bits for others
/// inside. Empty, or what is wrong.
inline std::string checkSeed(const std::string &text) {
  uint64_t seed = 0;
  auto end = std::from_chars(text.data(), text.data() + text.size(), seed);
  bool isSeed = end.ec == std::errc() && end.ptr == text.data() + text.size();
  return isSeed ? "" : "expected a number of 0 to 2^64 - 1, got " + text;
}

/// On how many processors a model runs, and whether it stays there.
inline void addThreadFlags(CLI::App &app, uint32_t &threads, bool &pin) {
  app.add_option("--threads,-t", threads, "Threads (0: all processors)");
  app.add_flag("--pin", pin, "Bind each thread to a processor");
}

inline void addCopyFlag(CLI::App &app, bool &copy) {
  app.add_flag("--no-mmap", copy,
               "Read the file into memory of large pages, do not map it");
}

} // namespace mtp

#endif // MTP_TOOLS_SUPPORT_FLAGS_H
