//===- Url.cpp - The address of a server ----------------------------------===//

#include "tools/mtp-bench/serve/Url.h"
#include "runtime/core/StrCat.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::bench;

static Status wrong(std::string_view text) {
  return invalidArgument(
      strCat("--serve: expected http://HOST[:PORT], got '", text, "'"));
}

/// Returns whether a text can be put into a request unchanged.
static bool isPlain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return c > ' ' && c < 0x7f && c != '?' && c != '#' && c != '@';
  });
}

Result<Url> bench::parseUrl(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  std::string_view rest = text;
  if (!rest.starts_with(kScheme) || !isPlain(rest))
    return wrong(text);
  rest.remove_prefix(kScheme.size());
  Url url;
  size_t slash = std::min(rest.find('/'), rest.size());
  url.prefix = rest.substr(slash);
  while (url.prefix.ends_with('/'))
    url.prefix.pop_back();
  std::string_view place = rest.substr(0, slash);
  // Colons within brackets belong to the address.
  size_t bracket = place.starts_with('[') ? place.find(']') : 0;
  if (bracket == std::string_view::npos)
    return wrong(text);
  size_t colon = place.find(':', bracket);
  url.host = place.substr(0, colon);
  url.port = colon == std::string_view::npos ? "80" : place.substr(colon + 1);
  if (url.host.starts_with('['))
    url.host = url.host.substr(1, bracket - 1);
  bool isPort = !url.port.empty() && url.port.size() <= 5 &&
                std::ranges::all_of(
                    url.port, [](char c) { return c >= '0' && c <= '9'; });
  if (url.host.empty() || !isPort || std::stoul(url.port) > 65535)
    return wrong(text);
  return url;
}
