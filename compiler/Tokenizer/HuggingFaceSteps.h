//===- HuggingFaceSteps.h - tokenizer.json's pipelines ----------*- C++ -*-===//

#ifndef MTP_COMPILER_TOKENIZER_HUGGINGFACESTEPS_H
#define MTP_COMPILER_TOKENIZER_HUGGINGFACESTEPS_H

#include "compiler/Tokenizer/Json.h"
#include "runtime/schema/mtp_tokenizer_generated.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mtp {

using StepList = std::vector<std::unique_ptr<schema::TextStepT>>;

/// GPT-2's way to cut text into words, as PCRE2 has it.
std::string gpt2SplitPattern();

/// Appends a Split step. `pattern` is in PCRE2's syntax.
void addSplit(std::string pattern, schema::SplitBehavior behavior, bool invert,
              StepList &steps);

/// Appends the steps of a normalizer.
Status readNormalizer(const JsonValue &value, StepList &steps);

/// Appends the steps of a pre-tokenizer. Sets `isByteLevel` when there is a
/// ByteLevel among them, i.e. when the model's symbols are bytes.
Status readPreTokenizer(const JsonValue &value, StepList &steps,
                        bool &isByteLevel);

/// What turns pieces into text.
struct PieceDecoder {
  bool isByteLevel = false;
  bool byteFallback = false; ///< "<0x0A>" is a byte.
  std::string from, to;      ///< Replaced in every piece, unless empty.
  uint32_t stripLeadingSpaces = 0;
  bool firstWithoutSpaces = false; ///< The first piece loses all of them.
};

Result<PieceDecoder> readDecoder(const JsonValue &value);

/// Appends what a post-processor puts before and after a single text.
Status readPostProcessor(const JsonValue &value, std::vector<uint32_t> &prefix,
                         std::vector<uint32_t> &suffix);

/// Reads an added token but for its id.
Status readAddedTokenFields(const JsonValue &value, schema::AddedTokenT &token);

/// `expected` with code Unimplemented: well-formed, but not for us.
Status unsupportedValue(const JsonValue &value, const std::string &expected);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_HUGGINGFACESTEPS_H
