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
// Text: Tokenizer::load(model->tokenizer()) and StreamDecoder; of
// conversations ChatTemplate::parse(*model->chatTemplate()).
//
// A step that fails ends the session's work; what its sequences had can be read
// and run again in another one (session.h).
//
// Errors are values: Status and Result<T>. Nothing throws or exits, nor
// installs signal handlers; only with MTP_CHECK_RESULTS defined a wrong use of
// a Result ends the process (result.h). Sizes that come from a caller or from a
// file are compared with their limits, and large memory with what the process
// may use, before they are asked for. What is left is memory for small things
// (a string, a list, a map's node): where the system has none, std::bad_alloc
// ends the process, for the library is built without exceptions.
//
// mtp.h is the same for C.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_H
#define MTP_RUNTIME_H

#include "mtp/chat.h"
#include "mtp/model.h"
#include "mtp/result.h"
#include "mtp/session.h"
#include "mtp/status.h"
#include "mtp/stream_decoder.h"
#include "mtp/tensor.h"
#include "mtp/tokenizer.h"
#include "mtp/utf8.h"

#endif // MTP_RUNTIME_H
