//===- ApiError.h - Error replies -------------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_APIERROR_H
#define MTP_TOOLS_MTP_SERVE_API_APIERROR_H

#include "mtp/status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mtp::serve {

/// An error in the shape of OpenAI's API: {"error": {message, type, param,
/// code}}.
struct ApiError {
  /// The HTTP status.
  unsigned status = 400;
  std::string message;
  /// The wrong field; empty: null.
  std::string param;
  /// A code for programs, e.g. "context_length_exceeded"; empty: null.
  std::string code;
  /// Seconds until a retry is worthwhile; zero: unknown.
  unsigned retryAfter = 0;
  /// Sizes of a prompt that exceeds the context, and of the context; 0 for
  /// other errors.
  uint64_t promptTokens = 0, contextTokens = 0;
};

/// An error, or nothing on success.
using MaybeError = std::optional<ApiError>;

/// Returns a 400 error for a field.
ApiError wrongField(std::string param, std::string message);

/// Returns the error for a failure of the runtime: 400 if the request caused
/// it, else 500.
ApiError errorOf(const Status &status, std::string param = "");

/// Returns the error for a failure of the server's own output, which the
/// request did not cause: 500, or 503 if a retry may succeed.
ApiError ownErrorOf(const Status &status);

/// Returns the body of the reply, on one line.
std::string errorJson(const ApiError &error);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_APIERROR_H
