//===- Formats.cpp - Formats of strings -----------------------------------===//

#include "runtime/grammar/schema/Formats.h"

#include "runtime/core/StrCat.h"

#include <algorithm>
#include <iterator>

using namespace mtp;

namespace {

// RFC 3339. February 29 needs a leap year, and a leap second 23:59 in UTC.
constexpr std::string_view kDate =
    "(([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|"
    "(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8])))|"
    "([0-9]{2}(0[48]|[2468][048]|[13579][26])|"
    "([02468][048]|[13579][26])00)-02-29)";
constexpr std::string_view kTime =
    "(([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?"
    "([zZ]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])|"
    "23:59:60(\\.[0-9]+)?([zZ]|[+-]00:00))";
// ISO 8601 as RFC 3339, appendix A, has it.
constexpr std::string_view kDuration =
    "P([0-9]+W|([0-9]+D|[0-9]+M([0-9]+D)?|[0-9]+Y([0-9]+M([0-9]+D)?)?)"
    "(T([0-9]+S|[0-9]+M([0-9]+S)?|[0-9]+H([0-9]+M([0-9]+S)?)?))?|"
    "T([0-9]+S|[0-9]+M([0-9]+S)?|[0-9]+H([0-9]+M([0-9]+S)?)?))";
constexpr std::string_view kUuid =
    "[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}";
constexpr std::string_view kIpv4 =
    "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
    "(\\.(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}";
// RFC 1123: labels of letters, digits and inner hyphens.
constexpr std::string_view kLabel =
    "[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
// RFC 5321: words with dots between them, or a quoted text.
constexpr std::string_view kLocalPart =
    "([a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+)*|"
    "\"([\\x20!\\x23-\\x5B\\x5D-\\x7E]|\\\\[\\x20-\\x7E])*\")";
// RFC 3986: a scheme, and the characters of a path, query and fragment.
constexpr std::string_view kUriText =
    "([a-zA-Z0-9._~:/?@!$&'()*+,;=-]|%[0-9a-fA-F]{2})";

/// RFC 4291: eight groups, of which `::` stands for one or more.
std::string ipv6() {
  std::string group = "[0-9a-fA-F]{1,4}", v4(kIpv4);
  std::string pattern =
      strCat("(", group, ":){6}(", group, ":", group, "|", v4, ")");
  // `before` groups stand in front of `::`, at most 7 - before follow.
  for (int before = 0; before <= 7; ++before) {
    std::string head =
        before == 0 ? "" : strCat(group, "(:", group, "){", before - 1, "}");
    pattern += strCat("|", head, "::");
    int after = 7 - before;
    if (after > 0)
      pattern += strCat("(", group, "(:", group, "){0,", after - 1, "})?");
    if (after >= 2)
      pattern += strCat("|", head, "::(", group, ":){0,", after - 2, "}", v4);
  }
  return pattern;
}

std::string hostName() { return strCat(kLabel, "(\\.", kLabel, ")*"); }

/// An address in brackets can follow `//`.
std::string uri() {
  return strCat("[a-zA-Z][a-zA-Z0-9+.-]*:(//(", kUriText, "*@)?\\[(", ipv6(),
                ")\\](:[0-9]*)?([/?]", kUriText, "*)?|", kUriText, "+)(#",
                kUriText, "*)?");
}

std::string email() {
  return strCat(kLocalPart, "@(", hostName(), "|\\[(", kIpv4, "|IPv6:(", ipv6(),
                "))\\])");
}

struct FormatRow {
  std::string_view name;
  std::string (*pattern)();
};

constexpr FormatRow kFormats[] = {
    {"date", [] { return std::string(kDate); }},
    {"date-time", [] { return strCat(kDate, "[tT]", kTime); }},
    {"duration", [] { return std::string(kDuration); }},
    {"email", email},
    {"hostname", hostName},
    {"ipv4", [] { return std::string(kIpv4); }},
    {"ipv6", ipv6},
    {"time", [] { return std::string(kTime); }},
    {"uri", uri},
    {"uuid", [] { return std::string(kUuid); }},
};

} // namespace

std::string mtp::grammar::patternOfFormat(std::string_view format) {
  for (const FormatRow &row : kFormats)
    if (row.name == format)
      return row.pattern();
  return "";
}

bool mtp::grammar::isHintFormat(std::string_view format) {
  constexpr std::string_view kHints[] = {"binary", "directory-path",
                                         "file-path", "password", "path"};
  return std::find(std::begin(kHints), std::end(kHints), format) !=
         std::end(kHints);
}

std::string mtp::grammar::formatNames() {
  std::string names;
  for (const FormatRow &row : kFormats)
    names += strCat(names.empty() ? "" : ", ", row.name);
  return names;
}
