//===- Format.cpp - Numbers in a picture ----------------------------------===//

#include "tools/mtp-bench/report/Format.h"

#include <cstdio>

using namespace mtp;
using namespace mtp::bench;

std::string bench::format(const char *pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, value);
  return text;
}

std::string bench::milliseconds(double seconds) {
  return format("%.3g ms", seconds * 1e3);
}

std::string bench::share(double part, double whole) {
  return format("%.0f %%", whole > 0 ? 100 * part / whole : 0);
}
