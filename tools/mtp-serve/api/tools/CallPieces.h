//===- CallPieces.h - Tool calls of an answer as they arrive ----*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_TOOLS_CALLPIECES_H
#define MTP_TOOLS_MTP_SERVE_API_TOOLS_CALLPIECES_H

#include "runtime/chat/tools/ToolCallParser.h"
#include "tools/mtp-serve/api/tools/ToolUse.h"

#include <string>
#include <vector>

namespace mtp::serve {

/// A piece of an answer from its first call on.
struct CallPiece {
  enum class Kind : uint8_t {
    Text,      ///< Text between or after calls.
    Begin,     ///< A call begins; the text is the name of its tool.
    Arguments, ///< A piece of the arguments' JSON.
    End,       ///< The call is complete.
    Broken,    ///< The call is not valid; the text is its source, now content.
  };

  Kind kind = Kind::Text;
  /// The number of the call in the answer.
  size_t call = 0;
  std::string text;

  bool isText() const { return kind == Kind::Text || kind == Kind::Broken; }
  bool operator==(const CallPiece &) const = default;
};

/// Pieces of an answer that wait for a reader, in order.
class CallPieces {
public:
  bool isEmpty() const { return pieces.empty(); }
  /// Returns the number of bytes that wait.
  size_t bytes() const { return size; }

  /// Adds a piece. Text and arguments join the piece before.
  void add(CallPiece piece);
  /// Takes pieces with at most `most` bytes of text, in whole characters. A
  /// piece that is too long is divided.
  std::vector<CallPiece> take(size_t most);

private:
  std::vector<CallPiece> pieces;
  size_t size = 0;
};

/// Divides the content of an answer into text and calls.
class CallSplitter {
public:
  explicit CallSplitter(const ToolUse &use)
      : parser(use.facts.format, *use.set), isParallel(use.isParallel) {}

  /// Adds content. Text in front of the first call goes to `text`, all other
  /// parts go to `pieces`.
  void append(std::string_view content, std::string &text, CallPieces &pieces);
  /// Ends the answer; a second call does nothing.
  void finish(std::string &text, CallPieces &pieces);

  /// Returns whether the string of a special token is a part of a mark.
  bool isMark(std::string_view token) const { return parser.isMark(token); }
  /// Returns the number of complete calls.
  size_t count() const { return complete; }
  /// Returns whether the answer has its only call.
  bool hasAll() const { return !isParallel && complete > 0; }

private:
  void add(const ToolEvents &events, std::string &text, CallPieces &pieces);

  ToolCallParser parser;
  bool isParallel, isFinished = false;
  size_t begun = 0, complete = 0;
};

/// A part of a whole answer: text, or a complete call.
struct AnswerBlock {
  bool isCall = false;
  /// The text, or the arguments of a call.
  std::string text;
  std::string name;
  /// The number of the call.
  size_t call = 0;
};

/// Returns the parts of a whole answer with `text` in front of its pieces.
/// Blocks of text are not empty.
std::vector<AnswerBlock> blocksOf(const std::string &text,
                                  const std::vector<CallPiece> &pieces);

/// Returns an id that no other call has: `prefix` and 24 letters and digits.
/// For Mistral's templates an id is nine letters and digits alone.
std::string callId(std::string_view prefix, ToolFormat format,
                   std::string_view answer, size_t choice, size_t call);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_TOOLS_CALLPIECES_H
