//===- Gpt2Reader.cpp - encoder.json and vocab.bpe ------------------------===//

#include "compiler/Tokenizer/HuggingFaceSteps.h"
#include "compiler/Tokenizer/TokenizerTables.h"
#include "compiler/Tokenizer/Vocabulary.h"
#include "runtime/utf8/Utf8.h"

using namespace mtp;

namespace {

constexpr std::string_view kEndOfText = "<|endoftext|>";

/// Reads the lines of vocab.bpe. The first line may be a comment.
Result<std::vector<MergePair>> readMergeLines(std::string_view text) {
  if (size_t pos = findInvalidUtf8(text); pos != text.size())
    return invalidArgument("vocab.bpe: expected UTF-8, got an ill-formed byte "
                           "at " +
                           std::to_string(pos));
  std::vector<MergePair> pairs;
  size_t number = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.substr(0, 9) == "#version:"))
      continue;
    std::optional<MergePair> pair = splitMerge(line);
    if (!pair)
      return invalidArgument("vocab.bpe: expected two pieces in line " +
                             std::to_string(number) + ", got '" +
                             std::string(line.substr(0, 60)) + "'");
    pairs.push_back(*pair);
  }
  return pairs;
}

} // namespace

Result<std::string> mtp::tablesFromGpt2(std::string_view encoderJson,
                                        std::string_view vocabBpe) {
  MTP_ASSIGN_OR_RETURN(JsonDocument document,
                       JsonDocument::parse("encoder.json", encoderJson));
  MTP_ASSIGN_OR_RETURN(Vocabulary vocabulary,
                       Vocabulary::read(document.root()));
  MTP_ASSIGN_OR_RETURN(std::vector<MergePair> pairs, readMergeLines(vocabBpe));

  schema::TokenizerT tables;
  std::vector<std::string> pieces;
  MTP_RETURN_IF_ERROR(
      setByteLevelPieces(vocabulary, /*wholeWords=*/false, pieces, tables));
  MTP_RETURN_IF_ERROR(
      setMerges(vocabulary, pairs, "merges", tables).withContext("vocab.bpe"));
  addSplit(gpt2SplitPattern(), schema::SplitBehavior::Isolated,
           /*invert=*/false, tables.pre_tokenizer);

  if (std::optional<uint32_t> id = vocabulary.find(kEndOfText)) {
    auto token = std::make_unique<schema::AddedTokenT>();
    token->content = kEndOfText;
    token->id = *id;
    token->special = true;
    tables.added_tokens.push_back(std::move(token));
    tables.bos_id = tables.eos_id = static_cast<int32_t>(*id);
  }
  return finishTables(pieces, tables);
}
