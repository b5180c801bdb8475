//===- CallPieces.cpp - Tool calls of an answer as they arrive ------------===//

#include "tools/mtp-serve/api/tools/CallPieces.h"

#include <algorithm>
#include <utility>

using namespace mtp;
using namespace mtp::serve;
using Kind = CallPiece::Kind;

void CallPieces::add(CallPiece piece) {
  size += piece.text.size();
  bool joins = piece.kind == Kind::Text || piece.kind == Kind::Arguments;
  if (joins && !pieces.empty() && pieces.back().kind == piece.kind)
    pieces.back().text += piece.text;
  else
    pieces.push_back(std::move(piece));
}

/// Returns the longest beginning of a text of at most `most` bytes that ends
/// with a whole character.
static size_t wholeCharacters(std::string_view text, size_t most) {
  if (text.size() <= most)
    return text.size();
  // Bytes 10xxxxxx continue a character.
  while (most > 0 && (uint8_t(text[most]) & 0xC0) == 0x80)
    --most;
  return most;
}

std::vector<CallPiece> CallPieces::take(size_t most) {
  std::vector<CallPiece> taken;
  size_t next = 0;
  for (; next < pieces.size(); ++next) {
    CallPiece &piece = pieces[next];
    // Names are short.
    size_t bytes = piece.kind == Kind::Begin
                       ? piece.text.size()
                       : wholeCharacters(piece.text, most);
    most -= std::min(most, bytes);
    size -= bytes;
    if (bytes == piece.text.size()) {
      taken.push_back(std::move(piece));
      continue;
    }
    if (bytes > 0) {
      taken.push_back({piece.kind, piece.call, piece.text.substr(0, bytes)});
      piece.text.erase(0, bytes);
      // The rest of a broken call is text.
      if (piece.kind == Kind::Broken)
        piece.kind = Kind::Text;
    }
    break;
  }
  pieces.erase(pieces.begin(), pieces.begin() + ptrdiff_t(next));
  return taken;
}

void CallSplitter::append(std::string_view content, std::string &text,
                          CallPieces &pieces) {
  ToolEvents events;
  parser.append(content, events);
  add(events, text, pieces);
}

void CallSplitter::finish(std::string &text, CallPieces &pieces) {
  if (std::exchange(isFinished, true))
    return;
  ToolEvents events;
  parser.finish(events);
  add(events, text, pieces);
}

/// Adds events up to the end of the only call.
void CallSplitter::add(const ToolEvents &events, std::string &text,
                       CallPieces &pieces) {
  for (const ToolEvent &event : events) {
    if (hasAll())
      return;
    switch (event.kind) {
    case ToolEvent::Kind::Content:
      if (pieces.isEmpty())
        text += event.text;
      else
        pieces.add({Kind::Text, 0, event.text});
      break;
    case ToolEvent::Kind::Begin:
      pieces.add({Kind::Begin, begun++, event.text});
      break;
    case ToolEvent::Kind::Arguments:
      pieces.add({Kind::Arguments, begun - 1, event.text});
      break;
    case ToolEvent::Kind::End:
      ++complete;
      pieces.add({Kind::End, begun - 1, ""});
      break;
    case ToolEvent::Kind::Broken:
      pieces.add({Kind::Broken, begun - 1, event.text});
      break;
    case ToolEvent::Kind::Markup:
      break;
    }
  }
}

std::vector<AnswerBlock> serve::blocksOf(const std::string &text,
                                         const std::vector<CallPiece> &pieces) {
  std::vector<AnswerBlock> blocks;
  auto addText = [&blocks](const std::string &more) {
    if (more.empty())
      return;
    if (blocks.empty() || blocks.back().isCall)
      blocks.emplace_back();
    blocks.back().text += more;
  };
  addText(text);
  AnswerBlock call;
  for (const CallPiece &piece : pieces)
    switch (piece.kind) {
    case Kind::Text:
    case Kind::Broken:
      addText(piece.text);
      break;
    case Kind::Begin:
      call = {true, "", piece.text, piece.call};
      break;
    case Kind::Arguments:
      call.text += piece.text;
      break;
    case Kind::End:
      blocks.push_back(std::exchange(call, {}));
      break;
    }
  return blocks;
}

std::string serve::callId(std::string_view prefix, ToolFormat format,
                          std::string_view answer, size_t choice, size_t call) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  bool isMistral = format == ToolFormat::Mistral;
  std::string id(isMistral ? "" : prefix);
  // FNV-1a of all that identifies the call, then splitmix64 for each letter.
  uint64_t state = 0xCBF29CE484222325;
  auto mix = [&state](uint64_t byte) {
    state = (state ^ byte) * 0x100000001B3;
  };
  for (char c : answer)
    mix(uint8_t(c));
  for (size_t number : {choice, call})
    for (int shift = 0; shift < 32; shift += 8)
      mix((number >> shift) & 0xFF);
  for (size_t i = 0; i < (isMistral ? 9 : 24); ++i) {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    id += kLetters[(z ^ (z >> 31)) % kLetters.size()];
  }
  return id;
}
