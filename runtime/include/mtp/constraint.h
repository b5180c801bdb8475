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

namespace mtp {

/// The place of one text in a constraint.
class ConstraintMatcher {
public:
  virtual ~ConstraintMatcher() = default;

  /// Appends an output token. Fails if the token is not allowed; the sequence
  /// then fails with this error.
  virtual Status accept(int32_t token) = 0;

  /// Sets row i of `words` to the tokens that may follow the text and the first
  /// i drafts, without effect on the text. A row has a bit per token, in words
  /// of 32 bits, and `words` a row more than there are drafts. Stops at the
  /// first draft that is not allowed. Returns the number of rows that are set,
  /// at least 1. An end token must have its bit only where the text may end.
  virtual Result<size_t> maskPath(std::span<const int32_t> drafts,
                                  std::span<uint32_t> words) const = 0;
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

} // namespace mtp

#endif // MTP_RUNTIME_INCLUDE_MTP_CONSTRAINT_H
