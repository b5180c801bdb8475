//===- TokenizerTables.h - From tokenizer files to tables -------*- C++ -*-===//
//
// Reads a tokenizer as models ship it and writes the tables that the runtime
// loads, see runtime/schema/mtp_tokenizer.fbs. Needs neither LLVM nor MLIR.
//
// All input is untrusted. A malformed file or an unsupported setting fails with
// a message that names the file, the key and the value; no setting is ignored
// silently. Returned tables have been loaded once by the runtime's code, so
// they are valid.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_TOKENIZER_TOKENIZERTABLES_H
#define MTP_COMPILER_TOKENIZER_TOKENIZERTABLES_H

#include "runtime/core/Result.h"

#include <string>
#include <string_view>
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
/// cannot be read, and otherwise like the functions below.
Result<std::string> buildTokenizerTables(const std::string &path);

/// Build tables from the files' contents. `tokenizerConfig` may be empty. They
/// fail with InvalidArgument for a malformed file, and with Unimplemented for a
/// well-formed file with an unsupported feature.
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
