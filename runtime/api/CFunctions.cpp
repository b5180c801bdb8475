//===- CFunctions.cpp - Exported functions from C -------------------------===//

#include "runtime/api/CSupport.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/program/Ports.h"

using namespace mtp;
using namespace mtp::capi;

struct mtp_results {
  std::vector<Tensor> tensors;
};

static_assert(MTP_BOOL == int(ElementType::Bool) &&
              MTP_BF16 == int(ElementType::BF16) &&
              MTP_I32 == int(ElementType::I32));

Result<Tensor> capi::readInput(const PortType &port, const std::string &where,
                               const mtp_tensor &given) {
  if (given.element < MTP_F32 || given.element > MTP_BOOL)
    return invalidArgument(strCat(where, ": expected an element type of 0 to ",
                                  int(MTP_BOOL), ", got ", given.element));
  // No port has a larger rank: the shape need not be read.
  if (given.rank > port.type.shape.size())
    return invalidArgument(strCat(where, ": expected ", port.type.shape.size(),
                                  " dimensions, got ", given.rank));
  if (Status status = needArray(given.shape, given.rank, "dimensions");
      !status.isOk())
    return status.withContext(where);
  Tensor tensor;
  tensor.type.element = ElementType(given.element);
  tensor.type.shape.assign(given.shape, given.shape + given.rank);
  MTP_RETURN_IF_ERROR(checkInput(port, where, tensor.type, given.bytes));
  if (Status status = needArray(given.data, given.bytes, "bytes of data");
      !status.isOk())
    return status.withContext(where);
  const uint8_t *data = static_cast<const uint8_t *>(given.data);
  tensor.bytes.assign(data, data + given.bytes);
  return tensor;
}

static Result<std::vector<Tensor>> run(Session &session, const char *name,
                                       const mtp_tensor *inputs, size_t count) {
  MTP_ASSIGN_OR_RETURN(std::vector<PortType> ports,
                       session.model()->functionInputs(name));
  if (count != ports.size())
    return invalidArgument(
        strCat("@", name, ": expected ", ports.size(), " inputs, got ", count));
  MTP_RETURN_IF_ERROR(needArray(inputs, count, "inputs"));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < count; ++i) {
    auto tensor = readInput(ports[i], strCat("input ", i), inputs[i]);
    if (!tensor)
      return tensor.status().withContext(strCat("@", name));
    tensors.push_back(std::move(*tensor));
  }
  return session.runFunction(name, tensors);
}

extern "C" {

mtp_status mtp_session_run_function(mtp_session *session, const char *name,
                                    const mtp_tensor *inputs, size_t count,
                                    mtp_results **results) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  MTP_C_RETURN_IF_ERROR(need(name, "a name"));
  MTP_C_RETURN_IF_ERROR(need(results, "room for results"));
  auto tensors = run(*session->session, name, inputs, count);
  if (!tensors)
    return report(tensors.status());
  *results = new mtp_results{std::move(*tensors)};
  return MTP_OK;
}

size_t mtp_results_count(const mtp_results *results) {
  return results ? results->tensors.size() : 0;
}

mtp_status mtp_results_get(const mtp_results *results, size_t index,
                           mtp_tensor *tensor) {
  MTP_C_RETURN_IF_ERROR(need(results, "results"));
  MTP_C_RETURN_IF_ERROR(need(tensor, "room for a tensor"));
  if (index >= results->tensors.size())
    return report(outOfRange(strCat("expected a result below ",
                                    results->tensors.size(), ", got ", index)));
  const Tensor &result = results->tensors[index];
  *tensor = {int32_t(result.type.element), result.type.shape.size(),
             result.type.shape.data(), result.bytes.data(),
             result.bytes.size()};
  return MTP_OK;
}

void mtp_results_free(mtp_results *results) { delete results; }

} // extern "C"
