//===- Output.h - Destination of a tool's results ---------------*- C++ -*-===//

#ifndef MTP_TOOLS_SUPPORT_OUTPUT_H
#define MTP_TOOLS_SUPPORT_OUTPUT_H

#include "runtime/core/Result.h"

#include <memory>
#include <string>
#include <string_view>

namespace mtp {

/// Gives standard streams that are closed to files that cannot be used, before
/// a file of the tool's own takes their number.
void reserveStandardStreams();

/// Writes all of `text` to standard output, past any buffer, so that success
/// means that it is out. `what` names what an error loses: "the text".
Status writeStandardOutput(std::string_view text, std::string_view what);

/// A file that is whole or not there: written without a name, so that nothing
/// is left where the process is killed, or under another one where the file
/// system has no such files, and renamed to `path`. A device or a pipe is
/// written in place.
class OutputFile {
public:
  /// Opens the file before there is anything to write, so that an error comes
  /// early. Refuses to replace `input`, the file that the tool reads.
  static Result<std::unique_ptr<OutputFile>> create(const std::string &path,
                                                    const std::string &input);
  /// Without commit() nothing is left of it.
  ~OutputFile();

  /// Writes `text` as the whole file.
  Status commit(std::string_view text);

private:
  OutputFile(std::string path) : path(std::move(path)) {}
  Status failure(int error) const;
  /// Makes the file that is written before it is renamed, and gives it a name.
  /// Zero, or why not.
  int openTemporary();
  int nameTemporary();

  std::string path;
  /// Empty where the file is written in place, and while it has no name.
  std::string temporary;
  bool isUnnamed = false;
  int descriptor = -1;
};

} // namespace mtp

#endif // MTP_TOOLS_SUPPORT_OUTPUT_H
