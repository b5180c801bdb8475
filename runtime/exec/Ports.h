//===- Ports.h - What a function takes --------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_PORTS_H
#define MTP_RUNTIME_EXEC_PORTS_H

#include "mtp/result.h"
#include "mtp/tensor.h"

#include <cstddef>

namespace mtp {

/// InvalidArgument when type or bytes of input `index` are not its port's:
/// "input 0: expected 4xf32, got 3xf32".
Status checkInput(const PortType &port, size_t index, const TensorType &type,
                  uint64_t bytes);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_PORTS_H
