//===- Split.h - Cutting text at matches ------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_TOKENIZER_SPLIT_H
#define MTP_RUNTIME_TOKENIZER_SPLIT_H

#include "runtime/tokenizer/Regex.h"

#include <vector>

namespace mtp {

namespace schema {
enum class SplitBehavior : uint8_t;
} // namespace schema

/// Cuts `range` at `matches` (ascending, disjoint, within the range) and
/// appends what is left of it to `pieces`, empty parts excepted. With `invert`
/// the text between the matches takes their role.
void splitAt(TextSpan range, const std::vector<TextSpan> &matches,
             schema::SplitBehavior behavior, bool invert,
             std::vector<TextSpan> &pieces);

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_SPLIT_H
