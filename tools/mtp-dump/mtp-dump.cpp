//===- mtp-dump.cpp - Print the contents of an artifact -------------------===//
//
// Exit status: 0 success, 1 the file is no valid artifact, 2 wrong flags.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/profile/ProfileFile.h"
#include "tools/mtp-dump/Dump.h"
#include "tools/mtp-dump/DumpProfile.h"
#include "tools/support/Flags.h"
#include "tools/support/Output.h"

using namespace mtp;

static const char *const kExamples = R"(Examples:
  mtp-dump model.bin | less
  mtp-dump model.bin --program=decode_k2
  mtp-dump model.bin --json --commands > model.json
  mtp-dump model.bin --chat-template > template.jinja
  mtp-dump model.profile --json
)";

namespace {
struct DumpOptions {
  std::string artifact, program;
  bool json = false, commands = false, chatTemplate = false;
};
} // namespace

static Status checkFlags(const DumpOptions &options) {
  if (!options.program.empty() && (options.json || options.commands))
    return invalidArgument("expected --program without --json and --commands "
                           "(--json --commands prints those of all)");
  if (options.commands && !options.json)
    return invalidArgument("expected --json with --commands, or --program");
  if (options.chatTemplate && (options.json || !options.program.empty()))
    return invalidArgument(
        "expected --chat-template without --json and --program");
  return okStatus();
}

/// Whether a file starts like a profile.
static bool namesProfile(const std::string &path) {
  auto file = MappedFile::open(path);
  return file && profile::isProfile({(*file)->data(), (*file)->size()});
}

static Status dumpProfile(const DumpOptions &options) {
  if (options.commands || options.chatTemplate || !options.program.empty())
    return invalidArgument(strCat(options.artifact,
                                  ": expected an artifact "
                                  "with --program, --commands or "
                                  "--chat-template, got a profile"));
  MTP_ASSIGN_OR_RETURN(profile::Profile profile,
                       profile::loadProfile(options.artifact));
  return writeStandardOutput(options.json ? profileJson(profile)
                                          : profileText(profile),
                             "the listing");
}

static Status dump(const DumpOptions &options) {
  if (namesProfile(options.artifact))
    return dumpProfile(options);
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const ArtifactFile> file,
                       ArtifactFile::open(options.artifact, HashCheck::All));
  if (options.chatTemplate && !file->artifact().chat)
    return notFound(strCat(options.artifact, ": expected a chat template, got "
                                             "none"));
  Result<std::string> text =
      options.chatTemplate       ? chatTemplateText(file->artifact())
      : !options.program.empty() ? dumpProgram(*file, options.program)
      : options.json             ? dumpJson(*file, options.commands)
                                 : dumpText(*file);
  return text ? writeStandardOutput(*text, "the listing") : text.status();
}

int main(int argc, char **argv) {
  CLI::App app("Print the contents of an artifact of mtpc, or of a profile",
               "mtp-dump");
  app.footer(kExamples);
  DumpOptions options;
  addArtifact(app, options.artifact);
  addText(app, "--program", options.program, "NAME",
          "Print the commands of this program");
  addFlag(app, "--chat-template", options.chatTemplate,
          "Print the chat template's source");
  addFlag(app, "--json", options.json, "Print JSON");
  addFlag(app, "--commands", options.commands,
          "With --json: print all commands, too");
  return toolMain(
      app, argc, argv, [&] { return checkFlags(options); },
      [&] { return dump(options); });
}
