//===- Result.h - A value or a failure --------------------------*- C++ -*-===//
//
// The declarations are public, so they are in the public headers.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CORE_RESULT_H
#define MTP_RUNTIME_CORE_RESULT_H

#include "mtp/result.h" // IWYU pragma: export

#endif // MTP_RUNTIME_CORE_RESULT_H
