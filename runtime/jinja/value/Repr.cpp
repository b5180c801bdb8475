//===- Repr.cpp - Text of values ------------------------------------------===//

#include "runtime/jinja/value/Repr.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/value/Characters.h"
#include "runtime/jinja/value/Compare.h"
#include "runtime/utf8/Utf8.h"

#include <charconv>
#include <cmath>

using namespace mtp;
using namespace mtp::jinja;

namespace {

void appendHex(std::string &out, uint32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out.push_back("0123456789abcdef"[value >> shift & 15]);
}

void appendEscaped(std::string &out, uint32_t codePoint) {
  switch (codePoint) {
  case '\n':
    out.append("\\n");
    return;
  case '\r':
    out.append("\\r");
    return;
  case '\t':
    out.append("\\t");
    return;
  default:
    break;
  }
  int digits = codePoint < 0x100 ? 2 : codePoint < 0x10000 ? 4 : 8;
  out.append(digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U");
  appendHex(out, codePoint, digits);
}

void appendQuoted(std::string &out, std::string_view text) {
  bool hasSingle = text.find('\'') != std::string_view::npos;
  bool hasDouble = text.find('"') != std::string_view::npos;
  char quote = hasSingle && !hasDouble ? '"' : '\'';
  out.push_back(quote);
  for (size_t pos = 0; pos < text.size();) {
    size_t size = utf8Length(text, pos);
    uint32_t codePoint = decodeUtf8(text, pos);
    if (codePoint == static_cast<uint32_t>(quote) || codePoint == '\\')
      out.push_back('\\');
    if (isPrintable(codePoint))
      out.append(text.substr(pos, size));
    else
      appendEscaped(out, codePoint);
    pos += size;
  }
  out.push_back(quote);
}

/// Writes values into one string. Size and nesting have limits, because a
/// namespace may contain itself.
class Writer {
public:
  Status write(const Value &value);
  std::string take() { return std::move(out); }

private:
  Status writeList(const Items &items, const char *open, const char *close);
  Status writeDict(const Dict &dict);
  Status writeNamespace(const Namespace &space);
  Status writeView(const Value &value);
  void writeRange(const jinja::Range &range);
  void writeString(const Text &text);
  Status writeOther(const Value &value);

  std::string out;
  uint32_t depth = 0;
};

Status Writer::write(const Value &value) {
  if (out.size() > kMaxTextBytes || depth > 2 * kMaxValueDepth)
    return resourceExhausted(
        strCat("expected at most ", kMaxTextBytes, " bytes of text, got more"));
  ++depth;
  Status status = writeOther(value);
  --depth;
  return status;
}

Status Writer::writeList(const Items &items, const char *open,
                         const char *close) {
  out.append(open);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0)
      out.append(", ");
    MTP_RETURN_IF_ERROR(write(items[i]));
  }
  out.append(close);
  return okStatus();
}

Status Writer::writeDict(const Dict &dict) {
  out.push_back('{');
  for (size_t i = 0; i < dict.entries.size(); ++i) {
    if (i > 0)
      out.append(", ");
    MTP_RETURN_IF_ERROR(write(dict.entries[i].first));
    out.append(": ");
    MTP_RETURN_IF_ERROR(write(dict.entries[i].second));
  }
  out.push_back('}');
  return okStatus();
}

Status Writer::writeNamespace(const Namespace &space) {
  out.append("<Namespace {");
  for (size_t i = 0; i < space.order.size(); ++i) {
    if (i > 0)
      out.append(", ");
    appendQuoted(out, space.order[i]);
    out.append(": ");
    MTP_RETURN_IF_ERROR(write(space.attributes.find(space.order[i])->second));
  }
  out.append("}>");
  return okStatus();
}

Status Writer::writeView(const Value &value) {
  View::Part part = value.as<const View>().part;
  out.append(part == View::Keys     ? "dict_keys"
             : part == View::Values ? "dict_values"
                                    : "dict_items");
  MTP_ASSIGN_OR_RETURN(Items items, itemsOf(value));
  return writeList(items, "([", "])");
}

void Writer::writeString(const Text &text) {
  out.append(text.isSafe ? "Markup(" : "");
  appendQuoted(out, text.bytes);
  out.append(text.isSafe ? ")" : "");
}

void Writer::writeRange(const jinja::Range &range) {
  out.append(strCat("range(", range.start, ", ", range.stop));
  out.append(range.step == 1 ? ")" : strCat(", ", range.step, ")"));
}

/// Returns the digits of a wide integer or of a float.
static std::string floatText(const Value &value) {
  return value.wideDigits() ? *value.wideDigits() : floatRepr(value.real());
}

Status Writer::writeOther(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    out.append("Undefined");
    return okStatus();
  case Kind::None:
    out.append("None");
    return okStatus();
  case Kind::Bool:
    out.append(value.flag() ? "True" : "False");
    return okStatus();
  case Kind::Int:
    out.append(std::to_string(value.integer()));
    return okStatus();
  case Kind::Float:
    out.append(floatText(value));
    return okStatus();
  case Kind::String:
    writeString(value.text());
    return okStatus();
  case Kind::List:
    return writeList(value.items(), "[", "]");
  case Kind::Tuple:
    return writeList(value.items(), "(",
                     value.items().size() == 1 ? ",)" : ")");
  case Kind::Dict:
    return writeDict(value.dict());
  case Kind::Range:
    writeRange(value.as<const jinja::Range>());
    return okStatus();
  case Kind::View:
    return writeView(value);
  case Kind::Namespace:
    return writeNamespace(value.as<const Namespace>());
  case Kind::Object: {
    MTP_ASSIGN_OR_RETURN(std::string text, value.asObject().toText());
    out.append(text);
    return okStatus();
  }
  default:
    // Python writes an address here.
    return expected("a value that has a text", value);
  }
}

} // namespace

std::string jinja::floatRepr(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), value,
                           std::chars_format::scientific)
                 .ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  size_t mark = text.find('e');
  std::string sign = text[0] == '-' ? "-" : "";
  std::string digits;
  for (char c : text.substr(0, mark))
    if (c >= '0' && c <= '9')
      digits.push_back(c);
  // from_chars() reads no plus sign.
  const char *power = buffer + mark + (text[mark + 1] == '+' ? 2 : 1);
  int exponent = 0;
  std::from_chars(power, end, exponent);
  auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    std::string mantissa = digits.substr(0, 1);
    if (count > 1)
      mantissa += "." + digits.substr(1);
    std::string number = std::to_string(std::abs(exponent));
    return sign + mantissa + (exponent < 0 ? "e-" : "e+") +
           (number.size() < 2 ? "0" : "") + number;
  }
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') +
           digits;
  if (count <= exponent + 1)
    return sign + digits +
           std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  size_t whole = static_cast<size_t>(exponent) + 1;
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

Result<std::string> jinja::toText(const Value &value) {
  if (value.isString())
    return value.bytes();
  if (value.isUndefined())
    return std::string();
  return toRepr(value);
}

Result<std::string> jinja::toRepr(const Value &value) {
  Writer writer;
  MTP_RETURN_IF_ERROR(writer.write(value));
  return writer.take();
}
