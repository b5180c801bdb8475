//===- ServeFlags.h - Flags of mtp-bench --serve ----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_SERVEFLAGS_H
#define MTP_TOOLS_MTP_BENCH_SERVEFLAGS_H

#include "tools/mtp-bench/Options.h"
#include "tools/mtp-bench/serve/LoadPlan.h"

#include <CLI/CLI.hpp>
#include <string>

namespace mtp::bench {

/// What --serve and the flags beside it say.
struct ServeFlags {
  TrafficOptions load;
  std::string promptFile;

  bool isGiven() const { return !load.url.empty(); }
};

void addServeFlags(CLI::App &app, ServeFlags &flags);

/// Whether the flags that were given go with --serve, or without it.
Status checkServeFlags(CLI::App &app, const ServeFlags &flags);

/// Loads the server and prints the report. `shared` has what both kinds of
/// measuring have flags for.
Status runServe(ServeFlags &flags, const Options &shared);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_SERVEFLAGS_H
