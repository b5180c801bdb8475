//===- RequestPorts.h - What requests bring and ask for ---------*- C++ -*-===//
// A model declares by name what a request may bring (`mtp.state ... input`) and
// ask for (`mtp.output ... for`). The runtime knows no such name, except for
// the confidence by which drafts end.
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_PROGRAM_REQUESTPORTS_H
#define MTP_RUNTIME_EXEC_PROGRAM_REQUESTPORTS_H

#include "mtp/session.h"
#include "runtime/artifact/Artifact.h"

#include <map>

namespace mtp {

/// Returns the inputs of a model, in the order of its states.
std::vector<PortType> requestInputs(const Artifact &artifact);

/// The bytes of a slot's part of the states that a request brings, by state.
using InputBytes = std::map<uint32_t, std::vector<uint8_t>>;

/// Takes the bytes out of a request's inputs. InvalidArgument for a name that
/// the model does not have or that comes twice, and for another type or size.
Result<InputBytes> readInputs(const Artifact &artifact,
                              std::vector<RequestInput> &&inputs);

/// Returns the input that drafts end by; none if the model has no such drafter.
std::optional<uint32_t> findDraftPMin(const Artifact &artifact);

/// Returns the declared outputs of a plan's programs, each once.
std::vector<RequestOutputType> requestOutputs(const Plan &plan);

/// Returns the outputs that a request names. InvalidArgument for a name that
/// the model does not have or that comes twice.
Result<std::vector<RequestOutputType>>
findOutputs(const Plan &plan, const std::vector<std::string> &names);

/// Appends the rows of later tokens.
void appendRows(OutputRows &output, const OutputRows &more);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROGRAM_REQUESTPORTS_H
