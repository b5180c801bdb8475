//===- Format.h - Numbers in a report ---------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_BENCH_REPORT_FORMAT_H
#define MTP_TOOLS_MTP_BENCH_REPORT_FORMAT_H

#include <string>

namespace mtp::bench {

/// Formats one number by a printf pattern; the result has at most 63
/// characters.
std::string format(const char *pattern, double value);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_REPORT_FORMAT_H
