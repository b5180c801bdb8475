//===- Gil.h - Code without Python's lock -----------------------*- C++ -*-===//
//
// When Python ends, it stops threads that ask for its lock, and a thread with
// frames of C++ then ends the process. So end() waits until no thread is in the
// extension. Threads that come back later sleep until the process ends, as all
// threads of Python 3.14 do.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_PYTHON_SRC_GIL_H
#define MTP_TOOLS_PYTHON_SRC_GIL_H

#include <nanobind/nanobind.h>

namespace mtp::python {

/// Releases the lock until the end of its scope.
class WithoutGil {
public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil &) = delete;
  WithoutGil &operator=(const WithoutGil &) = delete;

  /// Forgets the threads of the parent in each forked process.
  static void watchForks();
  /// Whether the calling thread must end what it does, since Python ends.
  static bool mustEnd();
  /// Lets all threads but the calling one leave the extension, and waits for
  /// them. Requires the lock.
  static void end();

private:
  PyThreadState *state;
};

} // namespace mtp::python

#endif // MTP_TOOLS_PYTHON_SRC_GIL_H
