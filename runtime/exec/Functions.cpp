//===- Functions.cpp - Exported functions ---------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionImpl.h"

using namespace mtp;

static Status checkInputs(const std::vector<PortType> &ports,
                          std::span<const Tensor> inputs) {
  if (inputs.size() != ports.size())
    return invalidArgument(
        strCat("expected ", ports.size(), " inputs, got ", inputs.size()));
  for (size_t i = 0; i < ports.size(); ++i) {
    const TensorType &expected = ports[i].type, &got = inputs[i].type;
    if (got != expected)
      return invalidArgument(strCat("input ", i, ": expected ",
                                    toString(expected), ", got ",
                                    toString(got)));
    uint64_t bytes = elementCount(got) * elementBytes(got.element);
    if (inputs[i].bytes.size() != bytes)
      return invalidArgument(strCat("input ", i, ": expected ", bytes,
                                    " bytes, got ", inputs[i].bytes.size()));
  }
  return okStatus();
}

Result<std::vector<Tensor>>
Session::Impl::runFunction(std::string_view name,
                           std::span<const Tensor> inputs) {
  MTP_ASSIGN_OR_RETURN(uint32_t index, inner.programs.function(name));
  const schema::Program &program =
      *inner.file->program().programs()->Get(index);
  Status status = checkInputs(portTypes(program.inputs()), inputs);
  if (!status.isOk())
    return status.withContext(strCat("@", name));
  for (size_t i = 0; i < inputs.size(); ++i)
    executable->write(*program.inputs()->Get(uint32_t(i))->binding(),
                      inputs[i].bytes.data(), inputs[i].bytes.size());
  MTP_RETURN_IF_ERROR(executable->run(index));
  std::vector<Tensor> outputs;
  for (PortType &port : portTypes(program.outputs())) {
    const schema::Binding &source =
        *program.outputs()->Get(uint32_t(outputs.size()))->binding();
    Tensor tensor{std::move(port.type), std::vector<uint8_t>(source.bytes())};
    executable->read(source, tensor.bytes.data(), source.bytes());
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}
