//===- CompilerTool.cpp - Code shared by compiler tools -------------------===//

#include "tools/compiler-support/CompilerTool.h"

#include "runtime/core/Durable.h"
#include "runtime/schema/OldNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdlib>
#include <unistd.h>

using namespace mtp;
namespace cl = llvm::cl;

/// Returns the tool's name, for messages when the process ends.
static std::string &toolName() {
  static std::string name;
  return name;
}

int mtp::toolError(llvm::StringRef tool, const llvm::Twine &message,
                   ExitCode code) {
  llvm::errs() << tool << ": error: " << message << "\n";
  return code;
}

/// Checks standard output before the destructor of llvm::outs(), which would
/// end the process with LLVM's fatal error.
static void checkStandardOutput() {
  llvm::outs().flush();
  std::error_code error = llvm::outs().error();
  if (!error)
    return;
  llvm::outs().clear_error();
  ::_exit(toolError(toolName(),
                    "cannot write to standard output: " + error.message()));
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

namespace {
/// Rewords LLVM's messages about flags, which suggest LLVM flags that --help
/// does not list.
class FlagErrors {
public:
  FlagErrors(llvm::StringRef tool,
             llvm::function_ref<bool(const cl::Option &)> isOurs)
      : tool(tool), isOurs(isOurs) {}

  /// Ends the process at the first unregistered flag.
  void refuseUnknown(llvm::ArrayRef<char *> arguments) const;
  /// Ends the process with LLVM's message.
  [[noreturn]] void refuse(llvm::StringRef said) const;

private:
  [[noreturn]] void end(const llvm::Twine &message) const;
  std::string nearest(llvm::StringRef name) const;
  void refuseOldPasses(llvm::StringRef pipeline) const;

  llvm::StringRef tool;
  llvm::function_ref<bool(const cl::Option &)> isOurs;
};
} // namespace

void FlagErrors::end(const llvm::Twine &message) const {
  toolError(tool, message, kWrongFlags);
  llvm::errs() << "'" << tool << " --help' lists the flags\n";
  std::exit(kWrongFlags);
}

/// Ends the process at an old name of a pass in the text of a pipeline.
void FlagErrors::refuseOldPasses(llvm::StringRef pipeline) const {
  while (!pipeline.empty()) {
    size_t end = pipeline.find_first_of(",(){}= ");
    llvm::StringRef name = pipeline.take_front(end);
    std::string_view now = newNameOfFlag(name);
    if (!now.empty() && cl::getRegisteredOptions().count(now))
      this->end("unknown pass '" + name + "': it is now '" + llvm::Twine(now) +
                "'");
    pipeline = pipeline.drop_front(std::min(end, pipeline.size() - 1) + 1);
  }
}

/// Returns ", did you mean '--max-batch'?" if one of our flags is similar.
std::string FlagErrors::nearest(llvm::StringRef name) const {
  unsigned least = unsigned(name.size() / 3 + 1);
  std::string found;
  for (auto &[key, option] : cl::getRegisteredOptions()) {
    if (!isOurs(*option) || option->getOptionHiddenFlag() != cl::NotHidden)
      continue;
    unsigned distance = name.edit_distance(key, /*AllowReplacements=*/true,
                                           /*MaxEditDistance=*/least);
    // Ties go to the alphabetically first flag, since the map is unordered.
    if (distance < least ||
        (distance == least && (found.empty() || key.str() < found))) {
      least = distance;
      found = key.str();
    }
  }
  if (found.empty())
    return "";
  return ", did you mean '" + std::string(found.size() > 1 ? "--" : "-") +
         found + "'?";
}

/// Returns whether a registered option takes its value without a blank, like
/// -O2.
static bool isPrefixed(llvm::StringRef name) {
  return llvm::any_of(cl::getRegisteredOptions(), [&](auto &entry) {
    auto format = entry.second->getFormattingFlag();
    return (format == cl::Prefix || format == cl::AlwaysPrefix) &&
           name.starts_with(entry.first);
  });
}

void FlagErrors::refuseUnknown(llvm::ArrayRef<char *> arguments) const {
  auto &options = cl::getRegisteredOptions();
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    if (argument == "--")
      return;
    if (argument.size() < 2 || argument[0] != '-')
      continue;
    auto [name, value] = argument.ltrim('-').split('=');
    auto known = options.find(name);
    std::string_view instead = insteadOfFlag(toolName(), name);
    if (!instead.empty())
      end("unknown flag '" + argument.split('=').first +
          "': " + llvm::Twine(instead));
    std::string_view now = newNameOfFlag(name);
    if (known == options.end() && !now.empty() && options.count(now))
      end("unknown flag '" + argument.split('=').first + "': it is now '--" +
          llvm::Twine(now) + "'");
    if (known == options.end() && !isPrefixed(name))
      end("unknown flag '" + argument.split('=').first + "'" + nearest(name));
    if (name == "pass-pipeline")
      refuseOldPasses(value);
    bool takesNext = known != options.end() && !argument.contains('=') &&
                     known->second->getValueExpectedFlag() == cl::ValueRequired;
    i += takesNext;
  }
}

void FlagErrors::refuse(llvm::StringRef said) const {
  // "mtpc: Too many positional arguments specified!". A message about a wrong
  // value is printed already: LLVM does not write it to the stream.
  if (said.empty()) {
    llvm::errs() << "'" << tool << " --help' lists the flags\n";
    std::exit(kWrongFlags);
  }
  llvm::StringRef line = said.split('\n').first;
  line.consume_front(llvm::StringRef(toolName()));
  line = line.ltrim(": ").rtrim("!. \r\t");
  std::string text = line.str();
  if (!text.empty())
    text[0] = llvm::toLower(text[0]);
  end(text);
}

void mtp::parseToolFlags(int argc, char **argv, llvm::StringRef tool,
                         llvm::StringRef overview,
                         llvm::function_ref<bool(const cl::Option &)> isOurs) {
  // A write beyond the file size limit is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  toolName() = tool.str();
  llvm::outs();
  std::atexit(checkStandardOutput);
  cl::SetVersionPrinter([](llvm::raw_ostream &stream) {
    stream << toolName() << " " MTP_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
  });
  for (auto &[name, option] : cl::getRegisteredOptions()) {
    bool isGeneric = llvm::any_of(option->Categories, [](auto *category) {
      return category->getName() == "Generic Options";
    });
    if (!isGeneric && !isOurs(*option) &&
        option->getOptionHiddenFlag() == cl::NotHidden) {
      option->setHiddenFlag(cl::Hidden);
    }
  }
  FlagErrors errors(tool, isOurs);
  errors.refuseUnknown(llvm::ArrayRef(argv, size_t(argc)).drop_front());
  std::string said;
  llvm::raw_string_ostream stream(said);
  if (!cl::ParseCommandLineOptions(argc, argv, overview, &stream))
    errors.refuse(said);
  // LLVM takes the last value of a flag; the runtime's tools reject two values.
  for (auto &[name, option] : cl::getRegisteredOptions()) {
    bool repeats = option->getNumOccurrencesFlag() == cl::ZeroOrMore ||
                   option->getNumOccurrencesFlag() == cl::OneOrMore;
    if (isOurs(*option) && !repeats && option->getNumOccurrences() > 1) {
      std::exit(toolError(tool,
                          "--" + option->ArgStr + ": expected once, got " +
                              llvm::Twine(option->getNumOccurrences()) +
                              " times",
                          kWrongFlags));
    }
  }
}

namespace {
/// Names the number of a stream's file, which LLVM protects.
struct FileStream : llvm::raw_fd_ostream {
  using llvm::raw_fd_ostream::get_fd;
};
} // namespace

llvm::Error
mtp::writeWholeFile(llvm::StringRef path,
                    llvm::function_ref<void(llvm::raw_ostream &)> write) {
  auto checked = [&](llvm::raw_ostream &stream) -> llvm::Error {
    write(stream);
    // Standard output is checked when the process ends, and writeToOutput()
    // makes no file stream for /dev/null.
    if (path == "-" || path == "/dev/null")
      return llvm::Error::success();
    auto &file = static_cast<llvm::raw_fd_ostream &>(stream);
    file.flush();
    std::error_code code = file.error();
    // LLVM renames the file afterwards.
    if (!code)
      code = std::error_code(flushFile((file.*&FileStream::get_fd)()),
                             std::generic_category());
    file.clear_error();
    return code ? llvm::errorCodeToError(code) : llvm::Error::success();
  };
  llvm::Error error = llvm::writeToOutput(path, checked);
  return error
             ? llvm::createStringError("cannot write '" + path +
                                       "': " + llvm::toString(std::move(error)))
             : llvm::Error::success();
}
