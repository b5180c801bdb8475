//===- Page.h - The page at / -----------------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_HTTP_PAGE_H
#define MTP_TOOLS_MTP_SERVE_HTTP_PAGE_H

#include <string_view>

namespace mtp::serve {

/// Returns page/index.html, which the build embeds in the program.
std::string_view pageText();

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_HTTP_PAGE_H
