//===- KnownFields.h - Fields of other servers ------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_KNOWNFIELDS_H
#define MTP_TOOLS_MTP_SERVE_API_KNOWNFIELDS_H

#include "tools/mtp-serve/api/JsonFields.h"

#include <span>

namespace mtp::serve {

/// A field that another server implements and this one does not. Its neutral
/// values change no answer here.
struct KnownField {
  std::string_view name;
  /// The neutral values, separated by spaces: a number, `<=N`, `true`, `false`
  /// or a word. `{}` is an empty object, array or string, and `*` is any value.
  /// `type=WORD` is an object of this type, `[WORD]` an array of only this
  /// word. Empty: no value but null is neutral.
  std::string_view neutral;
};

std::span<const KnownField> knownFields();

/// Returns whether another server has a field of this name.
bool isKnownField(std::string_view name);

/// Returns an error that names the known field unless its value is neutral.
MaybeError checkKnownField(std::string_view name, const JsonElement &element);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_KNOWNFIELDS_H
