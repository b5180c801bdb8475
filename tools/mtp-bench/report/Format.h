//===- Format.h - Numbers in a picture --------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_REPORT_FORMAT_H
#define MTP_TOOLS_MTP_BENCH_REPORT_FORMAT_H

#include <string>
#include <string_view>

namespace mtp::bench {

/// One number in a printf pattern of at most 63 characters.
std::string format(const char *pattern, double value);

/// "1.23 ms"
std::string milliseconds(double seconds);

/// "87 %"; of nothing, "0 %".
std::string share(double part, double whole);

/// Pixels of plain text, a little more than wide fonts take.
inline double textWidth(std::string_view words) {
  return 6.6 * double(words.size());
}

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_REPORT_FORMAT_H
