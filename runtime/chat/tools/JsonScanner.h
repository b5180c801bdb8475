//===- JsonScanner.h - Check JSON that arrives in pieces --------*- C++ -*-===//

#ifndef MTP_RUNTIME_CHAT_TOOLS_JSONSCANNER_H
#define MTP_RUNTIME_CHAT_TOOLS_JSONSCANNER_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mtp {

/// Checks one JSON value, byte by byte. The time is linear in the text.
class JsonScanner {
public:
  /// Limit on nested objects and arrays.
  static constexpr size_t kMostDepth = 64;

  enum class Result : uint8_t {
    More,   ///< The value goes on after the text.
    Done,   ///< The value has ended.
    Failed, ///< The text is not JSON, or nested too deep.
  };

  /// Reads the part of `text` that belongs to the value, and sets `used` to its
  /// size. A number ends in front of the first byte that is not part of it. If
  /// the text fails, `used` is the number of bytes in front of the wrong one.
  Result scan(std::string_view text, size_t &used);

  /// Begins another value.
  void reset();

  /// Returns whether a whole text is one JSON value, without white space around
  /// it.
  static bool isValue(std::string_view text);

private:
  enum class At : uint8_t {
    Value,
    FirstItem, ///< A value, or the end of an array.
    FirstKey,  ///< A key, or the end of an object.
    Key,
    Colon,
    Next, ///< A comma, or the end of an array or object.
    String,
    Escape,
    Hex,
    Word,
    Number,
    Done,
    Failed,
  };
  enum class Digits : uint8_t {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    Sign,
    Power
  };

  /// Reads a byte. Returns false if the byte must be read again.
  bool push(char c);
  bool pushBetween(char c);
  bool pushString(char c);
  bool pushWord(char c);
  bool pushNumber(char c);
  bool beginValue(char c);
  bool endContainer(char c);
  bool isNumberWhole() const;
  void endValue();
  bool fail();

  At at = At::Value;
  /// The open brackets, outermost first.
  std::string open;
  /// The rest of `true`, `false` or `null`.
  std::string_view word;
  Digits digits = Digits::Zero;
  uint8_t hexLeft = 0;
  /// Whether the string is a key.
  bool isKey = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_TOOLS_JSONSCANNER_H
