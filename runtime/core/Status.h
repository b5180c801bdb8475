//===- Status.h - Success or a failure --------------------------*- C++ -*-===//
//
// The declarations are public, so they are in the public headers.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CORE_STATUS_H
#define MTP_RUNTIME_CORE_STATUS_H

#include "mtp/status.h" // IWYU pragma: export

#endif // MTP_RUNTIME_CORE_STATUS_H
