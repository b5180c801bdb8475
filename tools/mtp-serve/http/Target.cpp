//===- Target.cpp - The path of a request ---------------------------------===//

#include "tools/mtp-serve/http/Target.h"

#include <algorithm>

using namespace mtp::serve;

/// Returns the value of a hexadecimal digit, or -1.
static int digitOf(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static std::string decoded(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    int high = -1, low = -1;
    if (path[0] == '%' && path.size() > 2) {
      high = digitOf(path[1]);
      low = digitOf(path[2]);
    }
    bool isByte = high >= 0 && low >= 0;
    text += isByte ? char(high * 16 + low) : path[0];
    path.remove_prefix(isByte ? 3 : 1);
  }
  return text;
}

std::string mtp::serve::pathOf(std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"})
    if (target.starts_with(scheme)) {
      target.remove_prefix(scheme.size());
      target.remove_prefix(std::min(target.find_first_of("/?"), target.size()));
      if (target.empty() || target[0] == '?')
        return "/";
    }
  return decoded(target.substr(0, target.find('?')));
}
