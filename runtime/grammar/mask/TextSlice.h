//===- TextSlice.h - Tokens of plain text -----------------------*- C++ -*-===//
//
// Most tokens are plain text, which most strings of a grammar allow. A *slice*
// is a set of such tokens: they have only characters that JSON needs not escape
// in strings, and at most a number of them. If a frontier allows all text of a
// slice, the mask is the slice's, and only tokens outside are walked.
// llguidance (Microsoft, 2024) introduced slices.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_GRAMMAR_MASK_TEXTSLICE_H
#define MTP_RUNTIME_GRAMMAR_MASK_TEXTSLICE_H

#include "runtime/grammar/machine/Machine.h"

#include <optional>
#include <string_view>

namespace mtp::grammar {

/// A number of characters without limit.
constexpr uint32_t kAnyLength = ~0u;

/// Returns the number of characters if all of them are plain text. The last one
/// may be incomplete. Plain text is UTF-8 without `"`, `\` and characters below
/// U+0020.
std::optional<uint32_t> plainLength(std::string_view bytes);

/// Returns the number of characters n, at most `most`, such that each plain
/// text of n characters and each beginning of it continues `frontier` in any
/// context. Returns kAnyLength if all plain texts do.
uint32_t allowedPlainLength(Machine &machine, FrontierId frontier,
                            uint32_t most);

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_MASK_TEXTSLICE_H
