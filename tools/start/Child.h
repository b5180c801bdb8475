//===- Child.h - A program that runs for another one ------------*- C++ -*-===//

#ifndef MTP_TOOLS_START_CHILD_H
#define MTP_TOOLS_START_CHILD_H

#include "runtime/core/Result.h"

#include <functional>
#include <string>
#include <vector>

namespace mtp::start {

/// Returns the path of a program: in `folder` if one is given, else beside this
/// program, else in a folder of PATH. Empty if there is none.
std::string findProgram(const std::string &name,
                        const std::string &folder = {});

/// How a child ended.
struct ChildEnd {
  /// The exit status; meaningless after a signal.
  int status = 0;
  /// The signal that ended the child; 0: none.
  int signal = 0;
  /// SIGINT, SIGTERM or SIGHUP that arrived here meanwhile; 0: none.
  int interrupt = 0;
};

/// Runs a program to its end, without a shell and without standard input. Its
/// standard output goes to standard error. `onLine` gets each line of its
/// standard error with the line's end; null: the child writes to this process's
/// standard error.
///
/// SIGINT, SIGTERM and SIGHUP go to the child, and a second one kills it. The
/// child is killed if this process dies. Requires a process with one thread.
Result<ChildEnd> runChild(const std::vector<std::string> &command,
                          const std::function<void(std::string)> &onLine);

/// Runs a program as runChild() does, in a process with any number of threads.
/// No signal handler is installed. `isCancelled` is called several times per
/// second; when it returns true, the child gets SIGINT and, a second later,
/// SIGKILL.
Result<ChildEnd> runCancellable(const std::vector<std::string> &command,
                                const std::function<void(std::string)> &onLine,
                                const std::function<bool()> &isCancelled);

/// Ends this process by a signal, as shells expect.
[[noreturn]] void endBySignal(int number);

} // namespace mtp::start

#endif // MTP_TOOLS_START_CHILD_H
