//===- JsonWriter.cpp - Write JSON ----------------------------------------===//

#include "runtime/json/JsonWriter.h"

#include <cmath>
#include <cstdio>

using namespace mtp;

void JsonWriter::separate() {
  if (afterKey) {
    afterKey = false;
    return;
  }
  if (depth == 0)
    return;
  out += first ? "" : ",";
  if (layout == Layout::Indented) {
    out += '\n';
    out.append(size_t(2) * depth, ' ');
  } else if (!first) {
    out += ' ';
  }
  first = false;
}

void JsonWriter::open(char bracket) {
  separate();
  out += bracket;
  ++depth;
  first = true;
}

void JsonWriter::close(char bracket) {
  --depth;
  if (!first && layout == Layout::Indented) {
    out += '\n';
    out.append(size_t(2) * depth, ' ');
  }
  out += bracket;
  first = false;
}

void JsonWriter::raw(std::string_view text) {
  separate();
  out += text;
}

void JsonWriter::quote(std::string_view text) {
  out += '"';
  for (unsigned char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += char(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 0x20) {
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      out += escaped;
    } else {
      out += char(c);
    }
  }
  out += '"';
}

void JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  out += ": ";
  afterKey = true;
}

void JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
}

void JsonWriter::value(double number) {
  if (!std::isfinite(number))
    return raw("null");
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", number);
  raw(text);
}
