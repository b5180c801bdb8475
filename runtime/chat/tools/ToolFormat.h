//===- ToolFormat.h - Formats of tool calls ---------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CHAT_TOOLS_TOOLFORMAT_H
#define MTP_RUNTIME_CHAT_TOOLS_TOOLFORMAT_H

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mtp {

/// How a family of models writes calls.
enum class ToolFormat : uint8_t {
  None,        ///< No calls.
  Hermes,      ///< <tool_call>{"name": ..., "arguments": ...}</tool_call>
  Qwen3Coder,  ///< <tool_call><function=NAME><parameter=KEY>VALUE...
  Llama3,      ///< {"name": ..., "parameters": ...}
  Pythonic,    ///< [NAME(key=value)]
  Mistral,     ///< [TOOL_CALLS]NAME[ARGS]{...}, [TOOL_CALLS][{"name": ...}]
  DeepSeekV3,  ///< <｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME ```json
  DeepSeekV31, ///< <｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{...}
  DeepSeekV32, ///< <｜DSML｜invoke name="NAME"><｜DSML｜parameter name=...
  Glm,         ///< <tool_call>NAME<arg_key>KEY</arg_key><arg_value>...
  KimiK2,      ///< <|tool_call_begin|>functions.NAME:0<|tool_call_argument...
  MiniMaxM2,   ///< <invoke name="NAME"><parameter name="KEY">VALUE...
  SeedOss,     ///< <seed:tool_call><function=NAME><parameter=KEY>VALUE...
  Harmony,     ///< <|start|>assistant to=functions.NAME<|channel|>...
  Gemma4,      ///< <|tool_call>call:NAME{key:value}<tool_call|>
  Granite,     ///< <|tool_call|>[{"name": ..., "arguments": ...}]
  Json,        ///< [{"name": ..., "parameters": ...}], of constrained answers.
};

/// Returns the format of a name, such as "hermes" or "qwen3-coder".
std::optional<ToolFormat> findToolFormat(std::string_view name);
/// Returns all names in order, for messages.
std::vector<std::string_view> toolFormatNames();

/// Returns the format of a chat template: the first format, in the order of the
/// table in README.md, of which the template contains the string. None: the
/// template has none of the strings.
ToolFormat detectToolFormat(std::string_view templateSource);

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_TOOLS_TOOLFORMAT_H
