//===- StartFlags.h - Flags of tools that start models ----------*- C++ -*-===//
//
// Needs exceptions, as tools/support/Flags.h does.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_START_STARTFLAGS_H
#define MTP_TOOLS_START_STARTFLAGS_H

#include "tools/start/StartModel.h"

#include <CLI/CLI.hpp>
#include <string>

namespace mtp::start {

/// Adds the positional argument for an artifact or a model, and the flags for
/// models, in a group of the help.
void addStartFlags(CLI::App &app, std::string &path, StartOptions &options);

} // namespace mtp::start

#endif // MTP_TOOLS_START_STARTFLAGS_H
