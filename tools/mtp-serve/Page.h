//===- Page.h - The page at / -----------------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_PAGE_H
#define MTP_TOOLS_MTP_SERVE_PAGE_H

#include <string_view>

namespace mtp::serve {

/// page/index.html, which the build makes a part of the program.
std::string_view pageText();

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_PAGE_H
