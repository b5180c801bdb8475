//===- template_fuzz.cpp - Untrusted chat templates -----------------------===//
//
// The input is a template, and after a zero byte the JSON of its variables. An
// input without a zero byte has fixed variables. So the target covers the whole
// library, with its JSON reader.
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/run/Template.h"
#include "runtime/jinja/value/JsonReader.h"
#include "runtime/utf8/Utf8.h"

#include <cstdlib>

using namespace mtp;

namespace {

constexpr std::string_view kContext = R"({
  "s": "Hello", "u": "a\u00e9\u65e5", "n": null, "f": 1.5, "l": [3, 1, 2, 1],
  "d": {"a": 1, "b": 2, "C": 0}, "words": ["b", "A", "a"],
  "nested": {"z": [1, {"y": "x"}], "a": {"b": null, "A": [true, 1.5, []]}},
  "people": [{"name": "Ann", "age": 31, "team": "x"}],
  "messages": [{"role": "user", "content": "Hi"}], "tools": null,
  "wide": 123456789012345678901234567890
})";

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view input(reinterpret_cast<const char *>(data), size);
  size_t end = input.find('\0');
  static const auto fixed = readTemplateJson(kContext);
  auto context =
      end == input.npos ? fixed : readTemplateJson(input.substr(end + 1));
  auto parsed = jinja::Template::parse(input.substr(0, end));
  if (!parsed.isOk() || !context.isOk())
    return 0;
  RenderOptions options;
  options.now = std::tm();
  options.maxSteps = 100'000;
  options.maxMadeBytes = 1 << 24;
  options.maxOutputBytes = 1 << 20;
  auto text = parsed->render(*context, options);
  if (text.isOk() && !isValidUtf8(*text))
    std::abort();
  return 0;
}
