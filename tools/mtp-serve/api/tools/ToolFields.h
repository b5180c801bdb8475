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

/// Returns an error about the array of tools in the form of chats, whose
/// message begins with a path in it, with the path in the request.
Status toolStatus(const Status &status, ToolApi api);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_TOOLS_TOOLFIELDS_H
