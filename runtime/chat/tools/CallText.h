//===- CallText.h - The text of an answer as it arrives ---------*- C++ -*-===//

#ifndef MTP_RUNTIME_CHAT_TOOLS_CALLTEXT_H
#define MTP_RUNTIME_CHAT_TOOLS_CALLTEXT_H

#include "runtime/chat/tools/ToolEvent.h"
#include "runtime/chat/tools/ToolSet.h"

#include <string>
#include <string_view>

namespace mtp {

/// Whether text is what a reader expects; More: not all of it has arrived.
enum class Match : uint8_t { Yes, No, More };

/// The text that a call's reader consumes, and the events that it makes. Text
/// is consumed once, so the time is linear in the text.
class CallText {
public:
  explicit CallText(const ToolSet &tools) : tools(tools) {}

  /// Returns the text that has arrived and was not consumed.
  std::string_view rest() const {
    return std::string_view(held).substr(position);
  }
  /// Consumes bytes of rest(), which become a part of the call's source.
  void take(size_t bytes);
  /// Consumes white space.
  void skipSpace();
  /// Consumes `mark` if the rest begins with it.
  Match match(std::string_view mark);
  /// Consumes the text up to `mark`, and `mark` unless `keepsMark`. Adds the
  /// text to `to`. Returns No if `to` would have more than `most` bytes.
  Match takeUntil(std::string_view mark, size_t most, std::string &to,
                  bool keepsMark = false);

  /// Begins a call of a tool. Returns null, and begins none, if the request has
  /// no tool of this name.
  const Tool *begin(std::string_view name);
  bool hasBegun() const { return isBegun; }
  /// Adds a piece of the JSON of the arguments.
  void addArguments(std::string_view json);

private:
  friend class ToolCallParser;

  /// Adds text to the last event if it has the same kind, else an event.
  void add(ToolEvent::Kind kind, std::string_view text);
  /// Drops consumed text.
  void compact();

  const ToolSet &tools;
  ToolEvents *events = nullptr;
  /// Text that has arrived; the first `position` bytes are consumed.
  std::string held;
  size_t position = 0;
  /// The source of the running call, or of the marks in front of the next one.
  std::string source;
  bool isBegun = false;
};

/// Returns the offset of the longest end of `text` that is a beginning of
/// `mark` but not all of it, or the size of `text`.
size_t findBeginning(std::string_view text, std::string_view mark);

/// The bytes that count as white space.
constexpr std::string_view kCallSpace = " \t\r\n";

/// Returns the text without white space at its ends.
std::string_view trimmed(std::string_view text);

/// Returns the text as a JSON string, with or without its quotes.
std::string jsonQuoted(std::string_view text);
std::string jsonEscaped(std::string_view text);

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_TOOLS_CALLTEXT_H
