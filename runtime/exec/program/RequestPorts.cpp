//===- RequestPorts.cpp - What requests bring and ask for -----------------===//

#include "runtime/exec/program/RequestPorts.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/program/Ports.h"
#include "runtime/schema/ConfidenceStates.h"

#include <algorithm>
#include <cstring>

using namespace mtp;

/// Returns the type of a slot's part of a state.
static TensorType typeOf(const State &state) {
  return {ElementType(state.dtype),
          {state.shape.begin() + 1, state.shape.end()}};
}

std::vector<PortType> mtp::requestInputs(const Artifact &artifact) {
  std::vector<PortType> ports;
  for (const State &state : artifact.states)
    if (state.rule.input)
      ports.push_back({std::string(state.name), typeOf(state)});
  return ports;
}

/// Returns the quoted names of ports: "'bias', 'mask'".
template <typename T>
static std::string namesOf(const std::vector<T> &ports) {
  std::string text;
  for (const T &port : ports)
    text += strCat(text.empty() ? "'" : ", '", port.name, "'");
  return text;
}

static Result<uint32_t> findInput(const Artifact &artifact,
                                  const std::string &name) {
  std::optional<uint32_t> state = artifact.findState(name);
  if (state && artifact.states[*state].rule.input)
    return *state;
  std::string known = namesOf(requestInputs(artifact));
  return invalidArgument(
      known.empty()
          ? strCat("expected no input, as the model declares none, got '", name,
                   "'")
          : strCat("expected an input named ", known, ", got '", name, "'"));
}

Result<InputBytes> mtp::readInputs(const Artifact &artifact,
                                   std::vector<RequestInput> &&inputs) {
  InputBytes bytes;
  for (RequestInput &input : inputs) {
    MTP_ASSIGN_OR_RETURN(uint32_t state, findInput(artifact, input.name));
    std::string which = strCat("input '", input.name, "'");
    MTP_RETURN_IF_ERROR(checkInput({input.name, typeOf(artifact.states[state])},
                                   which, input.value.type,
                                   input.value.bytes.size()));
    if (!bytes.try_emplace(state, std::move(input.value.bytes)).second)
      return invalidArgument(strCat(which, ": expected it once, got it twice"));
  }
  return bytes;
}

std::optional<uint32_t> mtp::findDraftPMin(const Artifact &artifact) {
  std::optional<uint32_t> state = artifact.findState(kDraftPMin);
  // A user's method may have another state of this name, or another value.
  if (!state || !artifact.states[*state].rule.input ||
      typeOf(artifact.states[*state]) != TensorType{ElementType::F32, {}} ||
      !(artifact.states[*state].rule.init >= 0 &&
        artifact.states[*state].rule.init <= 1))
    return std::nullopt;
  return state;
}

std::vector<RequestOutputType> mtp::requestOutputs(const Plan &plan) {
  std::vector<RequestOutputType> types;
  for (const Program &program : plan.programs)
    for (const Port &port : program.outputs) {
      if (port.of == schema::PortRows::None ||
          std::ranges::count(types, port.name, &RequestOutputType::name))
        continue;
      std::vector<uint64_t> row = port.shapeAt(program.begin);
      row.erase(row.begin());
      types.push_back({std::string(port.name),
                       {ElementType(port.dtype), std::move(row)},
                       port.of == schema::PortRows::Tokens});
    }
  return types;
}

Result<std::vector<RequestOutputType>>
mtp::findOutputs(const Plan &plan, const std::vector<std::string> &names) {
  std::vector<RequestOutputType> found;
  if (names.empty())
    return found;
  std::vector<RequestOutputType> all = requestOutputs(plan);
  for (const std::string &name : names) {
    auto type = std::ranges::find(all, name, &RequestOutputType::name);
    if (type == all.end())
      return invalidArgument(
          all.empty() ? strCat("expected no output to ask for, as the model "
                               "declares none, got '",
                               name, "'")
                      : strCat("expected an output named ", namesOf(all),
                               ", got '", name, "'"));
    if (std::ranges::count(found, name, &RequestOutputType::name))
      return invalidArgument(
          strCat("output '", name, "': expected it once, got it twice"));
    found.push_back(*type);
  }
  return found;
}

void mtp::appendRows(OutputRows &output, const OutputRows &more) {
  output.rows.type.shape.front() += more.rows.type.shape.front();
  output.rows.bytes.insert(output.rows.bytes.end(), more.rows.bytes.begin(),
                           more.rows.bytes.end());
  output.tokens.insert(output.tokens.end(), more.tokens.begin(),
                       more.tokens.end());
}
