//===- template_fuzz.cpp - Untrusted chat templates -----------------------===//

#include "runtime/jinja/run/Template.h"
#include "runtime/jinja/value/JsonReader.h"
#include "runtime/utf8/Utf8.h"

#include <cstdlib>

using namespace mtp;

namespace {

constexpr const char *kContext = R"({
  "s": "Hello", "u": "a\u00e9\u65e5", "n": null, "f": 1.5, "l": [3, 1, 2, 1],
  "d": {"a": 1, "b": 2, "C": 0}, "words": ["b", "A", "a"],
  "nested": {"z": [1, {"y": "x"}], "a": {"b": null, "A": [true, 1.5, []]}},
  "people": [{"name": "Ann", "age": 31, "team": "x"}],
  "messages": [{"role": "user", "content": "Hi"}], "tools": null
})";

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const auto context = readTemplateJson(kContext);
  auto parsed =
      jinja::Template::parse({reinterpret_cast<const char *>(data), size});
  if (!parsed.isOk())
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
