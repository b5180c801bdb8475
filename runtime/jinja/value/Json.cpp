//===- Json.cpp - Converts values to JSON ---------------------------------===//

#include "runtime/jinja/value/Json.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/value/Compare.h"
#include "runtime/jinja/value/Repr.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <cmath>

using namespace mtp;
using namespace mtp::jinja;

namespace {

void appendUnit(std::string &out, uint32_t unit) {
  out.append("\\u");
  for (int shift = 12; shift >= 0; shift -= 4)
    out.push_back("0123456789abcdef"[unit >> shift & 15]);
}

std::string numberText(const Value &value) {
  if (value.is(Kind::Bool))
    return value.flag() ? "true" : "false";
  if (value.is(Kind::Int))
    return std::to_string(value.integer());
  if (value.wideDigits())
    return *value.wideDigits();
  double real = value.real();
  if (std::isnan(real))
    return "NaN";
  if (std::isinf(real))
    return real < 0 ? "-Infinity" : "Infinity";
  return floatRepr(real);
}

class Writer {
public:
  explicit Writer(const JsonStyle &style) : style(style) {}

  Status write(const Value &value);
  std::string take() { return std::move(out); }

private:
  void writeText(std::string_view text);
  bool writeShort(uint32_t c);
  Status writeItems(const Items &items);
  Status writeDict(const Dict &dict);
  Status writeKey(const Value &key);
  void startItem(bool isFirst);
  void end(char bracket);

  const JsonStyle &style;
  std::string out;
  size_t level = 0;
};

bool Writer::writeShort(uint32_t c) {
  constexpr std::string_view kFrom = "\"\\\n\r\t\f\b";
  constexpr std::string_view kTo = "\"\\nrtfb";
  size_t index =
      c < 0x80 ? kFrom.find(static_cast<char>(c)) : std::string_view::npos;
  if (index == std::string_view::npos)
    return false;
  out.push_back('\\');
  out.push_back(kTo[index]);
  return true;
}

void Writer::writeText(std::string_view text) {
  out.push_back('"');
  for (size_t pos = 0; pos < text.size();) {
    size_t size = utf8Length(text, pos);
    uint32_t c = decodeUtf8(text, pos);
    if (!writeShort(c)) {
      if (c >= 0x20 && (c < 0x7F || !style.ensureAscii)) {
        out.append(text.substr(pos, size));
      } else if (c < 0x10000) {
        appendUnit(out, c);
      } else {
        appendUnit(out, 0xD800 + ((c - 0x10000) >> 10));
        appendUnit(out, 0xDC00 + ((c - 0x10000) & 0x3FF));
      }
    }
    pos += size;
  }
  out.push_back('"');
}

void Writer::startItem(bool isFirst) {
  if (!isFirst)
    out.append(style.itemSeparator);
  if (!style.indent)
    return;
  out.push_back('\n');
  for (size_t i = 0; i < level; ++i)
    out.append(*style.indent);
}

void Writer::end(char bracket) {
  --level;
  if (style.indent)
    startItem(/*isFirst=*/true);
  out.push_back(bracket);
}

Status Writer::writeItems(const Items &items) {
  out.push_back('[');
  if (items.empty()) {
    out.push_back(']');
    return okStatus();
  }
  ++level;
  for (size_t i = 0; i < items.size(); ++i) {
    startItem(i == 0);
    MTP_RETURN_IF_ERROR(write(items[i]));
  }
  end(']');
  return okStatus();
}

Status Writer::writeKey(const Value &key) {
  if (key.isString())
    writeText(key.bytes());
  else if (key.isNone())
    writeText("null");
  else if (key.isNumber())
    writeText(numberText(key));
  else
    return expected("a key that JSON can have", key);
  out.append(style.keySeparator);
  return okStatus();
}

Status Writer::writeDict(const Dict &dict) {
  out.push_back('{');
  std::vector<const std::pair<Value, Value> *> entries;
  for (const auto &entry : dict.entries)
    entries.push_back(&entry);
  if (style.sortKeys) {
    for (size_t i = 1; i < entries.size(); ++i)
      MTP_RETURN_IF_ERROR(
          isLess(entries[i - 1]->first, entries[i]->first).status());
    std::stable_sort(entries.begin(), entries.end(), [](auto *a, auto *b) {
      return orderKeys(a->first, b->first) < 0;
    });
  }
  if (!entries.empty()) {
    ++level;
    for (size_t i = 0; i < entries.size(); ++i) {
      startItem(i == 0);
      MTP_RETURN_IF_ERROR(writeKey(entries[i]->first));
      MTP_RETURN_IF_ERROR(write(entries[i]->second));
    }
    end('}');
    return okStatus();
  }
  out.push_back('}');
  return okStatus();
}

Status Writer::write(const Value &value) {
  if (out.size() > kMaxTextBytes)
    return resourceExhausted(
        strCat("expected at most ", kMaxTextBytes, " bytes of JSON, got more"));
  switch (value.kind()) {
  case Kind::None:
    out.append("null");
    return okStatus();
  case Kind::Bool:
  case Kind::Int:
  case Kind::Float:
    out.append(numberText(value));
    return okStatus();
  case Kind::String:
    writeText(value.bytes());
    return okStatus();
  case Kind::List:
  case Kind::Tuple:
    return writeItems(value.items());
  case Kind::Dict:
    return writeDict(value.dict());
  default:
    return expected("a value that JSON can have", value);
  }
}

} // namespace

Result<std::string> jinja::toJson(const Value &value, const JsonStyle &style) {
  Writer writer(style);
  MTP_RETURN_IF_ERROR(writer.write(value));
  return writer.take();
}
