//===- Report.cpp - Messages of gpu-sim -----------------------------------===//

#include "Report.h"

#include <cstdarg>
#include <cstdio>

using namespace mtp;

static std::string message;

const std::string &gpusim::lastMessage() { return message; }
void gpusim::clearMessage() { message.clear(); }

void gpusim::setMessage(std::string text) {
  message = std::move(text);
  std::fprintf(stderr, "gpu-sim: error: %s\n", message.c_str());
}

CUresult gpusim::refuse(CUresult code, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  setMessage(text);
  return code;
}
