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

/// Returns GPT-2's pattern for splitting text into words, in PCRE2's syntax.
std::string gpt2SplitPattern();

/// Appends a Split step. `pattern` is in PCRE2's syntax.
void addSplit(std::string pattern, schema::SplitBehavior behavior, bool invert,
              StepList &steps);

/// Appends the steps of a normalizer.
Status readNormalizer(const JsonValue &value, StepList &steps);

/// Appends the steps of a pre-tokenizer. Sets `isByteLevel` if one of them is
/// ByteLevel, which means that the model's symbols are bytes.
Status readPreTokenizer(const JsonValue &value, StepList &steps,
                        bool &isByteLevel);

/// How pieces become text.
struct PieceDecoder {
  bool isByteLevel = false;
  bool byteFallback = false; ///< "<0x0A>" is a byte.
  /// `from` is replaced by `to` in each piece, unless it is empty.
  std::string from, to;
  uint32_t stripLeadingSpaces = 0;
  /// The first piece loses all leading spaces.
  bool firstWithoutSpaces = false;
};

Result<PieceDecoder> readDecoder(const JsonValue &value);

/// Appends the tokens that a post-processor adds before and after a single
/// text.
Status readPostProcessor(const JsonValue &value, std::vector<uint32_t> &prefix,
                         std::vector<uint32_t> &suffix);

/// Reads an added token without its id.
Status readAddedTokenFields(const JsonValue &value, schema::AddedTokenT &token);

/// Returns an Unimplemented error: the value is well-formed but not supported.
Status unsupportedValue(const JsonValue &value, const std::string &expected);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_HUGGINGFACESTEPS_H
