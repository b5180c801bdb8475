//===- CallReader.h - Read the calls of a format ----------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CHAT_TOOLS_CALLREADER_H
#define MTP_RUNTIME_CHAT_TOOLS_CALLREADER_H

#include "runtime/chat/tools/CallText.h"

#include <memory>
#include <span>

namespace mtp {

/// Calls that follow each other in one section of an answer.
struct CallSection {
  /// The mark in front of each call; empty: none.
  std::string_view call;
  /// The mark after the last call; empty: none.
  std::string_view end;
  /// The byte between two calls; zero: none.
  char separator = 0;
};

/// A mark at which calls begin.
struct CallOpening {
  std::string_view mark;
  /// Null: a single call.
  const CallSection *section = nullptr;
  /// Whether the section begins here and its call mark follows. Else the first
  /// call begins.
  bool isSectionOnly = false;
  /// Whether the mark counts only as the first text of an answer and is the
  /// first byte of the call.
  bool isStart = false;
};

/// Reads calls of one format. A reader expects text, and a text that differs is
/// content.
class CallReader {
public:
  virtual ~CallReader() = default;

  virtual std::span<const CallOpening> openings() const = 0;
  /// Returns marks other than openings. A tokenizer may have tokens for them.
  virtual std::span<const std::string_view> marks() const { return {}; }

  /// Begins another call.
  virtual void reset() = 0;
  /// Continues with the text of the call. Returns Yes if the call has ended,
  /// and No if the text is no call. `section` is the section of the call, which
  /// a reader may change.
  virtual Match read(CallText &text, const CallSection *&section) = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_TOOLS_CALLREADER_H
