//===- Tool.h - The compiler as a tool --------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTPC_TOOL_H
#define MTP_TOOLS_MTPC_TOOL_H

#include "compiler/Target/Target.h"

/// Runs mtpc with these targets; returns the exit code.
int runMtpc(int argc, char **argv,
            const mtp::compiler::TargetRegistry &registry);

#endif // MTP_TOOLS_MTPC_TOOL_H
