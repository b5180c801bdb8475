//===- Format.h - Numbers in a picture --------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_REPORT_FORMAT_H
#define MTP_TOOLS_MTP_BENCH_REPORT_FORMAT_H

#include <string>
#include <string_view>

namespace mtp::bench {

/// Formats one number by a printf pattern; the result has at most 63
/// characters.
std::string format(const char *pattern, double value);

/// Formats seconds as "1.23 ms".
std::string milliseconds(double seconds);

/// Formats a share as "87 %"; if the whole is zero, as "0 %".
std::string share(double part, double whole);

/// Returns the width of plain text in pixels, slightly more than wide fonts
/// take.
inline double textWidth(std::string_view words) {
  return 6.6 * double(words.size());
}

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_REPORT_FORMAT_H
