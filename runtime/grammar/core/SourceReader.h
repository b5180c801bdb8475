//===- SourceReader.h - Reads the characters of a source --------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_CORE_SOURCEREADER_H
#define MTP_RUNTIME_GRAMMAR_CORE_SOURCEREADER_H

#include "runtime/core/Result.h"

#include <string>
#include <string_view>

namespace mtp::grammar {

/// A position in a source, which must be well-formed UTF-8 and outlive the
/// reader.
class SourceReader {
public:
  explicit SourceReader(std::string_view source) : source(source) {}

  bool atEnd() const { return pos == source.size(); }
  size_t position() const { return pos; }
  void setPosition(size_t position) { pos = position; }

  /// Returns the next byte, or 0 at the end.
  char peek() const { return atEnd() ? '\0' : source[pos]; }
  bool startsWith(std::string_view text) const {
    return source.substr(pos).starts_with(text);
  }
  /// Skips `text` if it is next. Returns whether it was.
  bool take(std::string_view text);
  /// Reads a character. There must be one.
  uint32_t takeCharacter();
  /// Reads exactly `count` hexadecimal digits, or nothing.
  bool takeHex(uint32_t count, uint32_t &value);
  /// Reads decimal digits, at least one. A number above 2^31 - 1 becomes
  /// 2^31 - 1.
  bool takeNumber(uint32_t &value);

  /// Returns "line 2, column 5" for the position.
  std::string place() const;
  /// Returns the next character in quotes, or "the end".
  std::string found() const;
  /// Returns InvalidArgument: "`place`: expected `expected`, got `found`".
  Status expected(std::string_view expected) const;

private:
  std::string_view source;
  size_t pos = 0;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_CORE_SOURCEREADER_H
