//===- GrammarConstraint.h - Grammars as constraints ------------*- C++ -*-===//
//
// Connects the grammar library, which knows no sessions, with Request::
// constraint, which knows no grammars.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CONSTRAINT_GRAMMARCONSTRAINT_H
#define MTP_RUNTIME_CONSTRAINT_GRAMMARCONSTRAINT_H

#include "mtp/constraint.h"
#include "mtp/tokenizer.h"
#include "runtime/grammar/Compile.h"
#include "runtime/grammar/mask/Vocabulary.h"

#include <functional>

namespace mtp {

/// Returns the vocabulary of grammars: the bytes of `vocab` tokens. Special
/// tokens are never allowed, unless `isMark` takes their string; nor are ids
/// without a token. `ends` end a text.
Result<std::shared_ptr<const grammar::Vocabulary>> grammarVocabulary(
    const Tokenizer &tokenizer, uint32_t vocab, std::span<const int32_t> ends,
    const std::function<bool(std::string_view)> &isMark = nullptr);

/// Returns the texts of a grammar as a constraint. Requests with equal grammars
/// should share one, since it keeps masks. With a tokenizer, which must outlive
/// the constraint, forced text is proposed as the tokenizer would split it;
/// otherwise as the longest tokens.
std::shared_ptr<const TokenConstraint>
makeConstraint(std::shared_ptr<const grammar::Grammar> grammar,
               std::shared_ptr<const grammar::Vocabulary> vocabulary,
               const Tokenizer *tokenizer = nullptr);

/// Returns the constraint of the rest of a text after `tokens`. If they are not
/// allowed, no token is allowed after them.
std::shared_ptr<const TokenConstraint>
continueConstraint(std::shared_ptr<const TokenConstraint> whole,
                   std::vector<int32_t> tokens);

} // namespace mtp

#endif // MTP_RUNTIME_CONSTRAINT_GRAMMARCONSTRAINT_H
