//===- RequestCheck.h - What a session accepts ------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_REQUESTCHECK_H
#define MTP_RUNTIME_EXEC_REQUESTCHECK_H

#include "mtp/session.h"
#include "runtime/exec/ModelImpl.h"

namespace mtp {

/// Fills in the defaults of options and compares them with the model's
/// envelope.
Status completeOptions(const Model::Impl &model, SessionOptions &options);

/// Fails with InvalidArgument if a parameter is outside its range.
Status checkSampling(const SamplingParams &sampling);

/// Returns the tokens that end a sequence of the request.
std::vector<int32_t> stopTokensOf(const Model::Impl &model,
                                  const Request &request);

/// Returns the error of a request after whose token at `position` no token can
/// be picked. `output` is the number of tokens of the output. InvalidArgument
/// if the request's rules are the reason, else FailedPrecondition.
Status noTokenError(const Request &request, uint64_t position, size_t output);

/// Compares a request with the model's envelope and the session's options.
/// Pages are not looked at.
Status checkRequest(const Model::Impl &model, const SessionOptions &options,
                    const Request &request);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_REQUESTCHECK_H
