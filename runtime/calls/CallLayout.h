//===- CallLayout.h - The text around the arguments of calls ----*- C++ -*-===//

#ifndef MTP_RUNTIME_CALLS_CALLLAYOUT_H
#define MTP_RUNTIME_CALLS_CALLLAYOUT_H

#include "runtime/chat/tools/ToolFormat.h"

#include <span>

namespace mtp {

/// Placeholders in layouts: for nine letters and digits, and for a number.
inline constexpr char kAnyId = '\1', kAnyNumber = '\2';

/// How a format writes arguments.
enum class ArgumentForm : uint8_t {
  Json,   ///< A JSON object.
  Tags,   ///< A tag for each argument.
  Python, ///< key=value, key=value
  Gemma,  ///< {key:value}, with strings between two <|"|>.
};

/// The text around the arguments and their values, in a form with tags.
struct TagLayout {
  std::string_view keyBegin, keyEnd;
  /// Follows a value. `mark` is the part of it at which the value ends.
  std::string_view valueEnd, mark;
  /// Whether an attribute after the key says if the value is a string.
  bool hasAttribute = false;
  /// Whether a value without a type in the schema may be JSON.
  bool isJsonByDefault = false;
};

/// How models write calls in a format, as their templates show it. The readers
/// in runtime/chat/tools read more than this.
struct CallLayout {
  ToolFormat format = ToolFormat::None;
  /// The text around all calls, and between two of them.
  std::string_view begin, between, end;
  /// The text in front of the tool's name, between name and arguments, and
  /// after the arguments.
  std::string_view callBegin, nameEnd, callEnd;
  ArgumentForm form = ArgumentForm::Json;
  TagLayout tags = {};
  /// Whether a call ends the answer.
  bool isSingle = false;
};

/// Returns the layouts of a format. A model may use any of them.
std::span<const CallLayout> callLayouts(ToolFormat format);

} // namespace mtp

#endif // MTP_RUNTIME_CALLS_CALLLAYOUT_H
