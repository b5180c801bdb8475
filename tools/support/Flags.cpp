//===- Flags.cpp - Flags and exit codes of the runtime's tools ------------===//

#include "tools/support/Flags.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/OldNames.h"
#include "tools/support/Output.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <sys/resource.h>

using namespace mtp;

static int report(const CLI::App &app, const std::string &message, int code) {
  std::fprintf(stderr, "%s: error: %s\n", app.get_name().c_str(),
               message.c_str());
  if (code == kWrongFlags)
    std::fprintf(stderr, "'%s --help' lists the flags\n",
                 app.get_name().c_str());
  return code;
}

static int report(const CLI::App &app, const Status &status, int code) {
  return status.isOk() ? int(kSuccess)
                       : report(app, std::string(status.message()), code);
}

/// Rewords CLI11's messages as fragments.
static std::string messageOf(const CLI::ParseError &error) {
  std::string text = error.what();
  if (error.get_name() == "ArgumentMismatch") {
    std::string name = text.substr(0, text.find_first_of(": "));
    bool isFlag = text.find("flag override") != std::string::npos;
    return (isFlag ? "expected no value for " : "expected a value for ") + name;
  }
  if (!text.empty())
    text[0] = char(std::tolower(text[0]));
  return text;
}

/// The stack on which the first thread runs kernels and regular expressions. A
/// smaller stack overflows: 96 KiB were too few (2026-11-23).
static constexpr rlim_t kLeastStack = 256 << 10, kUsualStack = 8 << 20;

/// Raises the stack limit if possible, and fails if it is too low. The first
/// thread's stack grows up to the current limit.
static Status checkStack() {
  struct rlimit stack;
  if (::getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kUsualStack)
    return okStatus();
  stack.rlim_cur = std::min(stack.rlim_max, kUsualStack);
  ::setrlimit(RLIMIT_STACK, &stack);
  if (stack.rlim_cur >= kLeastStack)
    return okStatus();
  return resourceExhausted(strCat("expected a stack of at least ",
                                  kLeastStack >> 10, " KiB (ulimit -s), got ",
                                  stack.rlim_cur >> 10));
}

/// Fails at the first flag that has another name now, or is gone.
static Status checkOldFlags(const CLI::App &app, int argc, char **argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    std::string_view given(argv[i]);
    given = given.substr(0, given.find('='));
    if (!given.starts_with("--"))
      continue;
    std::string_view instead = insteadOfFlag(app.get_name(), given.substr(2));
    if (!instead.empty())
      return invalidArgument(strCat("unknown flag '", given, "': ", instead));
    std::string_view now = newNameOfFlag(given.substr(2));
    if (now.empty() || app.get_option_no_throw(std::string(given)) ||
        !app.get_option_no_throw(strCat("--", now)))
      continue;
    return invalidArgument(
        strCat("unknown flag '", given, "': it is now '--", now, "'"));
  }
  return okStatus();
}

int mtp::toolMain(CLI::App &app, int argc, char **argv,
                  const std::function<Status()> &check,
                  const std::function<Status()> &run) {
  reserveStandardStreams();
  // A write beyond the file size limit is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  app.set_version_flag("--version", app.get_name() + " " MTP_VERSION);
  if (Status status = checkOldFlags(app, argc, argv); !status.isOk())
    return report(app, status, kWrongFlags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    return report(app, writeStandardOutput(app.help(), "the help"), kFailure);
  } catch (const CLI::CallForVersion &version) {
    return report(
        app,
        writeStandardOutput(std::string(version.what()) + "\n", "the version"),
        kFailure);
  } catch (const CLI::ParseError &error) {
    return report(app, messageOf(error), kWrongFlags);
  }
  if (Status status = check(); !status.isOk())
    return report(app, status, kWrongFlags);
  if (Status status = checkStack(); !status.isOk())
    return report(app, status, kFailure);
  return report(app, run(), kFailure);
}

void mtp::throwExpected(const std::string &name, const std::string &expected,
                        const std::string &got) {
  throw CLI::ValidationError(name,
                             "expected " + expected + ", got '" + got + "'");
}

CLI::Option *mtp::addOption(
    CLI::App &app, const std::string &names, const std::string &kind,
    const std::string &text, bool repeats,
    std::function<void(const std::string &, const std::string &)> take) {
  // Messages use the longest name.
  std::string name;
  for (size_t begin = 0; begin <= names.size();) {
    size_t end = std::min(names.find(',', begin), names.size());
    if (end - begin > name.size())
      name = names.substr(begin, end - begin);
    begin = end + 1;
  }
  return app
      .add_option(
          names,
          [name, repeats,
           take = std::move(take)](const CLI::results_t &values) {
            if (values.size() > 1 && !repeats)
              throw CLI::ValidationError(
                  name, "expected once, got " + std::to_string(values.size()) +
                            " times");
            for (const std::string &value : values)
              take(name, value);
            return true;
          },
          text)
      ->type_name(kind)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void mtp::addAlias(CLI::App &app, const std::string &name,
                   CLI::Option *option) {
  app.add_option(
         name,
         [option](const CLI::results_t &values) {
           for (const std::string &value : values)
             option->add_result(value);
           option->run_callback();
           return true;
         },
         "")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("");
}

/// Fails for an empty path. A script may have left a variable unset, and an
/// empty text would count as no flag.
static void checkPath(const std::string &name, const std::string &kind,
                      const std::string &given) {
  if (kind.starts_with("FILE") && given.empty())
    mtp::throwExpected(name, "a path", given);
}

CLI::Option *mtp::addText(CLI::App &app, const std::string &names,
                          std::string &value, const std::string &kind,
                          const std::string &text) {
  return addOption(
      app, names, kind, text, /*repeats=*/false,
      [&value, kind](const std::string &name, const std::string &given) {
        checkPath(name, kind, given);
        value = given;
      });
}

CLI::Option *mtp::addTexts(CLI::App &app, const std::string &names,
                           std::vector<std::string> &values,
                           const std::string &kind, const std::string &text) {
  return addOption(
      app, names, kind, text, /*repeats=*/true,
      [&values, kind](const std::string &name, const std::string &given) {
        checkPath(name, kind, given);
        values.push_back(given);
      });
}

CLI::Option *mtp::addFlag(CLI::App &app, const std::string &names, bool &flag,
                          const std::string &text, bool value) {
  return app.add_flag_callback(
                names, [&flag, value] { flag = value; }, text)
      ->disable_flag_override();
}

CLI::Option *mtp::addArtifact(CLI::App &app, std::string &path) {
  return app.add_option("artifact", path, "File that mtpc wrote")->required();
}
