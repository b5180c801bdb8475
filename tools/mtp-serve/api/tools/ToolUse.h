//===- ToolUse.h - The tools of a request -----------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_TOOLS_TOOLUSE_H
#define MTP_TOOLS_MTP_SERVE_API_TOOLS_TOOLUSE_H

#include "runtime/chat/CallForm.h"
#include "runtime/chat/tools/ToolFormat.h"
#include "runtime/chat/tools/ToolSet.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mtp::serve {

/// Whether an answer calls tools: as the model decides, never, or at least
/// once.
enum class ToolChoice : uint8_t { Auto, None, Required };

/// The APIs that have tools: OpenAI's chats, OpenAI's responses, and
/// Anthropic's messages.
enum class ToolApi : uint8_t { Chats, Responses, Messages };

/// How a model's template and answers have tool calls.
struct ToolFacts {
  ToolFormat format = ToolFormat::None;
  CallForm form;
};

/// A tool that `tool_choice` allows, and the path of its name in the request.
struct AllowedTool {
  std::string name, path;
};

/// The tools of a request, and which of them its answers may call.
struct ToolUse {
  /// The tools of the request, of which answers may call the callable ones.
  /// Null: answers have no calls.
  std::shared_ptr<const ToolSet> set;
  ToolFacts facts;
  /// The tools as JSON in the form of OpenAI's chats, without brackets, and the
  /// request's own JSON of `tools` and `tool_choice`. Empty: not given.
  std::string items, given, givenChoice;
  size_t count = 0;
  ToolApi api = ToolApi::Chats;
  ToolChoice choice = ToolChoice::Auto;
  /// The tools that answers may call; empty: all.
  std::vector<AllowedTool> allowed;
  /// Whether an answer may have several calls.
  bool isParallel = true;
  /// Whether a grammar restricts calls to the schemas of the tools.
  bool isRestricted = false;

  /// Returns whether each answer has a call.
  bool mustCall() const { return choice == ToolChoice::Required; }
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_TOOLS_TOOLUSE_H
