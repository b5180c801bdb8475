//===- TextPipeline.h - Normalizes and divides text -------------*- C++ -*-===//
//
// The normalizer and the pre-tokenizer are lists of small steps over pieces of
// text. The normalizer gets one piece. The pre-tokenizer divides it further,
// and no merge crosses the border of two pieces.
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

/// A text and the pieces that a step works on. Pieces are ascending, disjoint
/// and not empty. Text outside of all pieces has been removed.
struct PieceList {
  std::string text;
  std::vector<TextSpan> pieces;
};

/// A list of steps. Immutable; const methods are thread-safe.
class TextPipeline {
public:
  using StepTables = std::vector<const schema::TextStep *>;

  /// Copies the steps. Fails with InvalidArgument or OutOfRange if a step is
  /// malformed. The message has its index.
  static Result<TextPipeline> create(const StepTables &steps);

  bool empty() const { return steps.empty(); }
  /// Returns whether a step may divide a character. The pieces are then bytes.
  bool splitsCharacters() const { return yieldsBytes; }

  /// Applies all steps to `list`. `atStart` says that its first piece starts
  /// the whole text. The text must be well-formed UTF-8, and stays so unless
  /// splitsCharacters(). One scratch per text limits the steps of all its
  /// parts.
  ///
  /// Fails with ResourceExhausted if a pattern takes too many steps or the text
  /// grows too much, and with Unavailable if the scratch is cancelled. `list`
  /// is then unspecified.
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
