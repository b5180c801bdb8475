//===- CSupport.h - What the parts of the C interface share -----*- C++ -*-===//

#ifndef MTP_RUNTIME_API_CSUPPORT_H
#define MTP_RUNTIME_API_CSUPPORT_H

#include "mtp/mtp.h"
#include "mtp/runtime.h"

#include <algorithm>
#include <cstring>

/// A function in C form. The ports point into `types`.
struct CFunction {
  std::string name;
  std::vector<mtp::PortType> types;
  std::vector<mtp_port> inputs, outputs;
};

struct mtp_model {
  std::shared_ptr<const mtp::Model> model;
  /// Null if the artifact has no tokenizer.
  std::shared_ptr<const mtp::Tokenizer> tokenizer;
  std::vector<CFunction> functions;
  /// Inputs of requests. The ports point into the types.
  std::vector<mtp::PortType> requestTypes;
  std::vector<mtp_port> requestInputs;
  /// Outputs for requests. The rows point into the types.
  std::vector<mtp::RequestOutputType> outputTypes;
  std::vector<mtp_request_output> requestOutputs;
};

struct mtp_session {
  std::unique_ptr<mtp::Session> session;
};

struct mtp_constraint {
  std::shared_ptr<const mtp::TokenConstraint> constraint;
};

namespace mtp::capi {

/// Stores a failure's message for mtp_message().
mtp_status report(const Status &status);

/// Fails with InvalidArgument for a null pointer: "expected a path, got null".
Status need(const void *pointer, const char *what);

/// Checks an array pointer, which may be null if the array is empty.
Status needArray(const void *pointer, size_t count, const char *what);

/// Fails with InvalidArgument for a struct without its *_init call: its size is
/// smaller or larger than that of any version.
Status checkStruct(const void *given, size_t size, const char *type);

/// Fails with FailedPrecondition for a model without a tokenizer.
Status needTokenizer(const mtp_model *model);

/// Copies a tensor after a check that the port takes it. `where` begins an
/// error: "input 0".
Result<Tensor> readInput(const PortType &port, const std::string &where,
                         const mtp_tensor &given);

/// Returns a confidence by which drafts end; none for the default.
std::optional<float> readDraftPMin(float given);

/// Reads the options of a session, which may be null.
Result<SessionOptions> readOptions(const mtp_session_options *options);

/// Zeroes a struct and fills in its size.
template <typename T>
void clear(T *value) {
  if (!value)
    return;
  *value = T();
  value->size = sizeof(T);
}

/// Writes the defaults of `init` to a caller's struct of `size` bytes, which
/// may be of another version.
template <typename T>
void initSized(T *value, size_t size, void (*init)(T *)) {
  if (!value || size < sizeof(size_t))
    return;
  T all;
  init(&all);
  all.size = size;
  std::memset(static_cast<void *>(value), 0, size);
  std::memcpy(static_cast<void *>(value), &all, std::min(size, sizeof(T)));
}

/// Copies a caller's struct, possibly of another version, over the defaults.
template <typename T>
Result<T> fromCaller(const T *given, void (*init)(T *), const char *type) {
  T value;
  init(&value);
  if (!given)
    return value;
  MTP_RETURN_IF_ERROR(checkStruct(given, given->size, type));
  std::memcpy(&value, given, std::min(given->size, sizeof(T)));
  value.size = sizeof(T);
  return value;
}

/// Copies a struct to the caller's, up to the size of the caller's struct.
template <typename T>
Status toCaller(T value, T *target, const char *type) {
  MTP_RETURN_IF_ERROR(need(target, type));
  MTP_RETURN_IF_ERROR(checkStruct(target, target->size, type));
  value.size = target->size;
  std::memcpy(target, &value, std::min(target->size, sizeof(T)));
  return okStatus();
}

} // namespace mtp::capi

/// Returns a failure from a function of the C interface.
#define MTP_C_RETURN_IF_ERROR(expr)                                            \
  do {                                                                         \
    if (::mtp::Status mtpStatus = (expr); !mtpStatus.isOk()) {                 \
      return ::mtp::capi::report(mtpStatus);                                   \
    }                                                                          \
  } while (false)

namespace mtp::capi {

/// Writes up to `capacity` elements and the number of elements.
template <typename T>
mtp_status fill(std::span<const T> source, T *target, size_t capacity,
                size_t *count, const char *what) {
  MTP_C_RETURN_IF_ERROR(need(count, "room for a count"));
  MTP_C_RETURN_IF_ERROR(needArray(target, capacity, what));
  std::copy_n(source.begin(), std::min(capacity, source.size()), target);
  *count = source.size();
  return MTP_OK;
}

} // namespace mtp::capi

#endif // MTP_RUNTIME_API_CSUPPORT_H
