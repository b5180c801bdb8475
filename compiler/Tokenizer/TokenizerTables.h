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

namespace mtp {

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
