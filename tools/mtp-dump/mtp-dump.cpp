//===- mtp-dump.cpp - Print what is inside of an artifact -----------------===//
//
// Exit status: 0 success, 1 the file is no valid artifact, 2 wrong flags.
//
//===----------------------------------------------------------------------===//

#include "tools/mtp-dump/Dump.h"

#include <CLI/CLI.hpp>
#include <cstdio>

using namespace mtp;

static Result<std::string> dump(const std::string &path,
                                const std::string &program, bool json,
                                bool commands) {
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const ArtifactFile> file,
                       ArtifactFile::open(path, HashCheck::All));
  if (!program.empty())
    return dumpProgram(*file, program);
  return json ? dumpJson(*file, commands) : dumpText(*file);
}

int main(int argc, char **argv) {
  CLI::App app("Print what is inside of an artifact of mtpc");
  std::string path, program;
  bool json = false, commands = false;
  app.add_option("artifact", path, "File that mtpc wrote")->required();
  app.add_option("--program", program, "Print the commands of this program");
  app.add_flag("--json", json, "Print JSON");
  app.add_flag("--commands", commands, "With --json: all commands, too");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? 2 : 0;
  }
  Result<std::string> text = dump(path, program, json, commands);
  if (!text) {
    Status status = text.status();
    std::fprintf(stderr, "mtp-dump: error: %.*s\n",
                 int(status.message().size()), status.message().data());
    return 1;
  }
  std::fwrite(text->data(), 1, text->size(), stdout);
  return 0;
}
