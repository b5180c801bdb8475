//===- template_render.cpp - Renders cases for another program ------------===//
//
// template_render CASES: for each line of a file, {"source": ..., "context":
// {...}}, a line of JSON: {"text": ...} or {"error": ...}. It is 6:07:08 on 5
// March 2026, a Thursday.
//
//===----------------------------------------------------------------------===//

#include "runtime/text/template/Json.h"
#include "runtime/text/template/JsonReader.h"
#include "runtime/text/template/Template.h"

#include <cstdio>
#include <fstream>
#include <string>

using namespace mtp;
using namespace mtp::jinja;

namespace {

Result<std::string> render(const Dict &one) {
  MTP_ASSIGN_OR_RETURN(Template parsed,
                       Template::parse(one.find("source")->bytes()));
  RenderOptions options;
  options.now = std::tm();
  options.now->tm_year = 126;
  options.now->tm_mon = 2;
  options.now->tm_mday = 5;
  options.now->tm_hour = 6;
  options.now->tm_min = 7;
  options.now->tm_sec = 8;
  options.now->tm_wday = 4;
  options.now->tm_yday = 63;
  return parsed.render(*one.find("context"), options);
}

void print(const char *key, std::string text) {
  DictBuilder builder;
  builder.add(Value(std::string(key)), Value(std::move(text))).ignore();
  auto dict = std::move(builder).build();
  std::puts(toJson(*dict, JsonStyle())->c_str());
}

} // namespace

int main(int argc, char **argv) {
  std::ifstream file(argc == 2 ? argv[1] : "", std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    auto one = readTemplateJson(line);
    if (!one.isOk() || !one->is(Kind::Dict)) {
      std::fprintf(stderr, "template_render: error: %s\n",
                   one.status().toString().c_str());
      return 1;
    }
    auto rendered = render(one->dict());
    if (rendered.isOk())
      print("text", *std::move(rendered));
    else
      print("error", rendered.status().toString());
  }
  return 0;
}
