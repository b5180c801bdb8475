//===- ToolTemplates.h - Small templates with tool calls --------*- C++ -*-===//
//
// Templates of these tests' own, one or more for each format. They write calls
// as the families' templates do.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TEST_CHAT_TOOLTEMPLATES_H
#define MTP_TEST_CHAT_TOOLTEMPLATES_H

#include "runtime/chat/tools/ToolFormat.h"

#include <string_view>

namespace mtp::test {

struct ToolTemplate {
  ToolFormat format;
  /// The text of a message's calls, with `c` for a call's function.
  std::string_view calls;
};

inline constexpr ToolTemplate kToolTemplates[] = {
    {ToolFormat::Hermes,
     R"({% for c in m.tool_calls %}
<tool_call>
{"name": {{ c.function.name | tojson }}, "arguments": {# -#}
{{ c.function.arguments | tojson }}}
</tool_call>
{%- endfor %})"},
    {ToolFormat::Qwen3Coder,
     R"({% for c in m.tool_calls %}
<tool_call>
<function={{ c.function.name }}>
{% for k, v in c.function.arguments.items() %}<parameter={{ k }}>
{{ v if v is string else v | tojson }}
</parameter>
{% endfor %}</function>
</tool_call>
{%- endfor %})"},
    {ToolFormat::Llama3,
     R"(<|python_tag|>{% for c in m.tool_calls %}{{ "; " if not loop.first }}
{{- {"name": c.function.name, "parameters": c.function.arguments} | tojson }}
{%- endfor %})"},
    {ToolFormat::Mistral,
     R"({% for c in m.tool_calls %}[TOOL_CALLS]{{ c.function.name }}[ARGS]
{{- c.function.arguments | tojson }}{% endfor %})"},
    {ToolFormat::Mistral,
     R"([TOOL_CALLS][{% for c in m.tool_calls %}{{ ", " if not loop.first }}
{{- {"name": c.function.name, "arguments": c.function.arguments} | tojson }}
{%- endfor %}])"},
    {ToolFormat::DeepSeekV3,
     R"(<｜tool▁calls▁begin｜>{% for c in m.tool_calls %}{# -#}
<｜tool▁call▁begin｜>function<｜tool▁sep｜>
{{- c.function.name }}
```json
{{ c.function.arguments | tojson }}
```<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>)"},
    {ToolFormat::DeepSeekV31,
     R"(<｜tool▁calls▁begin｜>{% for c in m.tool_calls %}{# -#}
<｜tool▁call▁begin｜>
{{- c.function.name }}<｜tool▁sep｜>{{ c.function.arguments | tojson }}
{{- "<｜tool▁call▁end｜>" }}{% endfor %}<｜tool▁calls▁end｜>)"},
    {ToolFormat::DeepSeekV32,
     R"(<｜DSML｜function_calls>
{% for c in m.tool_calls %}<｜DSML｜invoke name="{{ c.function.name }}">
{% for k, v in c.function.arguments.items() %}{# -#}
<｜DSML｜parameter name="{{ k }}" string="
{{- "true" if v is string else "false" }}">
{{- v if v is string else v | tojson }}</｜DSML｜parameter>
{% endfor %}</｜DSML｜invoke>
{% endfor %}</｜DSML｜function_calls>)"},
    {ToolFormat::Glm,
     R"({% for c in m.tool_calls %}
<tool_call>{{ c.function.name }}
{% for k, v in c.function.arguments.items() %}<arg_key>{{ k }}</arg_key>
<arg_value>{{ v if v is string else v | tojson }}</arg_value>
{% endfor %}</tool_call>{% endfor %})"},
    {ToolFormat::KimiK2,
     R"(<|tool_calls_section_begin|>{% for c in m.tool_calls %}{# -#}
<|tool_call_begin|>functions.{{ c.function.name }}:{{ loop.index0 }}{# -#}
<|tool_call_argument_begin|>{{ c.function.arguments | tojson }}{# -#}
<|tool_call_end|>{% endfor %}<|tool_calls_section_end|>)"},
    {ToolFormat::MiniMaxM2,
     R"(<minimax:tool_call>
{% for c in m.tool_calls %}<invoke name="{{ c.function.name }}">
{% for k, v in c.function.arguments.items() %}<parameter name="{{ k }}">
{{- v if v is string else v | tojson }}</parameter>
{% endfor %}</invoke>
{% endfor %}</minimax:tool_call>)"},
    {ToolFormat::SeedOss,
     R"({% for c in m.tool_calls %}
<seed:tool_call>
<function={{ c.function.name }}>
{% for k, v in c.function.arguments.items() %}<parameter={{ k }}>
{{- v if v is string else v | string }}</parameter>
{% endfor %}</function>
</seed:tool_call>
{%- endfor %})"},
    {ToolFormat::Harmony,
     R"({% for c in m.tool_calls %}{# -#}
<|start|>assistant<|channel|>commentary to=functions.{# -#}
{{ c.function.name }} {# -#}
<|constrain|>json<|message|>{{ c.function.arguments | tojson }}<|call|>
{%- endfor %})"},
    {ToolFormat::Granite,
     R"(<|tool_call|>[{% for c in m.tool_calls %}{{ ", " if not loop.first }}
{{- {"name": c.function.name, "arguments": c.function.arguments} | tojson }}
{%- endfor %}])"},
    {ToolFormat::Json,
     R"([{% for c in m.tool_calls %}{{ ", " if not loop.first }}
{{- {"name": c.function.name, "parameters": c.function.arguments} | tojson }}
{%- endfor %}])"},
};

} // namespace mtp::test

#endif // MTP_TEST_CHAT_TOOLTEMPLATES_H
