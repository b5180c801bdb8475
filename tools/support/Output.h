//===- Output.h - Destination of a tool's results ---------------*- C++ -*-===//

#ifndef MTP_TOOLS_SUPPORT_OUTPUT_H
#define MTP_TOOLS_SUPPORT_OUTPUT_H

#include "runtime/core/Result.h"

#include <memory>
#include <string>
#include <string_view>

namespace mtp {

/// Opens closed standard streams on /dev/null in unusable modes, so that no
/// file of the tool gets their numbers.
void reserveStandardStreams();

/// Writes all of `text` to standard output without buffering, so that success
/// means that it is written. `what` names the lost output in an error: "the
/// text".
Status writeStandardOutput(std::string_view text, std::string_view what);

/// A file that is written completely or not at all, also if the power fails. It
/// is written without a name, so that a killed process leaves no file, flushed
/// to the disk, and then renamed to `path`.
/// If the file system has no unnamed files, it is written under a temporary
/// name. A device or a pipe is written in place.
class OutputFile {
public:
  /// Opens the file before there is anything to write, so that an error comes
  /// early. Refuses to replace `input`, the file that the tool reads.
  static Result<std::unique_ptr<OutputFile>> create(const std::string &path,
                                                    const std::string &input);
  /// Removes the file unless commit() was called.
  ~OutputFile();

  /// Writes `text` as the whole file.
  Status commit(std::string_view text);

private:
  OutputFile(std::string path) : path(std::move(path)) {}
  Status failure(int error) const;
  /// Make the file that is written before it is renamed, and give it a name.
  /// Return zero or the error number.
  int openTemporary();
  int nameTemporary();

  std::string path;
  /// Empty if the file is written in place, and while it has no name.
  std::string temporary;
  bool isUnnamed = false;
  int descriptor = -1;
};

} // namespace mtp

#endif // MTP_TOOLS_SUPPORT_OUTPUT_H
