//===- grammar_probe.cpp - Grammars for scripts ---------------------------===//
//
// usage: grammar_probe accept          lines: KIND \t SOURCE \t TEXT...
//        grammar_probe masks VOCABULARY  lines: KIND \t SOURCE \t IDS...
//
// SOURCE and TEXT have the escapes `\\`, `\t`, `\n` and `\r`. `accept` prints a
// line per input line: the failure of the compiler, or a digit per text that
// says whether the grammar has it. VOCABULARY has the bytes of a token in
// hexadecimal per line. `masks` prints nanoseconds: of compiling, of the first
// mask, then of the mask in front of each token and of its acceptance.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/Compile.h"
#include "runtime/grammar/matcher/Matcher.h"

#include <chrono>
#include <fstream>
#include <iostream>

using namespace mtp;
using namespace mtp::grammar;

namespace {

std::string unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    char c = text[++i];
    out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
  }
  return out;
}

std::vector<std::string> fieldsOf(const std::string &line) {
  std::vector<std::string> fields;
  size_t begin = 0;
  while (begin <= line.size()) {
    size_t end = std::min(line.find('\t', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

Source sourceOf(const std::vector<std::string> &fields) {
  const std::string &kind = fields[0];
  Source source;
  source.kind = kind == "schema"  ? Source::Kind::JsonSchema
                : kind == "regex" ? Source::Kind::Regex
                : kind == "gbnf"  ? Source::Kind::Gbnf
                                  : Source::Kind::JsonObject;
  source.text = fields.size() > 1 ? unescape(fields[1]) : "";
  return source;
}

std::shared_ptr<const Vocabulary> readVocabulary(const char *path) {
  std::ifstream file(path);
  std::vector<std::string> bytes;
  for (std::string line; std::getline(file, line);) {
    std::string piece;
    for (size_t i = 0; i + 1 < line.size(); i += 2)
      piece += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    bytes.push_back(std::move(piece));
  }
  std::vector<std::string_view> pieces(bytes.begin(), bytes.end());
  auto vocabulary = Vocabulary::create(pieces, {});
  if (vocabulary.isOk())
    return *vocabulary;
  std::cerr << vocabulary.status().message() << "\n";
  std::exit(1);
}

using Clock = std::chrono::steady_clock;

int64_t since(Clock::time_point begin) {
  return std::chrono::nanoseconds(Clock::now() - begin).count();
}

void printAccepts(const std::vector<std::string> &fields,
                  const std::shared_ptr<const Vocabulary> &vocabulary) {
  auto grammar = compile(sourceOf(fields));
  if (!grammar.isOk()) {
    std::cout << toString(grammar.status().code()) << ": "
              << grammar.status().message() << "\n";
    return;
  }
  auto tokens = std::make_shared<TokenGrammar>(*grammar, vocabulary);
  for (size_t i = 2; i < fields.size(); ++i) {
    Matcher matcher(tokens);
    std::cout << (matcher.tryAcceptBytes(unescape(fields[i])) &&
                  matcher.isTerminated());
  }
  std::cout << "\n";
}

void printTimes(const std::vector<std::string> &fields,
                const std::shared_ptr<const Vocabulary> &vocabulary) {
  std::vector<uint32_t> words(vocabulary->maskWords());
  auto begin = Clock::now();
  auto grammar = compile(sourceOf(fields));
  if (!grammar.isOk()) {
    std::cout << grammar.status().message() << "\n";
    return;
  }
  Matcher matcher(std::make_shared<TokenGrammar>(*grammar, vocabulary));
  std::cout << since(begin);
  bool isFirst = true;
  for (size_t i = 2; i < fields.size(); ++i) {
    auto before = Clock::now();
    bool isMade = matcher.mask(words).isOk();
    int64_t nanoseconds = since(before);
    auto token = static_cast<uint32_t>(std::stoul(fields[i]));
    bool isAllowed = words[token / 32] >> (token % 32) & 1;
    before = Clock::now();
    if (!isMade || !isAllowed ||
        !matcher.tryAccept(static_cast<int32_t>(token))) {
      std::cout << " refused at " << i - 2;
      break;
    }
    if (std::exchange(isFirst, false))
      std::cout << " " << nanoseconds;
    std::cout << " " << nanoseconds << ":" << since(before);
  }
  std::cout << "\n";
}

} // namespace

int main(int argc, char **argv) {
  std::string_view mode = argc > 1 ? argv[1] : "";
  bool isMasks = mode == "masks" && argc == 3;
  if (mode != "accept" && !isMasks) {
    std::cerr << "usage: grammar_probe accept|masks VOCABULARY\n";
    return 2;
  }
  auto vocabulary =
      isMasks ? readVocabulary(argv[2])
              : *Vocabulary::create(std::vector<std::string_view>(1, "a"), {});
  for (std::string line; std::getline(std::cin, line);)
    if (isMasks)
      printTimes(fieldsOf(line), vocabulary);
    else
      printAccepts(fieldsOf(line), vocabulary);
  return 0;
}
