//===- Status.cpp - Success or a failure ----------------------------------===//

#include "runtime/core/Status.h"

#include <utility>

using namespace mtp;

std::string_view mtp::toString(StatusCode code) {
  switch (code) {
  case StatusCode::Ok:
    return "Ok";
  case StatusCode::InvalidArgument:
    return "InvalidArgument";
  case StatusCode::NotFound:
    return "NotFound";
  case StatusCode::OutOfRange:
    return "OutOfRange";
  case StatusCode::ResourceExhausted:
    return "ResourceExhausted";
  case StatusCode::DataLoss:
    return "DataLoss";
  case StatusCode::FailedPrecondition:
    return "FailedPrecondition";
  case StatusCode::Unimplemented:
    return "Unimplemented";
  case StatusCode::Unavailable:
    return "Unavailable";
  case StatusCode::Internal:
    return "Internal";
  }
  return "Unknown";
}

Status::Status(StatusCode code, std::string message) {
  if (code != StatusCode::Ok)
    failure =
        std::make_shared<const Failure>(Failure{code, std::move(message)});
}

std::string Status::toString() const {
  std::string text(mtp::toString(code()));
  if (failure)
    text.append(": ").append(failure->message);
  return text;
}

Status Status::withContext(std::string_view context) const {
  if (isOk())
    return *this;
  std::string text(context);
  text.append(": ").append(failure->message);
  return Status(failure->code, std::move(text));
}

Status mtp::invalidArgument(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}

Status mtp::notFound(std::string message) {
  return Status(StatusCode::NotFound, std::move(message));
}

Status mtp::outOfRange(std::string message) {
  return Status(StatusCode::OutOfRange, std::move(message));
}

Status mtp::resourceExhausted(std::string message) {
  return Status(StatusCode::ResourceExhausted, std::move(message));
}

Status mtp::dataLoss(std::string message) {
  return Status(StatusCode::DataLoss, std::move(message));
}

Status mtp::failedPrecondition(std::string message) {
  return Status(StatusCode::FailedPrecondition, std::move(message));
}

Status mtp::unimplemented(std::string message) {
  return Status(StatusCode::Unimplemented, std::move(message));
}

Status mtp::unavailable(std::string message) {
  return Status(StatusCode::Unavailable, std::move(message));
}

Status mtp::internalError(std::string message) {
  return Status(StatusCode::Internal, std::move(message));
}
