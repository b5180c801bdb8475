//===- CallSchema.h - A JSON schema of calls --------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CHAT_TOOLS_CALLSCHEMA_H
#define MTP_RUNTIME_CHAT_TOOLS_CALLSCHEMA_H

#include "runtime/chat/tools/ToolSet.h"

namespace mtp {

/// The calls that an answer must have.
struct CallDemand {
  /// The tool that each call names; null: any tool of the set.
  const Tool *only = nullptr;
  /// Whether there may be several calls.
  bool isParallel = true;
};

/// Returns the JSON schema of an answer that consists of calls: an array of
/// {"name": a tool's name, "parameters": its arguments} with at least one item.
/// ToolFormat::Json reads such an answer, whatever the model's own format is.
/// References in the schemas of tools point to their new places.
///
/// Fails with InvalidArgument if the schema of a tool is not JSON.
Result<std::string> callSchema(const ToolSet &tools, const CallDemand &demand);

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_TOOLS_CALLSCHEMA_H
