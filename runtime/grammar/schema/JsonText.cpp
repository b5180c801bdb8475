//===- JsonText.cpp - JSON as paths of an automaton -----------------------===//

#include "runtime/grammar/schema/JsonText.h"

#include "runtime/grammar/schema/RawText.h"
#include "runtime/utf8/Utf8.h"

#include <charconv>
#include <map>
#include <utility>

using namespace mtp;
using namespace mtp::grammar;

namespace {

/// Returns the canonical escape of a character that needs one.
std::string escapeOf(uint32_t character) {
  constexpr std::string_view kNamed = "\"\\\b\f\n\r\t", kNames = "\"\\bfnrt";
  size_t index = kNamed.find(static_cast<char>(character));
  if (index != kNamed.npos)
    return {'\\', kNames[index]};
  constexpr std::string_view kDigits = "0123456789abcdef";
  return {
      '\\', 'u', '0', '0', kDigits[character >> 4], kDigits[character & 15]};
}

/// Returns the text of a number. Numbers without fraction are integers.
std::string numberText(JsonElement value) {
  int64_t integer = 0;
  uint64_t large = 0;
  if (!value.get(integer))
    return std::to_string(integer);
  if (!value.get(large))
    return std::to_string(large);
  double number = 0;
  (void)value.get(number);
  char text[64];
  auto end = std::to_chars(text, text + sizeof(text), number);
  return {text, end.ptr};
}

} // namespace

JsonText::JsonText(AutomatonBuilder &builder, const Limits &limits,
                   JsonStyle style)
    : builder(builder), limits(limits), style(std::move(style)) {
  CodePoints all = CodePoints::all();
  if (!this->style.isRaw)
    all = {{0x20, 0x21}, {0x23, 0x5B}, {0x5D, CodePoints::kLast}};
  plain = all.intersection(this->style.escaped.complement());
}

void JsonText::addShared(std::optional<RuleId> &rule, const char *name, Add add,
                         StateId from, StateId to) {
  if (!rule) {
    rule = builder.addRule(name);
    (this->*add)(builder.startOf(*rule), builder.endOf(*rule));
  }
  builder.addCall(from, *rule, to);
}

void JsonText::addGap(StateId from, StateId to) {
  if (limits.whitespace == 0)
    builder.addEmpty(from, to);
  else
    addShared(gap, "white space", &JsonText::fillGap, from, to);
}

void JsonText::fillGap(StateId from, StateId to) {
  addRepeat(builder, 0, limits.whitespace, from, to,
            [&](StateId first, StateId last) {
              for (char c : std::string_view(" \n\r\t"))
                builder.addBytes(first, c, c, last);
            });
}

void JsonText::addSeparator(StateId from, char token, StateId to) {
  StateId before = builder.addState(), after = builder.addState();
  addGap(from, before);
  builder.addBytes(before, token, token, after);
  addGap(after, to);
}

void JsonText::addAnyCharacter(StateId from, StateId to) {
  builder.addCharacter(from, plain, to);
  if (!style.isRaw)
    addShared(escape, "escape", &JsonText::fillEscape, from, to);
}

void JsonText::fillEscape(StateId from, StateId to) {
  StateId kind = builder.addState(), digits = builder.addState();
  builder.addBytes(from, '\\', '\\', kind);
  for (char c : std::string_view("\"\\/bfnrt"))
    builder.addBytes(kind, c, c, to);
  builder.addBytes(kind, 'u', 'u', digits);
  auto addHex = [&](StateId first, std::string_view set, StateId last) {
    for (char c : set)
      builder.addBytes(first, c, c, last);
  };
  auto addHexes = [&](StateId first, uint32_t count, StateId last) {
    addRepeat(builder, count, count, first, last, [&](StateId a, StateId b) {
      addHex(a, "0123456789abcdefABCDEF", b);
    });
  };
  // D8 to DB begin a pair of escapes, whose second one begins with DC to DF.
  StateId three = builder.addState(), afterD = builder.addState(),
          two = builder.addState(), high = builder.addState(),
          pair = builder.addState(), low = builder.addState(),
          lowKind = builder.addState(), lowDigits = builder.addState();
  addHex(digits, "0123456789abcefABCEF", three);
  addHexes(three, 3, to);
  addHex(digits, "dD", afterD);
  addHex(afterD, "01234567", two);
  addHexes(two, 2, to);
  addHex(afterD, "89abAB", high);
  addHexes(high, 2, pair);
  builder.addText(pair, "\\u", low);
  addHex(low, "dD", lowKind);
  addHex(lowKind, "cdefCDEF", lowDigits);
  addHexes(lowDigits, 2, to);
}

void JsonText::addCharacter(StateId from, const CodePoints &set, StateId to) {
  builder.addCharacter(from, set.intersection(plain), to);
  if (style.isRaw)
    return;
  CodePoints escaped = set.intersection(plain.complement());
  for (CodePointRange range : escaped.ranges())
    for (uint32_t c = range.first; c <= range.last; ++c)
      builder.addText(from, escapeOf(c), to);
}

void JsonText::addString(StateId from, StateId to) {
  addShared(string, "string", &JsonText::fillString, from, to);
}

void JsonText::fillString(StateId from, StateId to) {
  if (!style.isRaw)
    return addString(from, 0, Expression::kUnbounded, to);
  StateId first = builder.addState(), last = builder.addState();
  addQuote(from, first);
  addTextWithout(builder, style.marks, first, last);
  addQuote(last, to);
}

void JsonText::addString(StateId from, uint32_t min, uint32_t max, StateId to) {
  StateId first = builder.addState(), last = builder.addState();
  addQuote(from, first);
  addRepeat(builder, min, max, first, last,
            [&](StateId a, StateId b) { addAnyCharacter(a, b); });
  addQuote(last, to);
}

void JsonText::addStringExcept(StateId from,
                               const std::vector<std::string> &names,
                               StateId to) {
  // A trie of the names. A text that leaves it is followed by any characters.
  struct Node {
    StateId state;
    bool isName = false;
    std::map<uint32_t, size_t> children;
  };
  std::vector<Node> trie(1);
  trie[0].state = builder.addState();
  for (const std::string &name : names) {
    size_t at = 0;
    for (size_t pos = 0; pos < name.size(); pos += utf8Length(name, pos)) {
      auto [child, isNew] =
          trie[at].children.try_emplace(decodeUtf8(name, pos), trie.size());
      size_t next = child->second;
      if (isNew)
        trie.push_back({builder.addState(), false, {}});
      at = next;
    }
    trie[at].isName = true;
  }
  addQuote(from, trie[0].state);
  StateId other = builder.addState(), end = builder.addState();
  addAnyCharacter(other, other);
  builder.addEmpty(other, end);
  addQuote(end, to);
  for (const Node &node : trie) {
    CodePoints inTrie;
    for (auto [character, child] : node.children) {
      inTrie.add(character, character);
      addCharacter(node.state, {{character, character}}, trie[child].state);
    }
    // In the trie, escapes must be canonical: "\u0061" is the name "a".
    addCharacter(node.state, inTrie.complement(), other);
    if (!node.isName)
      builder.addEmpty(node.state, end);
  }
}

void JsonText::addDigits(StateId from, StateId to) {
  addRepeat(builder, 1, Expression::kUnbounded, from, to,
            [&](StateId a, StateId b) { builder.addBytes(a, '0', '9', b); });
}

void JsonText::addInteger(StateId from, StateId to) {
  addShared(integer, "integer", &JsonText::fillInteger, from, to);
}

void JsonText::fillInteger(StateId from, StateId to) {
  StateId magnitude = builder.addState(), more = builder.addState();
  builder.addBytes(from, '-', '-', magnitude);
  builder.addEmpty(from, magnitude);
  builder.addBytes(magnitude, '0', '0', to);
  builder.addBytes(magnitude, '1', '9', more);
  builder.addBytes(more, '0', '9', more);
  builder.addEmpty(more, to);
}

void JsonText::addNumber(StateId from, StateId to) {
  addShared(number, "number", &JsonText::fillNumber, from, to);
}

void JsonText::fillNumber(StateId from, StateId to) {
  StateId whole = builder.addState(), fraction = builder.addState(),
          decimal = builder.addState(), exponent = builder.addState(),
          power = builder.addState();
  fillInteger(from, whole);
  builder.addBytes(whole, '.', '.', fraction);
  addDigits(fraction, decimal);
  builder.addEmpty(whole, decimal);
  builder.addEmpty(decimal, to);
  for (char c : {'e', 'E'})
    builder.addBytes(decimal, c, c, exponent);
  for (char c : {'+', '-'})
    builder.addBytes(exponent, c, c, power);
  builder.addEmpty(exponent, power);
  addDigits(power, to);
}

void JsonText::addQuoted(StateId from, std::string_view text, StateId to) {
  std::string quoted(style.quote);
  for (size_t pos = 0; pos < text.size(); pos += utf8Length(text, pos)) {
    uint32_t c = decodeUtf8(text, pos);
    if (plain.contains(c))
      quoted += text.substr(pos, utf8Length(text, pos));
    else if (style.isRaw)
      return;
    else
      quoted += escapeOf(c);
  }
  builder.addText(from, quoted + std::string(style.quote), to);
}

void JsonText::addName(StateId from, std::string_view name, StateId to) {
  constexpr std::string_view kBare =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  if (style.hasBareNames && !name.empty() &&
      name.find_first_not_of(kBare) == name.npos)
    return builder.addText(from, name, to);
  addQuoted(from, name, to);
}

void JsonText::addMembers(StateId from, JsonObject object, StateId to) {
  bool isFirst = true;
  for (auto [key, value] : object) {
    if (!std::exchange(isFirst, false)) {
      StateId next = builder.addState();
      addSeparator(from, ',', next);
      from = next;
    }
    StateId colon = builder.addState(), begin = builder.addState(),
            end = builder.addState();
    addName(from, key, colon);
    addSeparator(colon, ':', begin);
    addValue(begin, value, end);
    from = end;
  }
  builder.addEmpty(from, to);
}

void JsonText::addItems(StateId from, JsonArray array, StateId to) {
  bool isFirst = true;
  for (JsonElement value : array) {
    if (!std::exchange(isFirst, false)) {
      StateId next = builder.addState();
      addSeparator(from, ',', next);
      from = next;
    }
    StateId end = builder.addState();
    addValue(from, value, end);
    from = end;
  }
  builder.addEmpty(from, to);
}

void JsonText::addValue(StateId from, JsonElement value, StateId to) {
  if (builder.isFull())
    return;
  JsonObject object;
  JsonArray array;
  bool isObject = !value.get(object), isArray = !value.get(array);
  if (isObject || isArray) {
    StateId open = builder.addState(), first = builder.addState(),
            last = builder.addState(), close = builder.addState();
    char begin = isObject ? '{' : '[', end = isObject ? '}' : ']';
    builder.addBytes(from, begin, begin, open);
    addGap(open, first);
    if (isObject)
      addMembers(first, object, last);
    else
      addItems(first, array, last);
    addGap(last, close);
    builder.addBytes(close, end, end, to);
  } else if (value.is_string()) {
    addQuoted(from, textOf(value), to);
  } else if (value.is_bool()) {
    addBoolean(from, truthOf(value), to);
  } else if (value.is_null()) {
    addNull(from, to);
  } else {
    builder.addText(from, numberText(value), to);
  }
}
