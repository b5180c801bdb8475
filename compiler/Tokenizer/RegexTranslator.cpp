//===- RegexTranslator.cpp - From Oniguruma's syntax to PCRE2's -----------===//

#include "compiler/Tokenizer/RegexTranslator.h"

#include "compiler/Tokenizer/CharacterSets.h"

#include <utility>
#include <vector>

using namespace mtp;

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool isHexDigit(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// Returns PCRE2's name of a property.
std::string translateProperty(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"Letter", "L"},
      {"Mark", "M"},
      {"Number", "N"},
      {"Punctuation", "P"},
      {"Symbol", "S"},
      {"Separator", "Z"},
      {"Other", "C"},
      {"Alphabetic", "Alphabetic"},
      {"Alpha", "Alphabetic"},
      {"White_Space", "WSpace"},
      {"Uppercase", "Uppercase"},
      {"Lowercase", "Lowercase"}};
  for (const auto &[from, to] : kNames)
    if (name == from)
      return std::string(to);
  // General categories have one or two letters. In PCRE2 a script's name means
  // its extensions, unless prefixed.
  return name.size() <= 2 ? std::string(name) : "sc:" + std::string(name);
}

class Translator {
public:
  explicit Translator(std::string_view pattern) : pattern(pattern) {}

  Result<std::string> run() {
    while (pos < pattern.size())
      MTP_RETURN_IF_ERROR(translateNext());
    return std::move(out);
  }

private:
  char peek(size_t ahead = 0) const {
    return pos + ahead < pattern.size() ? pattern[pos + ahead] : '\0';
  }
  bool startsWith(std::string_view text) const {
    return pattern.substr(pos, text.size()) == text;
  }

  Status unsupported(std::string_view what) const {
    return invalidArgument(std::string(what) + " at byte " +
                           std::to_string(pos) + " is not supported");
  }

  void beginAtom() { atomBegin = out.size(); }

  /// Checks that case folding is equal in both engines. Without case, Oniguruma
  /// folds "ss" to U+00DF and other pairs likewise, but PCRE2 folds only single
  /// characters. So a pattern that may involve such a fold is refused: pairs of
  /// ASCII letters with a fold, and all other letters. `c` is a literal's next
  /// byte.
  Status checkFold(char c) {
    if (!isCaseless)
      return okStatus();
    if (c & 0x80)
      return unsupported("a character that is not ASCII under '(?i'");
    char letter = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    for (std::string_view pair : {"ss", "st", "ff", "fi", "fl"})
      if (pair[0] == literal && pair[1] == letter)
        return unsupported("'" + std::string(pair) + "' under '(?i'");
    literal = letter;
    return okStatus();
  }

  void copy(size_t count) {
    out.append(pattern.substr(pos, count));
    pos += count;
  }

  Status translateNext() {
    switch (peek()) {
    case '\\':
      beginAtom();
      return translateEscape(/*inClass=*/false);
    case '[':
      beginAtom();
      return translateClass();
    case '(':
      return translateGroup();
    case ')':
      if (groups.empty())
        return unsupported("')'");
      atomBegin = groups.back().begin;
      isCaseless = groups.back().wasCaseless;
      groups.pop_back();
      copy(1);
      return okStatus();
    case '^':
    case '$':
      beginAtom();
      out.append("(?m:").push_back(peek());
      out.push_back(')');
      ++pos;
      return okStatus();
    case '{':
      return translateInterval();
    case '*':
    case '+':
    case '?':
    case '|':
      literal = '\0';
      copy(1);
      return okStatus();
    default:
      MTP_RETURN_IF_ERROR(checkFold(peek()));
      // Bytes after the first byte of a character belong to its atom.
      if ((peek() & 0xC0) != 0x80)
        beginAtom();
      copy(1);
      return okStatus();
    }
  }

  Status translateGroup() {
    static constexpr std::string_view kOpenings[] = {
        "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:"};
    groups.push_back({out.size(), isCaseless});
    // Ruby's (?i) extends over the following alternatives. PCRE2 agrees only if
    // it is at the start.
    if (pos == 0 && startsWith("(?i)")) {
      groups.pop_back();
      isCaseless = true;
      copy(4);
      return okStatus();
    }
    for (std::string_view opening : kOpenings)
      if (startsWith(opening)) {
        isCaseless |= opening == "(?i:";
        copy(opening.size());
        return okStatus();
      }
    if (peek(1) == '?' || peek(1) == '*')
      return unsupported("'" + std::string(pattern.substr(pos, 4)) + "'");
    copy(1);
    return okStatus();
  }

  /// Translates {n}, {n,}, {n,m} and Ruby's {,m}. Other braces are literals.
  Status translateInterval() {
    size_t end = pos + 1;
    auto digits = [&] {
      std::string number;
      while (end < pattern.size() && isDigit(pattern[end]))
        number.push_back(pattern[end++]);
      return number;
    };
    std::string least = digits(), most;
    bool hasComma = end < pattern.size() && pattern[end] == ',';
    if (hasComma) {
      ++end;
      most = digits();
    }
    bool isInterval = end < pattern.size() && pattern[end] == '}' &&
                      (!least.empty() || !most.empty());
    if (!isInterval) {
      beginAtom();
      out.append("\\{");
      ++pos;
      return okStatus();
    }
    if (out.empty())
      return unsupported("an interval of nothing");
    out.append("{" + (least.empty() ? "0" : least) + (hasComma ? "," : "") +
               most + "}");
    pos = end + 1;
    if (peek() == '?' && !hasComma)
      return unsupported("'{n}?'");
    if (peek() == '+') {
      // `+` after an interval is a separate quantifier in Ruby, and in PCRE2
      // only after a group.
      out.insert(atomBegin, "(?:");
      out.push_back(')');
    }
    return okStatus();
  }

  /// Translates a set or [a&&[b]]. PCRE2 has no intersection, so it becomes a
  /// lookahead for the second set and then the first set.
  Status translateClass() {
    size_t begin = out.size();
    bool isNegated = peek(1) == '^';
    MTP_RETURN_IF_ERROR(translateMembers());
    bool isCut = startsWith("&&");
    // The negation covers the intersection, and case folding each side.
    if (isCut && (isNegated || isCaseless))
      return unsupported("an intersection of sets under '^' or '(?i'");
    while (startsWith("&&")) {
      pos += 2;
      if (peek() != '[')
        return unsupported("an intersection with no set in brackets");
      std::string first = out.substr(begin);
      out.resize(begin);
      MTP_RETURN_IF_ERROR(translateMembers());
      if (peek() != ']')
        return unsupported("an intersection in an intersection");
      out = out.substr(0, begin) + "(?=" + out.substr(begin) + "])" + first;
      ++pos;
    }
    if (peek() != ']')
      return unsupported("an intersection followed by more of the set");
    copy(1);
    if (isCut) {
      out.insert(begin, "(?:");
      out.push_back(')');
    }
    return okStatus();
  }

  /// Copies a set from its bracket up to, but without, the closing one or "&&".
  Status translateMembers() {
    literal = '\0';
    copy(1);
    if (peek() == '^')
      copy(1);
    if (peek() == ']' || startsWith("&&"))
      return unsupported("an empty set");
    while (peek() != ']' && !startsWith("&&")) {
      if (pos >= pattern.size())
        return unsupported("an open set");
      if (peek() == '[')
        return unsupported("a set in a set");
      if (peek() == '\\') {
        MTP_RETURN_IF_ERROR(translateEscape(/*inClass=*/true));
      } else {
        if (isCaseless && (peek() & 0x80))
          return unsupported("a character that is not ASCII under '(?i'");
        copy(1);
      }
    }
    return okStatus();
  }

  /// Returns the set for a letter after a backslash. Empty: there is none.
  static std::string setOf(char letter, bool inClass) {
    std::string word(inClass ? wordMembers() : onigurumaWordMembers());
    switch (letter) {
    case 's':
      return "\\p{WSpace}";
    case 'S':
      return "\\P{WSpace}";
    case 'd':
      return "\\p{Nd}";
    case 'D':
      return "\\P{Nd}";
    case 'w':
      return inClass ? word : "[" + word + "]";
    case 'W':
      return "[^" + word + "]";
    default:
      return {};
    }
  }

  Status translateEscape(bool inClass) {
    char c = peek(1);
    if (pos + 1 >= pattern.size())
      return unsupported("a trailing '\\'");
    if (!isLetter(c) && !isDigit(c)) {
      if (isCaseless && (c & 0x80))
        return unsupported("a character that is not ASCII under '(?i'");
      literal = '\0';
      // A backslash has no effect before other characters; PCRE2 allows none
      // before one that is not ASCII.
      if (c & 0x80)
        ++pos;
      else
        copy(2);
      return okStatus();
    }
    literal = '\0';
    if (inClass && c == 'W')
      return unsupported("'\\W' in a set");
    if (std::string set = setOf(c, inClass); !set.empty())
      return replace(2, set);
    switch (c) {
    case 'n':
    case 'r':
    case 't':
    case 'f':
      copy(2);
      return okStatus();
    case 'v':
      return replace(2, "\\x{0B}");
    case 'A':
    case 'z':
      if (inClass)
        break;
      copy(2);
      return okStatus();
    case 'p':
    case 'P':
      return translatePropertyEscape();
    case 'x':
    case 'u':
      return translateHexEscape();
    default:
      break;
    }
    return unsupported("'\\" + std::string(1, c) + "'");
  }

  Status replace(size_t count, std::string_view text) {
    out.append(text);
    pos += count;
    return okStatus();
  }

  Status translatePropertyEscape() {
    size_t end = pattern.find('}', pos);
    if (peek(2) != '{' || end == std::string_view::npos)
      return unsupported("a property without braces");
    std::string_view name = pattern.substr(pos + 3, end - pos - 3);
    bool isNegated = peek(1) == 'P';
    if (!name.empty() && name[0] == '^') {
      isNegated = !isNegated;
      name.remove_prefix(1);
    }
    for (char c : name)
      if (!isLetter(c) && c != '_' && c != '&')
        return unsupported("a property of that name");
    std::string translated = translateProperty(name);
    // Within a set Oniguruma adds the other case, and PCRE2 does not.
    for (std::string_view cased : {"Lu", "Ll", "Lt", "Uppercase", "Lowercase"})
      if (isCaseless && translated == cased)
        return unsupported("a property of one case under '(?i'");
    out.append(isNegated ? "\\P{" : "\\p{");
    out.append(translated).push_back('}');
    pos = end + 1;
    return okStatus();
  }

  /// Translates \xHH below 0x80 (a raw byte otherwise), \x{H...} and \uHHHH.
  Status translateHexEscape() {
    bool isBraced = peek(1) == 'x' && peek(2) == '{';
    size_t begin = pos + (isBraced ? 3 : 2), end = begin;
    size_t most = isBraced ? 6 : peek(1) == 'x' ? 2 : 4;
    while (end < pattern.size() && end - begin < most &&
           isHexDigit(pattern[end]))
      ++end;
    std::string digits(pattern.substr(begin, end - begin));
    bool isComplete = isBraced ? !digits.empty() && end < pattern.size() &&
                                     pattern[end] == '}'
                               : digits.size() == most;
    if (!isComplete || (most == 2 && digits[0] > '7'))
      return unsupported("a malformed character number");
    if (isCaseless)
      return unsupported("a character's number under '(?i'");
    out.append("\\x{" + digits + "}");
    pos = end + (isBraced ? 1 : 0);
    return okStatus();
  }

  std::string_view pattern;
  size_t pos = 0;
  std::string out;
  size_t atomBegin = 0; ///< Start of a quantifier's operand in `out`.
  /// State outside of an open group. `begin` is an index into `out`.
  struct Group {
    size_t begin;
    bool wasCaseless;
  };
  std::vector<Group> groups;
  bool isCaseless = false;
  char literal = '\0'; ///< The preceding letter, if case does not matter.
};

} // namespace

Result<std::string> mtp::translateRegex(std::string_view pattern) {
  return Translator(pattern).run();
}

std::string mtp::escapeRegex(std::string_view text) {
  std::string pattern;
  for (char c : text) {
    bool isPlain = (c & 0x80) || isLetter(c) || isDigit(c) || c == ' ';
    if (c == '\0')
      pattern.append("\\x{0}");
    else if (static_cast<unsigned char>(c) < 0x20)
      pattern.push_back(c);
    else
      pattern.append(isPlain ? "" : "\\").push_back(c);
  }
  return pattern;
}
