//===- status.h - Success or a failure --------------------------*- C++ -*-===//
//
// The runtime is built without exceptions: an operation that can fail returns a
// Status, or a Result<T> (mtp/result.h) if it also yields a value. A failing
// allocation of a few bytes is not reported: see mtp/runtime.h.
//
// Ownership: views of names and messages are valid as each comment says.
// Arguments are copied.
//
// Threads: plain values; each thread may use its own copy.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_STATUS_H
#define MTP_RUNTIME_INCLUDE_MTP_STATUS_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace mtp {

/// Why an operation failed. Callers branch on the code; the message is for
/// people only.
enum class StatusCode : uint8_t {
  Ok,
  InvalidArgument,    ///< The input is wrong in any state.
  NotFound,           ///< A named thing does not exist.
  OutOfRange,         ///< An index or a size is past its bound.
  ResourceExhausted,  ///< Memory, a limit or a budget ran out.
  DataLoss,           ///< Stored bytes are corrupt or truncated.
  FailedPrecondition, ///< The object is not in the state the call needs.
  Unimplemented,      ///< A valid request for something not supported.
  Unavailable,        ///< May succeed later, e.g. a device that is busy.
  Internal,           ///< A broken invariant, i.e. a bug.
};

/// Returns the code's name in the enum, e.g. "InvalidArgument". It is a
/// constant, valid while the program runs.
std::string_view toString(StatusCode code);

/// The outcome of an operation. OK is a null pointer, so success neither
/// allocates nor costs more than a register. Copies share the message, which
/// never changes; concurrent use of distinct copies is safe.
///
/// Messages are lower-case fragments without a final period. They say what was
/// expected and what was found: "expected 4 heads, got 3".
class [[nodiscard]] Status {
public:
  /// Makes OK.
  Status() = default;

  /// Makes a failure. `code` must not be Ok; if it is, the status is OK and the
  /// message is dropped.
  Status(StatusCode code, std::string message);

  /// Whether the operation succeeded, and the code.
  bool isOk() const { return !failure; }
  StatusCode code() const { return failure ? failure->code : StatusCode::Ok; }

  /// Returns the message, empty when OK. Valid while this status or a copy
  /// lives.
  std::string_view message() const {
    return failure ? std::string_view(failure->message) : std::string_view();
  }

  /// Returns "Ok", or "InvalidArgument: expected 4 heads, got 3".
  std::string toString() const;

  /// Returns the failure with the same code and "`context`: " before its
  /// message, or OK.
  Status withContext(std::string_view context) const;

  /// Marks that a failure is ignored on purpose.
  void ignore() const {}

private:
  struct Failure {
    StatusCode code;
    std::string message;
  };
  std::shared_ptr<const Failure> failure;
};

/// Returns OK.
inline Status okStatus() { return Status(); }

/// Return a failure with the code in the name, InvalidArgument to Internal.
Status invalidArgument(std::string message);
Status notFound(std::string message);
Status outOfRange(std::string message);
Status resourceExhausted(std::string message);
Status dataLoss(std::string message);
Status failedPrecondition(std::string message);
Status unimplemented(std::string message);
Status unavailable(std::string message);
Status internalError(std::string message);

} // namespace mtp

/// Evaluates an expression of type Status and returns it from the enclosing
/// function if it is a failure.
#define MTP_RETURN_IF_ERROR(expr)                                              \
  do {                                                                         \
    if (::mtp::Status mtpStatus = (expr); !mtpStatus.isOk()) {                 \
      return mtpStatus;                                                        \
    }                                                                          \
  } while (false)

#endif // MTP_RUNTIME_INCLUDE_MTP_STATUS_H
