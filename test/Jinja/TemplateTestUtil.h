//===- TemplateTestUtil.h - Templates for tests -----------------*- C++ -*-===//

#ifndef MTP_TEST_JINJA_TEMPLATETESTUTIL_H
#define MTP_TEST_JINJA_TEMPLATETESTUTIL_H

#include "runtime/jinja/run/Template.h"
#include "runtime/jinja/value/JsonReader.h"

#include <gtest/gtest.h>

namespace mtp::test {

/// Returns the text, or "CODE: message" if the rendering fails.
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

#endif // MTP_TEST_JINJA_TEMPLATETESTUTIL_H
