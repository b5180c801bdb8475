//===- Matcher.h - Holds the tokens of a sequence to a grammar --*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_MATCHER_MATCHER_H
#define MTP_RUNTIME_GRAMMAR_MATCHER_MATCHER_H

#include "runtime/core/Result.h"
#include "runtime/grammar/matcher/TokenGrammar.h"

#include <deque>

namespace mtp::grammar {

/// The state of one sequence. A copy is another sequence with an equal text, so
/// each path of a draft tree can have a copy; it takes time in proportion to
/// Limits::rollback. One thread at a time may use a matcher. Different matchers
/// of one TokenGrammar may be used at once.
class Matcher {
public:
  /// Begins an empty text.
  explicit Matcher(std::shared_ptr<TokenGrammar> tokens);

  /// Appends a token. Fails with InvalidArgument, without effect, if the
  /// grammar does not allow it.
  Status accept(int32_t token);
  /// Appends a token and returns true, or returns false without effect.
  bool tryAccept(int32_t token);
  /// Appends text of any bytes, without a token. rollback() counts it as one
  /// token. Returns false, without effect, if the grammar does not allow it.
  bool tryAcceptBytes(std::string_view bytes);

  /// Takes back the last tokens. Fails with OutOfRange, without effect, if
  /// `count` is more than canRollback().
  Status rollback(size_t count);
  /// Returns the number of tokens that can be taken back, at most
  /// Limits::rollback.
  size_t canRollback() const { return history.size(); }

  /// Sets the bit of each token that accept() would accept, and clears all
  /// other bits.
  ///
  /// Fails with InvalidArgument, without effect, if `words` has not
  /// Vocabulary::maskWords() words. Fails with ResourceExhausted if the grammar
  /// is so ambiguous that the tokens need more than Limits::cacheBytes. `words`
  /// is then unspecified.
  Status mask(std::span<uint32_t> words);

  /// Sets the masks along a draft chain, without effect on the sequence: row i
  /// of `words` is the mask after the first i drafts. Stops at the first draft
  /// that the grammar does not allow.
  ///
  /// `words` must have a row of Vocabulary::maskWords() words for each draft
  /// and one more. Returns the number of rows that are set, at least 1. Fails
  /// as mask() does. For a draft tree call it per path.
  Result<size_t> maskPath(std::span<const int32_t> drafts,
                          std::span<uint32_t> words) const;

  /// Returns a sequence with an equal text whose tokens cannot be taken back.
  Matcher fork() const;

  /// Whether the text is complete, so that end tokens are allowed.
  bool isTerminated() const;
  /// Whether an end token was accepted. Only end tokens are allowed then.
  bool isEnded() const { return at.isEnded; }

  /// Returns the bytes that each text of the grammar has next, at most `most`.
  std::string forcedBytes(size_t most);
  /// Returns at most `most` tokens for forcedBytes(), each as long as possible.
  /// A token that the next bytes could lengthen is left out. They are
  /// proposals: if the model prefers other tokens for these bytes, the grammar
  /// allows them.
  std::vector<int32_t> forcedTokens(size_t most);

private:
  using Generation = TokenGrammar::Generation;
  /// The place of the sequence after a token.
  struct Position {
    FrontierId frontier = kDeadFrontier;
    FrameStack frames;
    bool isEnded = false;
  };

  /// Moves to the present generation. The caller holds the lock.
  void refresh();
  /// Continues a position by bytes. Returns false if the grammar forbids them.
  bool advance(Position &position, std::string_view bytes);
  /// Opens and leaves frames after a step.
  bool settle(Position &position, Step step);
  bool open(Position &position, Step step);
  bool appendToken(int32_t token);
  void commit(Position position);
  bool isComplete(const Position &position) const;
  /// Returns forced bytes and continues `position` by them. The caller holds
  /// the lock.
  std::string findForced(Position &position, size_t most);

  std::shared_ptr<TokenGrammar> tokens;
  std::shared_ptr<Generation> generation;
  Position at;
  /// Positions before the last tokens, the latest last.
  std::deque<Position> history;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_MATCHER_MATCHER_H
