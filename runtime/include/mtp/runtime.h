//===- runtime.h - Load an artifact and generate ----------------*- C++ -*-===//
//
// The C++ interface of the mtpc runtime:
//
//   MTP_ASSIGN_OR_RETURN(auto model, mtp::Model::load("model.bin"));
//   MTP_ASSIGN_OR_RETURN(auto session, mtp::Session::create(model));
//   MTP_ASSIGN_OR_RETURN(auto id, session->add({.prompt = {1, 2, 3}}));
//   while (!session->idle()) {
//     MTP_ASSIGN_OR_RETURN(auto updates, session->step());
//     for (const mtp::SequenceUpdate &update : updates)
//       use(update.tokens);
//   }
//
// Text: Tokenizer::load(model->tokenizer()) and StreamDecoder; for
// conversations ChatTemplate::parse(*model->chatTemplate()).
//
// A step that fails ends the session's work. The tokens of its sequences can
// still be read, and the sequences can run again in another session
// (session.h).
//
// Errors are values: Status and Result<T>. Nothing throws, exits or installs
// signal handlers. Only with MTP_CHECK_RESULTS defined does the misuse of a
// Result end the process (result.h).
//
// Sizes that come from a caller or a file are compared with their limits before
// memory is allocated. Large allocations are compared with the memory that the
// process may use. Small allocations (a string, a list, a map's node) are not
// checked: if the system has no memory for one, std::bad_alloc ends the
// process, because the library is built without exceptions.
//
// mtp.h is the same interface for C.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_RUNTIME_H
#define MTP_RUNTIME_INCLUDE_MTP_RUNTIME_H

#include "mtp/chat.h"
#include "mtp/logprobs.h"
#include "mtp/model.h"
#include "mtp/result.h"
#include "mtp/saved_prefix.h"
#include "mtp/session.h"
#include "mtp/status.h"
#include "mtp/stream_decoder.h"
#include "mtp/tensor.h"
#include "mtp/tokenizer.h"
#include "mtp/utf8.h"

#endif // MTP_RUNTIME_INCLUDE_MTP_RUNTIME_H
