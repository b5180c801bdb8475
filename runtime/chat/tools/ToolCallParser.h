//===- ToolCallParser.h - Tool calls in answers -----------------*- C++ -*-===//
//
// A model writes a call of a tool in the format of its family. A parser divides
// the answer into content and calls while the text arrives:
//
//   MTP_ASSIGN_OR_RETURN(ToolSet tools, ToolSet::read(json));
//   ToolCallParser parser(detectToolFormat(chat->source(true)), tools);
//   parser.append(text, events);   // for each piece of the answer
//   parser.finish(events);
//
// A call that is not complete or not valid is content. If its name was known,
// its events have begun, and Broken ends them. The arguments of each complete
// call are one JSON object.
//
// Limits: names have at most 128 bytes, and JSON is at most 64 deep. The time
// is linear in the answer, and the memory is that of the running call.
//
// Threads: one thread at a time may use a parser.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CHAT_TOOLS_TOOLCALLPARSER_H
#define MTP_RUNTIME_CHAT_TOOLS_TOOLCALLPARSER_H

#include "runtime/chat/tools/CallReader.h"
#include "runtime/chat/tools/ToolFormat.h"

namespace mtp {

class ToolCallParser {
public:
  /// Begins an answer. `tools` must outlive the parser. A call of a tool that
  /// is not among them is content.
  ToolCallParser(ToolFormat format, const ToolSet &tools);

  /// Adds the next text of the answer, in whole characters. Events are appended
  /// to `events`.
  void append(std::string_view text, ToolEvents &events);
  /// Ends the answer.
  void finish(ToolEvents &events);

  /// Returns whether the string of a special token is a part of a mark, so that
  /// append() must get it.
  bool isMark(std::string_view token) const;

private:
  enum class State : uint8_t { Content, Section, Call };

  void run(bool isLast);
  bool readContent(bool isLast);
  Match readSeparator();
  bool readSection();
  bool readCall();
  const CallOpening *openingOf(std::string_view rest, bool &mayGrow) const;
  const CallOpening *findOpening(size_t &at, bool isLast) const;
  bool openStart();
  void open(const CallOpening &opening);
  void beginCall();
  void leaveSection();
  void finishSection();
  void breakCall();
  void addContent(std::string_view text);

  std::unique_ptr<CallReader> reader;
  CallText text;
  State state = State::Content;
  const CallSection *section = nullptr;
  /// Whether the section has had a call, and whether its separator must follow.
  bool isAfterCall = false, needsSeparator = false;
  /// White space at the end of the content so far. It belongs to the source of
  /// a call that follows.
  std::string space;
  /// Whether the answer has had content, and whether the last event was the
  /// end of a call or of a section.
  bool hasContent = false, isAfterEnd = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_TOOLS_TOOLCALLPARSER_H
