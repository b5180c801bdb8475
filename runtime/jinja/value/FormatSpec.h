//===- FormatSpec.h - How one value is formatted ----------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_FORMATSPEC_H
#define MTP_RUNTIME_JINJA_VALUE_FORMATSPEC_H

#include "runtime/jinja/value/Value.h"

namespace mtp::jinja {

struct FormatSpec {
  std::string fill = " ";
  char align = 0; ///< One of < > ^ =, or 0: as the kind of value has it.
  char sign = '-';
  int width = 0;
  bool hasCommas = false;
  int precision = -1;
  char type = 0;
};

/// Parses what stands behind the colon in a replacement field.
Result<FormatSpec> parseFormatSpec(std::string_view text);

/// Formats as Python's format() does.
Result<std::string> formatValue(const Value &value, const FormatSpec &spec);

/// A width or precision: digits at `pos`, which is moved behind them. -1 if
/// there are none; fails if it is too large.
Result<int> scanSize(std::string_view text, size_t &pos);

/// Fills `text` up to the width.
std::string alignText(const std::string &text, const FormatSpec &spec,
                      char otherwise);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_FORMATSPEC_H
