//===- Ports.h - What a function takes --------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_PROGRAM_PORTS_H
#define MTP_RUNTIME_EXEC_PROGRAM_PORTS_H

#include "mtp/result.h"
#include "mtp/tensor.h"

#include <string_view>

namespace mtp {

/// Checks type and bytes of an input against its port. InvalidArgument: "input
/// 0: expected 4xf32, got 3xf32", with `which` = "input 0".
Status checkInput(const PortType &port, std::string_view which,
                  const TensorType &type, uint64_t bytes);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PROGRAM_PORTS_H
