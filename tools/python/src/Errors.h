//===- Errors.h - Failures as exceptions of Python --------------*- C++ -*-===//

#ifndef MTP_TOOLS_PYTHON_SRC_ERRORS_H
#define MTP_TOOLS_PYTHON_SRC_ERRORS_H

#include "runtime/core/Result.h"

#include <exception>
#include <nanobind/nanobind.h>
#include <optional>

namespace mtp::python {

/// A failure on its way to Python. Only bindings throw it.
class StatusError : public std::exception {
public:
  explicit StatusError(Status status) : status(std::move(status)) {}
  const Status &get() const { return status; }
  const char *what() const noexcept override { return "mtp::Status"; }

private:
  Status status;
};

/// Throws a failure.
void check(const Status &status);

/// Returns the value, or throws the failure.
template <typename T>
T take(Result<T> result) {
  check(result.status());
  return *std::move(result);
}

/// Returns the exception of mtpc.errors for a failure. Requires the GIL.
nanobind::object exceptionOf(const Status &status);

/// Lets Python see a StatusError as the exception of its code.
void registerErrors();

/// Asks Python for signals from code that runs without the GIL.
class Signals {
public:
  /// Returns whether a signal's handler raised an exception, which rethrow()
  /// throws, or whether Python ends. Only the main thread runs handlers.
  bool haveRaised();
  /// Throws the exception of a handler, if there is one.
  void rethrow() const;

private:
  std::exception_ptr error;
};

} // namespace mtp::python

#endif // MTP_TOOLS_PYTHON_SRC_ERRORS_H
