//===- TokenizerTables.h - From tokenizer files to tables -------*- C++ -*-===//
//
// Reads a tokenizer as models ship it and writes what the runtime loads, see
// runtime/schema/mtp_tokenizer.fbs. Needs neither LLVM nor MLIR.
//
// All input is untrusted. What is malformed, or asks for something that we do
// not do, fails with a message that names the file, the key and the value; no
// setting is ignored silently. Tables that are returned have been loaded by the
// runtime once, so they are valid.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_TOKENIZER_TOKENIZERTABLES_H
#define MTP_COMPILER_TOKENIZER_TOKENIZERTABLES_H

#include "runtime/core/Result.h"

#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// The files in a folder that buildTokenizerTables() would take a tokenizer
/// from; none if there is none that it reads. Looks at names only.
std::vector<std::string> findTokenizerFiles(const std::string &folder);

/// Builds the tables of the tokenizer in a folder. The first of these wins:
/// - tokenizer.json (Hugging Face; kind BPE),
/// - tokenizer.model (SentencePiece),
/// - tiktoken.model (tiktoken's ranks), with the code that
///   tokenizer_config.json names, for the pattern that stands there,
/// - encoder.json with vocab.bpe, or vocab.json with merges.txt (GPT-2).
/// A tokenizer_config.json beside one of the first three says what BOS and EOS
/// are and, for Llama's tokenizer classes, which of them go around a text.
///
/// `path` may also be a file of the first three kinds: one that ends in
/// ".json", one of the name tiktoken.model, or any other.
///
/// Fails with NotFound when there is none of them, Unavailable when one cannot
/// be read, and as below.
Result<std::string> buildTokenizerTables(const std::string &path);

/// Builds tables from the files' contents. `tokenizerConfig` may be empty.
/// Fail with InvalidArgument, or with Unimplemented when a file is well-formed
/// but asks for something not supported.
Result<std::string> tablesFromHuggingFace(std::string_view tokenizerJson,
                                          std::string_view tokenizerConfig);
Result<std::string> tablesFromSentencePiece(std::string_view model,
                                            std::string_view tokenizerConfig);
/// `code` is the text of the Python file that `tokenizerConfig` names.
Result<std::string> tablesFromTiktoken(std::string_view model,
                                       std::string_view tokenizerConfig,
                                       std::string_view code);
Result<std::string> tablesFromGpt2(std::string_view encoderJson,
                                   std::string_view vocabBpe);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_TOKENIZERTABLES_H
