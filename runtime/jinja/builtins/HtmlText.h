//===- HtmlText.h - Text that HTML means ------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_BUILTINS_HTMLTEXT_H
#define MTP_RUNTIME_JINJA_BUILTINS_HTMLTEXT_H

#include <string>
#include <string_view>

namespace mtp::jinja {

/// "NAME=HEX[,HEX] ", in the order of bytes.
extern const char *const kHtmlEntities;

/// Python's html.unescape().
std::string unescapeHtml(std::string_view text);

/// The striptags() of MarkupSafe 3.0.4: the text without comments and tags, of
/// white space single spaces, unescaped.
std::string stripTags(std::string_view text);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_BUILTINS_HTMLTEXT_H
