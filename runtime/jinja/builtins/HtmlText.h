//===- HtmlText.h - Text from HTML ------------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_BUILTINS_HTMLTEXT_H
#define MTP_RUNTIME_JINJA_BUILTINS_HTMLTEXT_H

#include "runtime/core/Result.h"

#include <string>
#include <string_view>

namespace mtp::jinja {

/// Implements the striptags() of MarkupSafe 3.0.4: removes comments and tags,
/// replaces white space by single spaces, and replaces named and numbered
/// characters. Fails for names that are not in HTML 4.
Result<std::string> stripTags(std::string_view text);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_BUILTINS_HTMLTEXT_H
