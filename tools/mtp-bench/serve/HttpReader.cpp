//===- HttpReader.cpp - Read replies of HTTP/1.1 piece by piece -----------===//

#include "tools/mtp-bench/serve/HttpReader.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <charconv>

using namespace mtp;
using namespace mtp::bench;

/// Longer than any header line of a server.
static constexpr size_t kMostLine = 64 << 10;

static Status wrong(std::string_view what, std::string_view got) {
  return dataLoss(strCat("expected ", what, " in a reply of HTTP/1.1, got '",
                         got.substr(0, 80), "'"));
}

static std::string lower(std::string_view text) {
  std::string out(text);
  for (char &c : out)
    if (c >= 'A' && c <= 'Z')
      c = char(c - 'A' + 'a');
  return out;
}

static std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

bool HttpReader::readsLines() const {
  switch (state) {
  case State::StatusLine:
  case State::Header:
  case State::ChunkSize:
  case State::ChunkEnd:
  case State::Trailer:
    return true;
  case State::Sized:
  case State::Unsized:
  case State::Chunk:
  case State::Complete:
    return false;
  }
  return false;
}

Status HttpReader::take(std::string_view bytes, std::string &body) {
  begun |= !bytes.empty();
  while (!bytes.empty()) {
    if (state == State::Complete)
      return wrong("nothing after the end", bytes);
    if (!readsLines()) {
      size_t count = bytes.size();
      if (state != State::Unsized)
        count = size_t(std::min<uint64_t>(count, left));
      body.append(bytes.substr(0, count));
      bytes.remove_prefix(count);
      if (state == State::Unsized)
        continue;
      left -= count;
      if (left == 0)
        state = state == State::Chunk ? State::ChunkEnd : State::Complete;
      continue;
    }
    size_t end = std::min(bytes.find('\n'), bytes.size());
    line.append(bytes.substr(0, end));
    if (line.size() > kMostLine)
      return wrong("lines that end", line);
    if (end == bytes.size())
      break;
    bytes.remove_prefix(end + 1);
    if (line.ends_with('\r'))
      line.pop_back();
    MTP_RETURN_IF_ERROR(takeLine(line));
    line.clear();
  }
  return okStatus();
}

Status HttpReader::takeLine(std::string_view text) {
  switch (state) {
  case State::StatusLine:
    return takeStatusLine(text);
  case State::Header:
    if (!text.empty())
      return takeField(text);
    beginBody();
    return okStatus();
  case State::ChunkSize:
    return takeChunkSize(text);
  case State::ChunkEnd:
    if (!text.empty())
      return wrong("a chunk of the size that was said", text);
    state = State::ChunkSize;
    return okStatus();
  default:
    // Fields after the last chunk are ignored.
    if (text.empty())
      state = State::Complete;
    return okStatus();
  }
}

Status HttpReader::takeStatusLine(std::string_view text) {
  bool isFirst = text.starts_with("HTTP/1.1 ");
  if ((!isFirst && !text.starts_with("HTTP/1.0 ")) || text.size() < 12)
    return wrong("a status", text);
  persists = isFirst;
  auto end = std::from_chars(text.data() + 9, text.data() + 12, code);
  if (end.ec != std::errc() || end.ptr != text.data() + 12 || code < 100)
    return wrong("a status", text);
  state = State::Header;
  return okStatus();
}

Status HttpReader::takeField(std::string_view text) {
  size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    return wrong("a field", text);
  std::string name = lower(trim(text.substr(0, colon)));
  std::string value = lower(trim(text.substr(colon + 1)));
  if (name == "content-length") {
    auto end = std::from_chars(value.data(), value.data() + value.size(), left);
    if (end.ec != std::errc() || end.ptr != value.data() + value.size())
      return wrong("a length", text);
    hasLength = true;
  } else if (name == "transfer-encoding") {
    if (value != "chunked")
      return wrong("chunks", text);
    isChunked = true;
  } else if (name == "connection") {
    persists = value == "keep-alive" || (persists && value != "close");
  }
  return okStatus();
}

void HttpReader::beginBody() {
  // 100 Continue, and other replies before the final one.
  if (code < 200)
    state = State::StatusLine;
  else if (isChunked)
    state = State::ChunkSize;
  else if (hasLength)
    state = left > 0 ? State::Sized : State::Complete;
  else if (code == 204 || code == 304)
    state = State::Complete;
  else
    state = State::Unsized;
}

Status HttpReader::takeChunkSize(std::string_view text) {
  std::string_view size = trim(text.substr(0, text.find(';')));
  auto end = std::from_chars(size.data(), size.data() + size.size(), left, 16);
  if (size.empty() || end.ec != std::errc() ||
      end.ptr != size.data() + size.size())
    return wrong("the size of a chunk", text);
  state = left > 0 ? State::Chunk : State::Trailer;
  return okStatus();
}

Status HttpReader::takeEnd() {
  persists = false;
  if (state == State::Unsized)
    state = State::Complete;
  if (state == State::Complete)
    return okStatus();
  return unavailable("the server closed the connection before the end");
}
