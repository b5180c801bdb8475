//===- Format.cpp - Numbers in a report -----------------------------------===//

#include "tools/mtp-bench/report/Format.h"

#include <cstdio>

using namespace mtp;
using namespace mtp::bench;

std::string bench::format(const char *pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), pattern, value);
  return text;
}
