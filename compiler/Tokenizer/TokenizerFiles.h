//===- TokenizerFiles.h - Finding a tokenizer's files -----------*- C++ -*-===//

#ifndef MTP_COMPILER_TOKENIZER_TOKENIZERFILES_H
#define MTP_COMPILER_TOKENIZER_TOKENIZERFILES_H

#include "runtime/core/Result.h"

#include <string>
#include <vector>

namespace mtp {

/// Returns the files in a folder that buildTokenizerTables() would read, judged
/// by their names. Empty if there is no supported tokenizer. `folder` may be a
/// tokenizer's file, which is then the only one.
std::vector<std::string> findTokenizerFiles(const std::string &folder);

/// Builds the tables of the tokenizer in a folder. The first of these is used:
/// - tokenizer.json (Hugging Face; kind BPE),
/// - tokenizer.model (SentencePiece),
/// - tiktoken.model (tiktoken's ranks), with the pattern in the code that
///   tokenizer_config.json names,
/// - encoder.json with vocab.bpe, or vocab.json with merges.txt (GPT-2).
///
/// A tokenizer_config.json beside one of the first three defines BOS and EOS
/// and, for Llama's tokenizer classes, which of them are added to a text.
///
/// `path` may also be a file of the first three kinds, or a model in GGUF,
/// whose metadata describe a tokenizer. Otherwise a name that ends in ".json"
/// means Hugging Face, the name tiktoken.model means tiktoken, and any other
/// name means SentencePiece.
///
/// Fails with NotFound if there is no such file, with Unavailable if a file
/// cannot be read, and otherwise like the functions of
/// TokenizerTables.h.
Result<std::string> buildTokenizerTables(const std::string &path);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_TOKENIZERFILES_H
