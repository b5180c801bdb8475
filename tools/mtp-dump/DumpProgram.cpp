//===- DumpProgram.cpp - One program, command by command ------------------===//

#include "runtime/artifact/DTypes.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-dump/Dump.h"

using namespace mtp;

const char *mtp::kindName(schema::ProgramKind kind) {
  switch (kind) {
  case schema::ProgramKind::Decode:
    return "decode";
  case schema::ProgramKind::Prefill:
    return "prefill";
  case schema::ProgramKind::Function:
    return "function";
  }
  return "unknown";
}

const char *mtp::formatName(schema::BlobFormat format) {
  switch (format) {
  case schema::BlobFormat::Elements:
    return "elements";
  case schema::BlobFormat::Int8:
    return "int8";
  case schema::BlobFormat::Int4:
    return "int4";
  case schema::BlobFormat::Int8Rows:
    return "int8_rows";
  case schema::BlobFormat::Int4Rows:
    return "int4_rows";
  }
  return "unknown";
}

const char *mtp::rebuildName(schema::Rebuild rebuild) {
  switch (rebuild) {
  case schema::Rebuild::Rows:
    return "rows";
  case schema::Rebuild::Tokens:
    return "tokens";
  case schema::Rebuild::Never:
    return "never";
  }
  return "unknown";
}

std::string mtp::versionText(uint32_t version) {
  return strCat(version >> 16, ".", version & 0xffff);
}

std::string mtp::bindingText(const schema::Artifact &artifact,
                             const schema::Binding &b) {
  std::string range = strCat("[", b.offset(), ", +", b.bytes(), "]");
  switch (b.space()) {
  case schema::Space::Arena:
    return "arena" + range;
  case schema::Space::State:
    return strCat("state '",
                  artifact.states()->Get(b.index())->name()->string_view(), "'",
                  range);
  case schema::Space::Weight:
    return strCat("weight '",
                  artifact.weights()->Get(b.index())->name()->string_view(),
                  "'", range);
  case schema::Space::Constant:
    return strCat("constant '",
                  artifact.constants()->Get(b.index())->name()->string_view(),
                  "'", range);
  case schema::Space::Kv:
    return strCat("kv '",
                  artifact.caches()->Get(b.index())->name()->string_view(),
                  "' layer ", b.offset());
  }
  return "unknown";
}

static std::string commandText(const schema::Artifact &artifact,
                               const schema::Command &command) {
  const schema::Kernel *kernel = artifact.kernels()->Get(command.kernel());
  std::string text(kernel->symbol()->string_view());
  if (kernel->kind())
    text += strCat(" (", kernel->kind()->string_view(), ")");
  text += strCat("  tasks ", command.tasks(), command.solo() ? " solo" : "",
                 command.joined() ? " joined" : "", "  params [");
  for (uint32_t i = 0; i < vectorSize(command.params()); ++i)
    text += strCat(i ? ", " : "", command.params()->Get(i));
  text += "]\n     ";
  for (uint32_t i = 0; i < vectorSize(command.bindings()); ++i)
    text += " " + bindingText(artifact, *command.bindings()->Get(i));
  return text + "\n";
}

static std::string
portsText(const schema::Artifact &artifact, const char *what,
          const flatbuffers::Vector<flatbuffers::Offset<schema::Port>> *ports) {
  std::string text;
  for (uint32_t i = 0; i < vectorSize(ports); ++i) {
    const schema::Port *port = ports->Get(i);
    text += strCat(what, " ", port->name()->string_view(), ": ",
                   tensorTypeName(port->dtype(), port->shape()), " in ",
                   bindingText(artifact, *port->binding()), "\n");
  }
  return text;
}

Result<std::string> mtp::dumpProgram(const ArtifactFile &file,
                                     std::string_view name) {
  const schema::Artifact &artifact = file.program();
  for (uint32_t i = 0; i < vectorSize(artifact.programs()); ++i) {
    const schema::Program *program = artifact.programs()->Get(i);
    if (program->name()->string_view() != name)
      continue;
    std::string text =
        strCat("program ", name, " (", kindName(program->kind()), "): batch ",
               program->batch(), ", k ", program->k(), ", chunk ",
               program->chunk(), ", modules ", program->modules(), ", arena ",
               program->arena_bytes(), " bytes\n");
    text += portsText(artifact, "input", program->inputs());
    for (uint32_t c = 0; c < vectorSize(program->commands()); ++c)
      text +=
          strCat(c, "  ", commandText(artifact, *program->commands()->Get(c)));
    return text + portsText(artifact, "output", program->outputs());
  }
  return notFound(
      strCat("--program: the artifact has no program '", name, "'"));
}
