//===- Format.h - Sizes and dates for people --------------------*- C++ -*-===//

#ifndef MTP_TOOLS_START_FORMAT_H
#define MTP_TOOLS_START_FORMAT_H

#include <cstdint>
#include <ctime>
#include <string>

namespace mtp::start {

/// Returns bytes as "191.0 MB" or "4.7 GB".
std::string sizeText(uint64_t bytes);

/// Returns a time, in seconds since 1970, as "2026-11-28 17:40" of this place.
std::string dateText(time_t time);

} // namespace mtp::start

#endif // MTP_TOOLS_START_FORMAT_H
