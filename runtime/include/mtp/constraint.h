//===- constraint.h - Tokens that may follow a text -------------*- C++ -*-===//
//
// A constraint decides which tokens may come next: for example a grammar. The
// session asks the constraint for masks and knows nothing else about it.
//
// Ownership: a session shares constraints, and owns the matchers of its
// sequences. Spans are valid during the call only.
//
// Threads: sessions of different threads may use one constraint, and matchers
// of one constraint, at once. One thread at a time uses a matcher.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_CONSTRAINT_H
#define MTP_RUNTIME_INCLUDE_MTP_CONSTRAINT_H

#include "mtp/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mtp {

class Model;

/// The place of one text in a constraint.
class ConstraintMatcher {
public:
  virtual ~ConstraintMatcher() = default;

  /// Appends an output token. Fails if the token is not allowed; the sequence
  /// then fails with this error.
  virtual Status accept(int32_t token) = 0;

  /// Sets the bit of each token that may follow the text, and clears all other
  /// bits. `words` has an element for each 32 tokens: bit v % 32 of word v / 32
  /// is of token v. An end token must have its bit only if the text may end. If
  /// the function fails, the sequence fails with this error.
  virtual Status mask(std::span<uint32_t> words) = 0;

  /// Returns a copy of the place, which accepts tokens independently. The
  /// session owns the copies, with which it follows paths of drafts. Not null.
  virtual std::unique_ptr<ConstraintMatcher> fork() const = 0;

  /// Returns at most `most` tokens that will probably follow, in order, because
  /// the constraint leaves no choice of text; empty if there is a choice. The
  /// session proposes the tokens in place of drafts. Output does not depend on
  /// them.
  virtual std::vector<int32_t> forced(size_t most) { return {}; }
};

/// A set of texts over a vocabulary. Immutable.
class TokenConstraint {
public:
  virtual ~TokenConstraint() = default;

  /// Returns the number of tokens of a mask.
  virtual uint32_t vocab() const = 0;
  /// Returns the place of the empty text.
  virtual std::unique_ptr<ConstraintMatcher> begin() const = 0;
};

/// A description of a set of texts.
struct ConstraintSource {
  enum class Kind : uint8_t {
    JsonObject, ///< Any JSON object.
    JsonSchema, ///< `text` is a JSON Schema.
    Regex,      ///< `text` is a regular expression of whole texts.
    Gbnf,       ///< `text` is a grammar of llama.cpp.
    Choice,     ///< One of `choices`.
  };
  Kind kind = Kind::JsonObject;
  std::string text;
  std::vector<std::string> choices;
};

/// Compiles a source to a constraint for requests in sessions of `model`, and
/// of other models with an equal tokenizer. `model` may end before it. A
/// sequence ends when the constraint allows no longer text. Requests with equal
/// sources should share a constraint, which keeps masks. Thread-safe; takes up
/// to seconds for the largest sources.
///
/// Fails with FailedPrecondition if the artifact has no model, no tokenizer or
/// no end tokens. Fails with InvalidArgument if the source is malformed or
/// allows no text, with Unimplemented if it needs something that is not
/// supported, and with ResourceExhausted at a limit. Messages name the place.
Result<std::shared_ptr<const TokenConstraint>>
compileConstraint(const Model &model, const ConstraintSource &source);

} // namespace mtp

#endif // MTP_RUNTIME_INCLUDE_MTP_CONSTRAINT_H
