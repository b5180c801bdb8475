//===- Dump.h - Print the contents of an artifact ---------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_DUMP_DUMP_H
#define MTP_TOOLS_MTP_DUMP_DUMP_H

#include "runtime/artifact/ArtifactFile.h"

#include <string>

namespace mtp {

/// Everything but the programs' commands, for people.
std::string dumpText(const ArtifactFile &file);

/// The same as JSON; with the commands of every program if `commands`.
std::string dumpJson(const ArtifactFile &file, bool commands);

/// The source of the chat template, and nothing else; of several each with a
/// line ahead, "--- NAME". The artifact has one.
std::string chatTemplateText(const Artifact &artifact);

/// One program with its commands, one a line:
///   12  target_linear (linear)  tasks 64  params [5]
///       arena[0, +3840]  weight 'w'  arena[4096, +3840]
/// Of several plans the first that has it. What grows with n is "64 + 32n".
/// NotFound when there is no such program.
Result<std::string> dumpProgram(const ArtifactFile &file,
                                std::string_view name);

/// Where a place is, e.g. "state 'window'[0, +80]".
std::string placeText(const Artifact &artifact, const Plan &plan,
                      const Place &place);

/// "64", "32n", "64 + 32n".
std::string countText(const Count &count);

/// "2nx64xf32".
std::string typeText(const Port &port);

/// "64", or "8 to 64" where that grows with n.
std::string tasksText(const Plan &plan, const Program &program,
                      const Command &command);

/// What selects a program: "batch 1 to 4, k 2", "rows 8, drafts". Empty for a
/// function.
std::string shapeText(const Program &program);

/// "decode", "prefill" or "function".
const char *kindName(schema::ProgramKind kind);

/// "elements"; "int8" of panels, "int8_rows" of a table.
std::string formatName(schema::BlobFormat format);

/// "elf_shared", "cubin", "ptx" or "hosted".
const char *imageFormatName(schema::ImageFormat format);

/// "rows", "tokens", "never" or "save".
const char *rebuildName(schema::Rebuild rebuild);
/// Of a declared output.
const char *rowsName(schema::PortRows rows);

/// "1.2".
std::string versionText(uint32_t version);

} // namespace mtp

#endif // MTP_TOOLS_MTP_DUMP_DUMP_H
