//===- Split.h - Divides text at matches ------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_TOKENIZER_SPLIT_H
#define MTP_RUNTIME_TOKENIZER_SPLIT_H

#include "runtime/tokenizer/Regex.h"

#include <vector>

namespace mtp {

namespace schema {
enum class SplitBehavior : uint8_t;
} // namespace schema

/// Divides `range` at `matches`, which are ascending, disjoint and in the
/// range. Appends the parts that the behaviour keeps to `pieces`, except empty
/// ones. `invert` swaps the roles of matches and of text between them.
void splitAt(TextSpan range, const std::vector<TextSpan> &matches,
             schema::SplitBehavior behavior, bool invert,
             std::vector<TextSpan> &pieces);

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_SPLIT_H
