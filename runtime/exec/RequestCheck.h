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

/// Compares a request with the model's envelope and the session's options.
/// Pages are not looked at.
Status checkRequest(const Model::Impl &model, const SessionOptions &options,
                    const Request &request);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_REQUESTCHECK_H
