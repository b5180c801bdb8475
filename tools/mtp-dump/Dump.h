//===- Dump.h - What is inside of an artifact -------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_DUMP_DUMP_H
#define MTP_TOOLS_MTP_DUMP_DUMP_H

#include "runtime/artifact/ArtifactFile.h"

#include <string>

namespace mtp {

/// Everything but the programs' commands, for people.
std::string dumpText(const ArtifactFile &file);

/// The same as JSON; with the commands of every program if `commands`.
std::string dumpJson(const ArtifactFile &file, bool commands);

/// One program with its commands, one a line:
///   12  target_linear (linear)  tasks 64  params [5]
///       arena[0, +3840]  weight 'w'  arena[4096, +3840]
/// NotFound when there is no such program.
Result<std::string> dumpProgram(const ArtifactFile &file,
                                std::string_view name);

/// Where a binding points, e.g. "state 'window'[0, +80]".
std::string bindingText(const schema::Artifact &artifact,
                        const schema::Binding &binding);

/// "decode", "prefill" or "function".
const char *kindName(schema::ProgramKind kind);

/// "elements", "int8" or "int4".
const char *formatName(schema::BlobFormat format);

/// "rows", "tokens" or "never".
const char *rebuildName(schema::Rebuild rebuild);

/// "1.2".
std::string versionText(uint32_t version);

} // namespace mtp

#endif // MTP_TOOLS_MTP_DUMP_DUMP_H
