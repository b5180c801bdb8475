//===- BpeVerifier.h - Semantic checks of BPE tables ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_TOKENIZER_BPEVERIFIER_H
#define MTP_RUNTIME_TOKENIZER_BPEVERIFIER_H

#include "runtime/core/Status.h"

namespace mtp {

namespace schema {
struct Tokenizer;
} // namespace schema

/// Checks the ids, the order and the pieces of all merges, characters and whole
/// words. The pieces must already be verified.
Status verifyBpe(const schema::Tokenizer &tables);

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_BPEVERIFIER_H
