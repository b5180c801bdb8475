//===- Format.cpp - Sizes and dates for people ----------------------------===//

#include "tools/start/Format.h"

#include <array>
#include <cstdio>

using namespace mtp;

std::string start::sizeText(uint64_t bytes) {
  std::array<char, 32> text;
  bool isLarge = bytes >= 1000000000;
  std::snprintf(text.data(), text.size(), isLarge ? "%.1f GB" : "%.1f MB",
                double(bytes) / (isLarge ? 1e9 : 1e6));
  return text.data();
}

std::string start::dateText(time_t time) {
  std::array<char, 32> text;
  struct tm local;
  ::localtime_r(&time, &local);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &local);
  return text.data();
}
