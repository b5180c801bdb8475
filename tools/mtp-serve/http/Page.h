//===- Page.h - The page at / -----------------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_HTTP_PAGE_H
#define MTP_TOOLS_MTP_SERVE_HTTP_PAGE_H

#include <string_view>

namespace mtp::serve {

/// Returns the page of the folder page/. The build joins its parts into one
/// file, and embeds this file in the program.
std::string_view pageText();

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_HTTP_PAGE_H
