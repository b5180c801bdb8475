//===- ToolFields.h - Read the tools of a request ---------------*- C++ -*-===//
//
// The fields of requests of three APIs. Errors are InvalidArgument, and their
// messages begin with the path of the wrong value: "tools[0].name: expected".
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_SERVE_API_TOOLS_TOOLFIELDS_H
#define MTP_TOOLS_MTP_SERVE_API_TOOLS_TOOLFIELDS_H

#include "runtime/json/JsonTree.h"
#include "tools/mtp-serve/api/tools/ToolUse.h"

namespace mtp::serve {

/// Reads `tools`, an array.
Status readTools(const simdjson::dom::element &element, ToolApi api,
                 ToolUse &use);
/// Reads `tool_choice`.
Status readToolChoice(const simdjson::dom::element &element, ToolApi api,
                      ToolUse &use);
/// Checks the tools and the choice together, after both fields were read, and
/// makes the set of tools.
Status settleTools(ToolUse &use);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_TOOLS_TOOLFIELDS_H
