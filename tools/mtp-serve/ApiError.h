//===- ApiError.h - Error replies -------------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_APIERROR_H
#define MTP_TOOLS_MTP_SERVE_APIERROR_H

#include "mtp/status.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mtp::serve {

/// An error in the shape of OpenAI's API: {"error": {message, type, param,
/// code}}.
struct ApiError {
  /// Of HTTP.
  unsigned status = 400;
  std::string message;
  /// The field that is wrong; empty: null.
  std::string param;
  /// For programs, e.g. "context_length_exceeded"; empty: null.
  std::string code;
  /// Seconds until another try is worth it; zero: not said.
  unsigned retryAfter = 0;
  /// Sizes of a prompt that exceeds the context, and of the context; 0 if the
  /// error is another one.
  uint64_t promptTokens = 0, contextTokens = 0;
};

/// Nothing: all is well.
using MaybeError = std::optional<ApiError>;

/// 400 of a field.
ApiError wrongField(std::string param, std::string message);

/// A failure of the runtime: 400 where the request is the reason, else 500.
ApiError errorOf(const Status &status, std::string param = "");

/// A failure of the server's own output, which is no fault of the request: 500,
/// or 503 where a later try may do.
ApiError ownErrorOf(const Status &status);

/// The body of the answer, on one line.
std::string errorJson(const ApiError &error);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_APIERROR_H
