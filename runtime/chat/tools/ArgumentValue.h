//===- ArgumentValue.h - Arguments that are text ----------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CHAT_TOOLS_ARGUMENTVALUE_H
#define MTP_RUNTIME_CHAT_TOOLS_ARGUMENTVALUE_H

#include "runtime/chat/tools/ToolSet.h"

#include <optional>

namespace mtp {

/// Returns the JSON of an argument that a model wrote as text. The types of the
/// schema decide, as in vLLM:
/// - a number, `true`, `false`, `null`, an object or an array, if the schema
///   has the type; Python's `True`, `False`, `None`, dicts and lists as well;
/// - else a string, unchanged. So a value that fits no type is a string.
/// - A value without types is a string, or any JSON if `isJsonByDefault`.
std::string argumentJson(std::string_view text, const ValueTypes &types,
                         bool isJsonByDefault);

/// Returns the JSON of a Python literal: a string, number, True, False, None, a
/// list, tuple or dict. Nothing for other text, or beyond 64 levels.
std::optional<std::string> pythonToJson(std::string_view text);

/// Returns the JSON object of a Python call's keyword arguments:
/// `key="value", other=1`.
std::optional<std::string> pythonArgumentsToJson(std::string_view text);

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_TOOLS_ARGUMENTVALUE_H
