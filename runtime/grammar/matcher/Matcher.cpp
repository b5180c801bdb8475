//===- Matcher.cpp - Holds the tokens of a sequence to a grammar ----------===//

#include "runtime/grammar/matcher/Matcher.h"

#include "runtime/core/StrCat.h"

#include <algorithm>
#include <utility>

using namespace mtp;
using namespace mtp::grammar;

namespace {

/// Bytes that forcedTokens() looks ahead.
constexpr size_t kMostForced = 4096;

} // namespace

Matcher::Matcher(std::shared_ptr<TokenGrammar> grammar)
    : tokens(std::move(grammar)) {
  std::lock_guard lock(tokens->mutex);
  generation = tokens->current();
  settle(at, generation->machine.start());
}

void Matcher::refresh() {
  const auto &present = tokens->current();
  if (present == generation)
    return;
  Machine &machine = present->machine;
  const Machine &before = generation->machine;
  at.frontier = machine.import(before, at.frontier);
  for (Position &position : history)
    position.frontier = machine.import(before, position.frontier);
  generation = present;
}

bool Matcher::open(Position &position, Step step) {
  position.frontier = step.frontier;
  for (StateId address : step.opened) {
    uint32_t height = position.frames ? position.frames->height + 1 : 1;
    if (height > tokens->grammar().limits().depth)
      return false;
    position.frames = std::make_shared<const FrameNode>(
        FrameNode{address, height, std::move(position.frames)});
  }
  return true;
}

bool Matcher::settle(Position &position, Step step) {
  if (step.frontier == kDeadFrontier || !open(position, step))
    return false;
  Machine &machine = generation->machine;
  while (position.frames && machine.exits(position.frontier)) {
    StateId address = position.frames->address;
    position.frames = FrameStack(position.frames->below);
    if (!open(position, machine.merge(position.frontier, address)))
      return false;
  }
  return true;
}

bool Matcher::advance(Position &position, std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [&](char c) {
    return settle(position, generation->machine.step(position.frontier,
                                                     static_cast<uint8_t>(c)));
  });
}

void Matcher::commit(Position position) {
  history.push_back(std::exchange(at, std::move(position)));
  if (history.size() > tokens->grammar().limits().rollback)
    history.pop_front();
}

bool Matcher::isComplete(const Position &position) const {
  return position.isEnded ||
         (!position.frames && generation->machine.exits(position.frontier));
}

bool Matcher::appendToken(int32_t token) {
  const Vocabulary &vocabulary = tokens->vocabulary();
  if (token < 0 || size_t(token) >= vocabulary.size())
    return false;
  auto id = static_cast<uint32_t>(token);
  std::lock_guard lock(tokens->mutex);
  refresh();
  Position next = at;
  if (vocabulary.isEnd(id)) {
    if (!isComplete(at))
      return false;
    next.isEnded = true;
  } else if (at.isEnded || vocabulary.piece(id).empty() ||
             !advance(next, vocabulary.piece(id))) {
    return false;
  }
  commit(std::move(next));
  return true;
}

bool Matcher::tryAccept(int32_t token) { return appendToken(token); }

Status Matcher::accept(int32_t token) {
  if (appendToken(token))
    return okStatus();
  return invalidArgument(
      strCat("expected a token that the grammar allows, got ", token));
}

bool Matcher::tryAcceptBytes(std::string_view bytes) {
  std::lock_guard lock(tokens->mutex);
  refresh();
  Position next = at;
  if ((at.isEnded && !bytes.empty()) || !advance(next, bytes))
    return false;
  commit(std::move(next));
  return true;
}

Status Matcher::rollback(size_t count) {
  if (count > history.size())
    return outOfRange(strCat("expected to take back at most ", history.size(),
                             " tokens, got ", count));
  for (; count > 0; --count) {
    at = std::move(history.back());
    history.pop_back();
  }
  return okStatus();
}

Status Matcher::mask(std::span<uint32_t> words) {
  const Vocabulary &vocabulary = tokens->vocabulary();
  if (words.size() != vocabulary.maskWords())
    return invalidArgument(strCat("expected a mask of ", vocabulary.maskWords(),
                                  " words, got ", words.size()));
  std::lock_guard lock(tokens->mutex);
  refresh();
  if (at.isEnded) {
    std::copy_n(vocabulary.endMask().begin(), words.size(), words.begin());
    return okStatus();
  }
  auto found = generation->masks.find(at.frontier, at.frames.get());
  if (found.empty()) {
    // States of earlier texts may fill the memory: try again without them.
    tokens->renew();
    refresh();
    found = generation->masks.find(at.frontier, at.frames.get());
  }
  if (found.empty() && !words.empty())
    return resourceExhausted(
        strCat("expected a grammar whose states and masks take at most ",
               tokens->grammar().limits().cacheBytes,
               " bytes after a text, got a more ambiguous one"));
  std::copy(found.begin(), found.end(), words.begin());
  if (isComplete(at))
    for (size_t i = 0; i < words.size(); ++i)
      words[i] |= vocabulary.endMask()[i];
  return okStatus();
}

Result<size_t> Matcher::maskPath(std::span<const int32_t> drafts,
                                 std::span<uint32_t> words) const {
  size_t width = tokens->vocabulary().maskWords();
  if (words.size() / (drafts.size() + 1) < width)
    return invalidArgument(strCat("expected ", drafts.size() + 1, " masks of ",
                                  width, " words, got ", words.size(),
                                  " words"));
  Matcher path = fork();
  for (size_t row = 0;; ++row) {
    MTP_RETURN_IF_ERROR(path.mask(words.subspan(row * width, width)));
    if (row == drafts.size() || !path.tryAccept(drafts[row]))
      return row + 1;
  }
}

Matcher Matcher::fork() const {
  Matcher copy(tokens);
  copy.generation = generation;
  copy.at = at;
  return copy;
}

bool Matcher::isTerminated() const {
  std::lock_guard lock(tokens->mutex);
  return isComplete(at);
}

std::string Matcher::findForced(Position &position, size_t most) {
  Machine &machine = generation->machine;
  std::string bytes;
  while (bytes.size() < most && !isComplete(position)) {
    Position only;
    int found = -1;
    for (int byte = 0; byte < 256; ++byte) {
      Step step = machine.step(position.frontier, static_cast<uint8_t>(byte));
      // Most bytes lead nowhere, which needs no copy.
      if (step.frontier == kDeadFrontier)
        continue;
      Position next = position;
      if (!settle(next, step))
        continue;
      if (found >= 0)
        return bytes;
      found = byte;
      only = std::move(next);
    }
    if (found < 0)
      return bytes;
    bytes.push_back(static_cast<char>(found));
    position = std::move(only);
  }
  return bytes;
}

std::string Matcher::forcedBytes(size_t most) {
  std::lock_guard lock(tokens->mutex);
  refresh();
  Position position = at;
  return findForced(position, most);
}

std::vector<int32_t> Matcher::forcedTokens(size_t most) {
  const Vocabulary &vocabulary = tokens->vocabulary();
  std::vector<int32_t> proposed;
  // The bytes that a token needs, so that its successor is known.
  size_t longest = vocabulary.trie().depth();
  std::lock_guard lock(tokens->mutex);
  refresh();
  Position position = at;
  std::string bytes = findForced(
      position, std::min(std::min(most, kMostForced) * longest, kMostForced));
  // Nothing follows a complete text that no byte continues.
  bool isWhole = isComplete(position) &&
                 !generation->machine.canContinue(position.frontier);
  std::string_view rest = bytes;
  while (proposed.size() < most && !rest.empty()) {
    uint32_t token = vocabulary.longestToken(rest);
    if (token >= vocabulary.size() ||
        (!isWhole && vocabulary.couldBeLonger(rest)))
      break;
    proposed.push_back(static_cast<int32_t>(token));
    rest.remove_prefix(vocabulary.piece(token).size());
  }
  return proposed;
}
