//===- StopStrings.cpp - Stop strings -------------------------------------===//

#include "runtime/chat/StopStrings.h"

#include <algorithm>
#include <utility>

using namespace mtp;

StopStrings::StopStrings(std::vector<std::string> strings, bool keepsStop)
    : keepsStop(keepsStop) {
  for (std::string &string : strings) {
    Matcher matcher;
    matcher.fallback.assign(string.size(), 0);
    size_t length = 0;
    for (size_t i = 1; i < string.size(); ++i) {
      while (length > 0 && string[i] != string[length])
        length = matcher.fallback[length - 1];
      length += string[i] == string[length];
      matcher.fallback[i] = length;
    }
    matcher.string = std::move(string);
    matchers.push_back(std::move(matcher));
  }
}

void StopStrings::Matcher::take(char byte) {
  while (matched > 0 && string[matched] != byte)
    matched = fallback[matched - 1];
  matched += string[matched] == byte;
}

std::string StopStrings::append(std::string_view piece) {
  if (hasStopped)
    return "";
  size_t mayBegin = 0;
  for (const char &byte : piece) {
    held += byte;
    size_t longest = 0;
    mayBegin = 0;
    for (Matcher &matcher : matchers) {
      matcher.take(byte);
      mayBegin = std::max(mayBegin, matcher.matched);
      if (matcher.matched == matcher.string.size())
        longest = std::max(longest, matcher.matched);
    }
    if (longest > 0) {
      hasStopped = true;
      stop = held.substr(held.size() - longest);
      size_t cut = keepsStop ? 0 : longest;
      cutBytes = cut + (piece.size() - size_t(&byte - piece.data()) - 1);
      held.resize(held.size() - cut);
      return std::exchange(held, "");
    }
  }
  if (piece.empty())
    return "";
  std::string sure = held.substr(0, held.size() - mayBegin);
  held.erase(0, sure.size());
  return sure;
}

std::string StopStrings::finish() {
  for (Matcher &matcher : matchers)
    matcher.matched = 0;
  return std::exchange(held, "");
}
