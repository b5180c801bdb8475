//===- UniqueName.cpp - Names of temporary files --------------------------===//

#include "runtime/core/UniqueName.h"

#include <cstdio>
#include <random>

std::string mtp::uniqueName(std::string_view prefix) {
  std::random_device source;
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%08x%08x", source(), source());
  return std::string(prefix) + digits;
}
