//===- TextPipeline.h - From text to the model's words ----------*- C++ -*-===//
//
// A tokenizer's normaliser and its pre-tokeniser are both lists of small steps
// over pieces of text. The normaliser sees one piece; the pre-tokeniser cuts it
// further, and no merge ever crosses a cut.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_TOKENIZER_TEXTPIPELINE_H
#define MTP_RUNTIME_TOKENIZER_TEXTPIPELINE_H

#include "runtime/core/Result.h"
#include "runtime/tokenizer/Regex.h"

#include <optional>
#include <string>
#include <vector>

namespace mtp {

namespace schema {
struct TextStep;
enum class SplitBehavior : uint8_t;
enum class TextStepKind : uint8_t;
} // namespace schema

/// Text, and the parts of it that a step works on: ascending, disjoint and not
/// empty. What is in no piece has been removed.
struct PieceList {
  std::string text;
  std::vector<TextSpan> pieces;
};

/// An immutable list of steps; const methods are thread-safe.
class TextPipeline {
public:
  using StepTables = std::vector<const schema::TextStep *>;

  /// Copies what it needs of `steps`. Fails with InvalidArgument or OutOfRange
  /// when a step is malformed; the message names its index.
  static Result<TextPipeline> create(const StepTables &steps);

  bool empty() const { return steps.empty(); }
  /// Pieces may be cut anywhere in a character, so they are bytes and not text.
  bool splitsCharacters() const { return yieldsBytes; }

  /// Takes `list` through all steps. `atStart` says that its first piece starts
  /// the whole text. The text must be well-formed UTF-8, and stays so unless
  /// splitsCharacters(). One scratch per text bounds the steps for all of its
  /// parts.
  ///
  /// Fails with ResourceExhausted when a pattern takes too many steps or the
  /// text grows beyond any proportion, and with Unavailable where the scratch
  /// is cancelled; `list` is unspecified then.
  Status apply(PieceList &list, bool atStart, MatchScratch &scratch) const;

private:
  struct Step {
    schema::TextStepKind kind;
    schema::SplitBehavior behavior;
    bool invert;
    bool unlessPresent;
    bool onlyAtStart;
    std::string text;
    std::optional<Regex> pattern;
  };

  static Result<Step> createStep(const schema::TextStep &table);
  static Status applyStep(const Step &step, PieceList &list, bool atStart,
                          size_t maxBytes, MatchScratch &scratch);

  std::vector<Step> steps;
  bool yieldsBytes = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_TEXTPIPELINE_H
