//===- runtime.h - Load an artifact and generate ----------------*- C++ -*-===//
//
// The C++ interface of the mtpc runtime:
//
//   auto model = mtp::Model::load("model.bin");
//   auto session = mtp::Session::create(*model);
//   auto id = (*session)->add({.prompt = {1, 2, 3}, .maxTokens = 32});
//   while (!(*session)->idle())
//     for (const mtp::SequenceUpdate &update : *(*session)->step())
//       use(update.tokens);
//
// Errors are values: Status and Result<T>. Nothing throws, aborts or exits, nor
// installs signal handlers. mtp.h is the same for C.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_H
#define MTP_RUNTIME_H

#include "mtp/model.h"
#include "mtp/session.h"
#include "mtp/tensor.h"

#endif // MTP_RUNTIME_H
