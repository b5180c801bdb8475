//===- Format.cpp - Python's two ways to format ---------------------------===//

#include "runtime/jinja/value/Format.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/value/FormatSpec.h"
#include "runtime/jinja/value/Repr.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace mtp;
using namespace mtp::jinja;

namespace {

constexpr size_t npos = std::string_view::npos;

Status tooLong() {
  return resourceExhausted(strCat("expected a string of at most ",
                                  kMaxTextBytes, " bytes, got more"));
}

/// Evaluates `format % values`.
class PercentFormatter {
public:
  PercentFormatter(std::string_view format, const Value &values)
      : format(format), values(values) {
    single = {values};
  }

  Result<std::string> run();

private:
  Status convert();
  Result<FormatSpec> parseSpec();
  Status parseWidth(FormatSpec &spec);
  Result<Value> next();
  Result<std::string> render(const Value &value, FormatSpec spec);

  const Items &arguments() const {
    return values.is(Kind::Tuple) ? values.items() : single;
  }

  std::string_view format;
  const Value &values;
  Items single;
  size_t used = 0;
  bool isMapped = false;
  Value mapped;
  size_t pos = 0;
  std::string out;
};

Result<Value> PercentFormatter::next() {
  if (isMapped)
    return mapped;
  if (used >= arguments().size())
    return invalidArgument(strCat("expected more than ", arguments().size(),
                                  " values for the format, got no more"));
  return arguments()[used++];
}

Status PercentFormatter::parseWidth(FormatSpec &spec) {
  if (pos < format.size() && format[pos] == '*')
    return unimplemented("expected a width in the format, got '*'");
  MTP_ASSIGN_OR_RETURN(int width, scanSize(format, pos));
  spec.width = std::max(width, 0);
  if (pos >= format.size() || format[pos] != '.')
    return okStatus();
  ++pos;
  MTP_ASSIGN_OR_RETURN(int precision, scanSize(format, pos));
  spec.precision = std::max(precision, 0);
  return okStatus();
}

Result<FormatSpec> PercentFormatter::parseSpec() {
  FormatSpec spec;
  if (pos < format.size() && format[pos] == '(') {
    size_t end = format.find(')', pos);
    if (end == npos || !values.is(Kind::Dict))
      return expected("a dict for a format with names", values);
    std::string_view key = format.substr(pos + 1, end - pos - 1);
    const Value *value = values.dict().find(key);
    if (!value)
      return invalidArgument(
          strCat("expected a value for '", key, "' of the format, got none"));
    isMapped = true;
    mapped = *value;
    pos = end + 1;
  }
  spec.align = '>';
  for (; pos < format.size(); ++pos) {
    char flag = format[pos];
    if (flag == '-')
      spec.align = '<';
    else if (flag == '+' || (flag == ' ' && spec.sign == '-'))
      spec.sign = flag;
    else if (flag == '0')
      spec.fill = "0";
    else if (flag != ' ')
      break;
  }
  MTP_RETURN_IF_ERROR(parseWidth(spec));
  return spec;
}

Result<std::string> PercentFormatter::render(const Value &value,
                                             FormatSpec spec) {
  bool isText = spec.type == 's' || spec.type == 'r';
  if (isText || spec.align == '<')
    spec.fill = " ";
  else if (spec.fill == "0")
    spec.align = '=';
  if (spec.type == 's' || spec.type == 'r') {
    MTP_ASSIGN_OR_RETURN(std::string text,
                         spec.type == 's' ? toText(value) : toRepr(value));
    spec.type = 's';
    return formatValue(Value(std::move(text)), spec);
  }
  if (!value.isNumber())
    return expected("a number for the format", value);
  if (spec.type == 'i' || spec.type == 'u')
    spec.type = 'd';
  if (spec.type == 'd' && value.is(Kind::Float)) {
    if (!(std::fabs(value.real()) < 9e18))
      return expected("an integer of 64 bits for the format", value);
    return formatValue(Value(static_cast<int64_t>(value.real())), spec);
  }
  if (spec.precision >= 0 && value.isInteger() &&
      (spec.type == 'd' || spec.type == 'x' || spec.type == 'X'))
    return unimplemented("expected no precision of an integer in a format, "
                         "got one");
  return formatValue(value, spec);
}

Status PercentFormatter::convert() {
  ++pos;
  if (pos < format.size() && format[pos] == '%') {
    out.push_back('%');
    ++pos;
    return okStatus();
  }
  isMapped = false;
  MTP_ASSIGN_OR_RETURN(FormatSpec spec, parseSpec());
  constexpr std::string_view kTypes = "srdiuxXeEfFgG";
  if (pos >= format.size() || kTypes.find(format[pos]) == npos)
    return unimplemented(
        strCat("expected a supported conversion after '%', got '",
               format.substr(std::min(pos, format.size()), 1), "'"));
  spec.type = format[pos++];
  MTP_ASSIGN_OR_RETURN(Value value, next());
  MTP_ASSIGN_OR_RETURN(std::string text, render(value, spec));
  out += text;
  return out.size() > kMaxTextBytes ? tooLong() : okStatus();
}

Result<std::string> PercentFormatter::run() {
  while (pos < format.size())
    if (format[pos] != '%')
      out.push_back(format[pos++]);
    else
      MTP_RETURN_IF_ERROR(convert());
  if (used < arguments().size() && !values.is(Kind::Dict))
    return invalidArgument(strCat(
        "expected ", used, " values for the format, got ", arguments().size()));
  return std::move(out);
}

/// Evaluates `format.format(arguments)`.
class BraceFormatter {
public:
  BraceFormatter(std::string_view format, const Arguments &arguments)
      : format(format), arguments(arguments) {}

  Result<std::string> run();

private:
  Status field();
  Result<Value> argument(std::string_view name);

  std::string_view format;
  const Arguments &arguments;
  size_t pos = 0;
  size_t next = 0;
  std::string out;
};

bool readIndex(std::string_view text, int64_t &index) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), index);
  return !text.empty() && text[0] != '-' && error == std::errc() &&
         end == text.data() + text.size();
}

Result<Value> BraceFormatter::argument(std::string_view name) {
  int64_t index = 0;
  if (name.empty())
    index = static_cast<int64_t>(next++);
  else if (!readIndex(name, index)) {
    for (const auto &[key, value] : arguments.named)
      if (key == name)
        return value;
    return invalidArgument(
        strCat("expected a value for '", name, "' of the format, got none"));
  }
  if (index >= static_cast<int64_t>(arguments.positional.size()))
    return invalidArgument(strCat("expected more than ",
                                  arguments.positional.size(),
                                  " values for the format, got no more"));
  return arguments.positional[static_cast<size_t>(index)];
}

Status BraceFormatter::field() {
  size_t end = format.find_first_of("{}", pos);
  if (end == npos || format[end] == '{')
    return unimplemented("expected '}' to end a field of the format, got "
                         "none, or a field within it");
  std::string_view text = format.substr(pos, end - pos);
  pos = end + 1;
  size_t colon = std::min(text.find(':'), text.size());
  std::string_view name = text.substr(0, colon);
  if (name.find_first_of(".[!") != npos)
    return unimplemented(
        strCat("expected a name or number in a field of the format, got '",
               name, "'"));
  MTP_ASSIGN_OR_RETURN(Value value, argument(name));
  std::string_view spec = colon < text.size() ? text.substr(colon + 1) : "";
  if (!spec.empty() && !value.isString() && !value.isNumber())
    return expected("a string or a number for a field with a format", value);
  MTP_ASSIGN_OR_RETURN(FormatSpec parsed, parseFormatSpec(spec));
  MTP_ASSIGN_OR_RETURN(std::string rendered, formatValue(value, parsed));
  out += rendered;
  return out.size() > kMaxTextBytes ? tooLong() : okStatus();
}

Result<std::string> BraceFormatter::run() {
  while (pos < format.size()) {
    char c = format[pos++];
    if (c != '{' && c != '}') {
      out.push_back(c);
    } else if (pos < format.size() && format[pos] == c) {
      out.push_back(c);
      ++pos;
    } else if (c == '}') {
      return invalidArgument("expected '{' before '}' in the format, got none");
    } else {
      MTP_RETURN_IF_ERROR(field());
    }
  }
  return std::move(out);
}

} // namespace

Result<Value> jinja::formatPercent(const Value &format, const Value &values) {
  if (format.text().isSafe)
    return unimplemented("expected a format that is not marked safe, got one "
                         "that is");
  PercentFormatter formatter(format.bytes(), values);
  MTP_ASSIGN_OR_RETURN(std::string text, formatter.run());
  return makeText(std::move(text));
}

Result<Value> jinja::formatBraces(const std::string &format,
                                  const Arguments &arguments) {
  BraceFormatter formatter(format, arguments);
  MTP_ASSIGN_OR_RETURN(std::string text, formatter.run());
  return makeText(std::move(text));
}
