//===- TokenizerCode.cpp - A pattern in Python code -----------------------===//

#include "compiler/Tokenizer/TokenizerCode.h"

#include "compiler/Tokenizer/HuggingFaceSteps.h"
#include "compiler/Tokenizer/Json.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>

using namespace mtp;

namespace {

constexpr std::string_view kName = "pat_str";

bool isWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

/// Takes Python tokens from the front of a text, as needed for an assignment of
/// strings.
class Scanner {
public:
  explicit Scanner(std::string_view text) : text(text) {}

  /// Skips white space, line ends and comments.
  void skipBlank() {
    while (!text.empty())
      if (text.front() == '#')
        text.remove_prefix(std::min(text.find('\n'), text.size()));
      else if (std::string_view(" \t\r\n").find(text.front()) !=
               std::string_view::npos)
        text.remove_prefix(1);
      else
        return;
  }

  bool take(std::string_view token) {
    skipBlank();
    if (!text.starts_with(token))
      return false;
    text.remove_prefix(token.size());
    return true;
  }

  /// Takes a raw string. A backslash protects the next quote and stays in the
  /// value.
  bool takeRaw(std::string &value) {
    skipBlank();
    if (!text.starts_with("r\"") && !text.starts_with("r'"))
      return false;
    std::string_view rest = text.substr(1);
    size_t count =
        rest.size() >= 3 && rest[1] == rest[0] && rest[2] == rest[0] ? 3 : 1;
    std::string_view quote = rest.substr(0, count);
    for (size_t end = count; end < rest.size(); ++end) {
      if (rest[end] == '\\') {
        ++end;
      } else if (rest.substr(end, count) == quote) {
        value = std::string(rest.substr(count, end - count));
        text = rest.substr(end + count);
        return true;
      } else if (count == 1 && rest[end] == '\n') {
        return false;
      }
    }
    return false;
  }

private:
  std::string_view text;
};

/// Returns the texts after each assignment to `pat_str`. Passing the value on
/// by keyword (pat_str=self.pat_str) is not an assignment.
std::vector<std::string_view> findAssignments(std::string_view code) {
  std::vector<std::string_view> found;
  for (size_t at = 0; (at = code.find(kName, at)) != code.npos;) {
    bool isPart = at > 0 && (isWord(code[at - 1]) || code[at - 1] == '.');
    at += kName.size();
    Scanner rest(code.substr(at));
    if (!isPart && rest.take("=") && !rest.take("=") && !rest.take("self."))
      found.push_back(code.substr(at));
  }
  return found;
}

/// Fails if a pattern has different meanings in fancy-regex, which tiktoken
/// uses, and in Oniguruma, whose syntax the translator reads.
Status checkDialect(std::string_view pattern, const std::string &name) {
  int depth = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    char c = pattern[i], next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    bool isOther = false;
    if (c == '\\') {
      isOther = next == 'w' || next == 'W';
      ++i;
    } else if (c == '[') {
      ++depth;
      // `^` after `[` negates the set and is not an anchor.
      i += next == '^';
    } else if (c == ']') {
      --depth;
    } else if (depth <= 0) {
      isOther = c == '^' || c == '$' || (c == '}' && next == '+');
    }
    if (isOther)
      return unimplemented(name + ": '" + std::string(1, c) +
                           std::string(1, next) +
                           "' in a pattern of tiktoken "
                           "is not supported");
  }
  return okStatus();
}

} // namespace

Result<std::string> mtp::findTokenizerCode(std::string_view tokenizerConfig) {
  MTP_ASSIGN_OR_RETURN(
      JsonDocument document,
      JsonDocument::parse("tokenizer_config.json", tokenizerConfig));
  MTP_ASSIGN_OR_RETURN(JsonValue map, document.root().member("auto_map"));
  MTP_ASSIGN_OR_RETURN(JsonValue value, map.member("AutoTokenizer"));
  if (value.isArray()) {
    MTP_ASSIGN_OR_RETURN(std::vector<JsonValue> classes, value.asArray());
    if (classes.empty())
      return value.expected("a class");
    value = classes.front();
  }
  MTP_ASSIGN_OR_RETURN(std::string_view name, value.asString());
  std::string_view module = name.substr(0, name.find('.'));
  if (module.empty() || module.size() == name.size() ||
      !std::all_of(module.begin(), module.end(), isWord))
    return unsupportedValue(value, "a class of a file in the same folder");
  return std::string(module) + ".py";
}

Result<std::string> mtp::readPatternOfCode(std::string_view code,
                                           const std::string &name) {
  std::vector<std::string_view> found = findAssignments(code);
  if (found.size() != 1)
    return unimplemented(name + ": expected one assignment to 'pat_str', got " +
                         std::to_string(found.size()));
  Status form = unimplemented(
      name + ": expected a raw string for 'pat_str', or \"|\".join([...]) of "
             "raw strings");
  Scanner scanner(found.front());
  std::string pattern, part;
  bool isRead = scanner.take("=");
  if (scanner.takeRaw(pattern)) {
    // The pattern is a single string.
  } else if (scanner.take("\"|\"") && scanner.take(".") &&
             scanner.take("join") && scanner.take("(") && scanner.take("[")) {
    while (scanner.takeRaw(part)) {
      pattern += (pattern.empty() ? "" : "|") + part;
      if (!scanner.take(","))
        break;
    }
    isRead &= scanner.take("]") && scanner.take(")");
  }
  if (!isRead || pattern.empty())
    return form;
  if (findInvalidUtf8(pattern) != pattern.size())
    return form;
  MTP_RETURN_IF_ERROR(checkDialect(pattern, name));
  return pattern;
}
