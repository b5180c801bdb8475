//===- Target.h - The path of a request ------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_TARGET_H
#define MTP_TOOLS_MTP_SERVE_TARGET_H

#include <string>
#include <string_view>

namespace mtp::serve {

/// The path that a request's target names: of "/path?query" or
/// "http://host/path", as proxies are asked, with %XX as the byte that it
/// stands for. Empty where the target has none.
std::string pathOf(std::string_view target);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_TARGET_H
