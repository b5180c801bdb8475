//===- TemplateTestUtil.h - Templates for tests -----------------*- C++ -*-===//

#ifndef MTP_TEST_RUNTIME_TEMPLATETESTUTIL_H
#define MTP_TEST_RUNTIME_TEMPLATETESTUTIL_H

#include "runtime/text/template/JsonReader.h"
#include "runtime/text/template/Template.h"

#include <gtest/gtest.h>

namespace mtp::test {

/// Returns the text, or "CODE: message" on a failure.
inline std::string render(std::string_view source,
                          std::string_view context = "{}",
                          const RenderOptions &options = {}) {
  auto parsed = jinja::Template::parse(source);
  if (!parsed.isOk())
    return parsed.status().toString();
  auto values = readTemplateJson(context);
  if (!values.isOk())
    return values.status().toString();
  auto text = parsed->render(*values, options);
  return text.isOk() ? *text : text.status().toString();
}

} // namespace mtp::test

#endif // MTP_TEST_RUNTIME_TEMPLATETESTUTIL_H
