//===- ToolFormat.cpp - Formats of tool calls -----------------------------===//

#include "runtime/chat/tools/ToolFormat.h"

#include <algorithm>
#include <iterator>

using namespace mtp;

namespace {

struct Format {
  ToolFormat format;
  std::string_view name;
  /// Strings that the templates of the format contain. Without the first, the
  /// format is not detected.
  std::string_view mark, also = "";
};

// The order of the search in templates.
constexpr Format kFormats[] = {
    {ToolFormat::None, "none", ""},
    {ToolFormat::DeepSeekV32, "deepseek-v3.2", "｜DSML｜"},
    {ToolFormat::DeepSeekV3, "deepseek-v3", "<｜tool▁call▁begin｜>", "```json"},
    {ToolFormat::DeepSeekV31, "deepseek-v3.1", "<｜tool▁call▁begin｜>"},
    {ToolFormat::KimiK2, "kimi-k2", "<|tool_calls_section_begin|>"},
    {ToolFormat::MiniMaxM2, "minimax-m2", "<minimax:tool_call>"},
    {ToolFormat::SeedOss, "seed-oss", "<seed:tool_call>"},
    {ToolFormat::Harmony, "harmony", "<|channel|>commentary"},
    {ToolFormat::Gemma4, "gemma-4", "<|tool_call>call:"},
    {ToolFormat::Mistral, "mistral", "[TOOL_CALLS]"},
    {ToolFormat::Glm, "glm-4.5", "<arg_key>"},
    {ToolFormat::Qwen3Coder, "qwen3-coder", "<function="},
    {ToolFormat::Hermes, "hermes", "<tool_call>"},
    {ToolFormat::Granite, "granite", "<|tool_call|>"},
    {ToolFormat::Llama3, "llama3", "{\"name\": function name, \"parameters\":"},
    {ToolFormat::Pythonic, "pythonic", "[func_name1("},
    {ToolFormat::Json, "json", ""},
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

} // namespace

std::optional<ToolFormat> mtp::findToolFormat(std::string_view name) {
  // Families that write one format.
  if (name == "qwen")
    return ToolFormat::Hermes;
  if (name == "glm-4.6")
    return ToolFormat::Glm;
  for (const Format &one : kFormats)
    if (one.name == name)
      return one.format;
  return std::nullopt;
}

std::vector<std::string_view> mtp::toolFormatNames() {
  std::vector<std::string_view> names;
  for (const Format &one : kFormats)
    names.push_back(one.name);
  return names;
}

ToolFormat mtp::detectToolFormat(std::string_view templateSource) {
  for (const Format &one : kFormats)
    if (!one.mark.empty() && contains(templateSource, one.mark) &&
        contains(templateSource, one.also))
      return one.format;
  return ToolFormat::None;
}
