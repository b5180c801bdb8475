//===- FormatSpec.h - Formats one value -------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_FORMATSPEC_H
#define MTP_RUNTIME_JINJA_VALUE_FORMATSPEC_H

#include "runtime/jinja/value/Value.h"

namespace mtp::jinja {

struct FormatSpec {
  std::string fill = " ";
  char align = 0; ///< One of < > ^ =, or 0 for the default of the type.
  char sign = '-';
  int width = 0;
  bool hasCommas = false;
  int precision = -1;
  char type = 0;
};

/// Parses the text after the colon of a replacement field.
Result<FormatSpec> parseFormatSpec(std::string_view text);

/// Formats a value like Python's format().
Result<std::string> formatValue(const Value &value, const FormatSpec &spec);

/// Reads the digits of a width or precision at `pos` and moves `pos` past them.
/// Returns -1 if there are none. Fails if the number is too large.
Result<int> scanSize(std::string_view text, size_t &pos);

/// Pads `text` to the width.
std::string alignText(const std::string &text, const FormatSpec &spec,
                      char otherwise);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_FORMATSPEC_H
