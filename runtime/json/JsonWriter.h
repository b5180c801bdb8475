//===- JsonWriter.h - Write JSON --------------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JSON_JSONWRITER_H
#define MTP_RUNTIME_JSON_JSONWRITER_H

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// Writes one JSON value. Calls must be balanced; keys come before values
/// inside objects.
class JsonWriter {
public:
  enum class Layout {
    /// Two spaces per indentation level.
    Indented,
    OneLine,
  };
  explicit JsonWriter(Layout layout = Layout::Indented) : layout(layout) {}

  void beginObject() { open('{'); }
  void endObject() { close('}'); }
  void beginArray() { open('['); }
  void endArray() { close(']'); }
  void key(std::string_view name);

  void value(std::string_view text);
  void value(const char *text) { value(std::string_view(text)); }
  void value(bool truth) { raw(truth ? "true" : "false"); }
  void null() { raw("null"); }
  /// Writes text that is JSON already.
  void raw(std::string_view text);
  /// Writes a number. NaN and infinities become null.
  void value(double number);
  template <std::integral T>
  void value(T number) {
    raw(std::to_string(number));
  }
  /// Writes an array on one line.
  template <typename T>
  void value(const std::vector<T> &numbers) {
    std::string text = "[";
    for (const T &number : numbers)
      text += (text.size() > 1 ? ", " : "") + std::to_string(number);
    raw(text + "]");
  }

  template <typename T>
  void field(std::string_view name, const T &content) {
    key(name);
    value(content);
  }

  const std::string &text() const { return out; }

private:
  void open(char bracket);
  void close(char bracket);
  void separate();
  void quote(std::string_view text);

  Layout layout;
  std::string out;
  unsigned depth = 0;
  bool first = true;
  bool afterKey = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_JSON_JSONWRITER_H
