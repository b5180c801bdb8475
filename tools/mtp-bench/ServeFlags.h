//===- ServeFlags.h - Flags of mtp-bench --serve ----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_SERVEFLAGS_H
#define MTP_TOOLS_MTP_BENCH_SERVEFLAGS_H

#include "tools/mtp-bench/measure/Options.h"
#include "tools/mtp-bench/serve/LoadPlan.h"

#include <CLI/CLI.hpp>
#include <string>

namespace mtp::bench {

/// The values of --serve and its flags.
struct ServeFlags {
  TrafficOptions load;
  std::string promptFile;

  bool isGiven() const { return !load.url.empty(); }
};

void addServeFlags(CLI::App &app, ServeFlags &flags);

/// Checks that the given flags fit a run with --serve, or without it.
Status checkServeFlags(CLI::App &app, const ServeFlags &flags);

/// Runs the load test and prints the report. `shared` has the values of flags
/// that both kinds of measurement have.
Status runServe(ServeFlags &flags, const Options &shared);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_SERVEFLAGS_H
