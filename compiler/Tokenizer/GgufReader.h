//===- GgufReader.h - The tokenizer of a GGUF file --------------*- C++ -*-===//

#ifndef MTP_COMPILER_TOKENIZER_GGUFREADER_H
#define MTP_COMPILER_TOKENIZER_GGUFREADER_H

#include "compiler/Weights/Gguf.h"
#include "runtime/chat/ChatTemplate.h"
#include "runtime/core/Result.h"

#include <string>

namespace mtp {

/// Builds the tables of the tokenizer in a file's metadata: byte-level BPE
/// (`gpt2`), or SentencePiece's BPE (`llama`). Fails with Unimplemented for
/// other models and for unknown names of `tokenizer.ggml.pre`.
Result<std::string> tablesFromGguf(const GgufHeader &header);

/// Returns the chat templates in a file's metadata, and the special tokens that
/// templates refer to by name. There may be no template. Sizes are not checked.
Result<ChatSource> chatFromGguf(const GgufHeader &header);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_GGUFREADER_H
