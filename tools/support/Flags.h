//===- Flags.h - Flags and exit codes of the runtime's tools ----*- C++ -*-===//
//
// Needs exceptions: only the source file of a tool that parses its flags
// includes this header. Numbers are parsed here, since CLI11 reads "" as 0 and
// 010 as 8.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_SUPPORT_FLAGS_H
#define MTP_TOOLS_SUPPORT_FLAGS_H

#include "runtime/core/Status.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mtp {

/// Exit codes of all tools.
enum ExitCode { kSuccess = 0, kFailure = 1, kWrongFlags = 2 };

/// Implements a tool's main: handles --help and --version, parses, and returns
/// one of the exit codes. `check` validates the parsed flags before `run` does
/// the work.
int toolMain(CLI::App &app, int argc, char **argv,
             const std::function<Status()> &check,
             const std::function<Status()> &run);

/// Adds an option whose values go to `take`, which throws CLI::ValidationError.
/// The option takes one value each time; a word after the value is the
/// artifact. Giving the option twice is an error unless `repeats`.
CLI::Option *
addOption(CLI::App &app, const std::string &names, const std::string &kind,
          const std::string &text, bool repeats,
          std::function<void(const std::string &, const std::string &)> take);

/// Adds an old name of an option, which no help lists.
void addAlias(CLI::App &app, const std::string &name, CLI::Option *option);

[[noreturn]] void throwExpected(const std::string &name,
                                const std::string &expected,
                                const std::string &got);

template <typename T>
std::string numberRange() {
  if constexpr (std::is_floating_point_v<T>)
    return "a number";
  else
    return "a whole number of " +
           std::to_string(std::numeric_limits<T>::min()) + " to " +
           std::to_string(std::numeric_limits<T>::max());
}

template <typename T>
T parseNumber(const std::string &name, const std::string &text) {
  T value{};
  auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size())
    throwExpected(name, numberRange<T>(), text);
  return value;
}

/// Adds an option for a number. T is a number or an optional number.
template <typename T>
CLI::Option *addNumber(CLI::App &app, const std::string &names, T &value,
                       const std::string &text) {
  return addOption(app, names, "N", text, /*repeats=*/false,
                   [&value](const std::string &name, const std::string &given) {
                     if constexpr (std::is_arithmetic_v<T>)
                       value = parseNumber<T>(name, given);
                     else
                       value = parseNumber<typename T::value_type>(name, given);
                   });
}

/// Adds an option for lists like "1,2,4", which may be repeated.
template <typename T>
CLI::Option *addNumbers(CLI::App &app, const std::string &names,
                        std::vector<T> &values, const std::string &text) {
  return addOption(app, names, "N,..", text, /*repeats=*/true,
                   [&values](const std::string &name, std::string rest) {
                     for (size_t comma = 0; comma != std::string::npos;) {
                       comma = rest.find(',');
                       values.push_back(
                           parseNumber<T>(name, rest.substr(0, comma)));
                       if (comma != std::string::npos)
                         rest.erase(0, comma + 1);
                     }
                   });
}

CLI::Option *addText(CLI::App &app, const std::string &names,
                     std::string &value, const std::string &kind,
                     const std::string &text);

/// Adds an option with one value each time that it is given.
CLI::Option *addTexts(CLI::App &app, const std::string &names,
                      std::vector<std::string> &values, const std::string &kind,
                      const std::string &text);

/// Adds an option for one of several words.
template <typename T>
CLI::Option *addChoice(CLI::App &app, const std::string &names, T &value,
                       const std::vector<std::pair<std::string, T>> &choices,
                       const std::string &text) {
  std::string words;
  for (const auto &[word, meaning] : choices)
    words += (words.empty() ? "" : "|") + word;
  auto take = [&value, choices, words](const std::string &name,
                                       const std::string &given) {
    for (const auto &[word, meaning] : choices)
      if (word == given) {
        value = meaning;
        return;
      }
    throwExpected(name, words, given);
  };
  return addOption(app, names, words, text, /*repeats=*/false, take);
}

/// Adds a flag that sets `flag` to `value`.
CLI::Option *addFlag(CLI::App &app, const std::string &names, bool &flag,
                     const std::string &text, bool value = true);

/// Adds the artifact that the tool works on, a required argument.
CLI::Option *addArtifact(CLI::App &app, std::string &path);

} // namespace mtp

#endif // MTP_TOOLS_SUPPORT_FLAGS_H
