//===- Dump.h - Print the contents of an artifact ---------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_DUMP_DUMP_H
#define MTP_TOOLS_MTP_DUMP_DUMP_H

#include "runtime/artifact/ArtifactFile.h"

#include <string>

namespace mtp {

/// Returns everything except the programs' commands, as text.
std::string dumpText(const ArtifactFile &file);

/// Returns the contents as JSON; with the commands of every program if
/// `commands`.
std::string dumpJson(const ArtifactFile &file, bool commands);

/// Returns only the source of the chat template; of several templates each
/// after a line "--- NAME". The artifact must have one.
std::string chatTemplateText(const Artifact &artifact);

/// Returns one program with its commands, one per line:
///   12  target_linear (linear)  tasks 64  params [5]
///       arena[0, +3840]  weight 'w'  arena[4096, +3840]
/// If several plans have the program, the first one counts. A number that grows
/// with n is printed as "64 + 32n". Returns NotFound if there is no such
/// program.
Result<std::string> dumpProgram(const ArtifactFile &file,
                                std::string_view name);

/// Describes a place, for example "state 'window'[0, +80]".
std::string placeText(const Artifact &artifact, const Plan &plan,
                      const Place &place);

/// Formats a count: "64", "32n", "64 + 32n".
std::string countText(const Count &count);

/// Formats a type: "2nx64xf32".
std::string typeText(const Port &port);

/// Formats the number of tasks: "64", or "8 to 64" if it grows with n.
std::string tasksText(const Plan &plan, const Program &program,
                      const Command &command);

/// Returns the values that select a program: "batch 1 to 4, k 2", "rows 8,
/// drafts". Empty for a function.
std::string shapeText(const Program &program);

/// Returns "decode", "prefill" or "function".
const char *kindName(schema::ProgramKind kind);

/// Returns "elements"; "int8" for panels, "int8_rows" for a table.
std::string formatName(schema::BlobFormat format);

/// Returns "elf_shared", "cubin", "ptx" or "hosted".
const char *imageFormatName(schema::ImageFormat format);

/// Returns "rows", "tokens", "never" or "save".
const char *rebuildName(schema::Rebuild rebuild);
/// Returns the name of a declared output's rows.
const char *rowsName(schema::PortRows rows);

/// Formats a version: "1.2".
std::string versionText(uint32_t version);

} // namespace mtp

#endif // MTP_TOOLS_MTP_DUMP_DUMP_H
