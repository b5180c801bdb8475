//===- GbnfParser.h - Parses llama.cpp's grammars ---------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_GBNF_GBNFPARSER_H
#define MTP_RUNTIME_GRAMMAR_GBNF_GBNFPARSER_H

#include "runtime/grammar/automaton/Expression.h"
#include "runtime/grammar/core/SourceReader.h"

#include <map>
#include <optional>

namespace mtp::grammar {

/// A rule of a source. `body` is missing until its definition is read.
struct GbnfRule {
  std::string name;
  RuleId id = 0;
  std::optional<Expression> body;
  /// The first place that names the rule.
  std::string place;
};

/// Parses a source by recursive descent.
class GbnfParser {
public:
  /// Adds rules to `builder`, without edges. All arguments must outlive the
  /// parser.
  GbnfParser(std::string_view source, AutomatonBuilder &builder,
             const Limits &limits)
      : reader(source), builder(builder), limits(limits) {}

  /// Reads all rules. Fails as addGbnf() does.
  Status parse();

  /// Returns all rules in the order of their first mention.
  const std::vector<GbnfRule> &rules() const { return allRules; }
  /// Returns the rule of a name, or nothing.
  const GbnfRule *find(const std::string &name) const;

private:
  Status parseRule();
  Result<Expression> parseChoice(uint32_t level);
  Result<Expression> parseSequence(uint32_t level);
  Result<Expression> parseItem(uint32_t level);
  Result<Expression> parseText();
  Result<Expression> parseClass();
  Result<Expression> parseGroup(uint32_t level);
  Result<Expression> parseQuantified(Expression item, uint32_t level);
  Status parseCounts(uint32_t &min, uint32_t &max);
  Result<uint32_t> parseCharacter();

  void skipSpace(bool newlines);
  std::string takeName();
  GbnfRule &ruleOf(const std::string &name);

  SourceReader reader;
  AutomatonBuilder &builder;
  const Limits &limits;
  std::vector<GbnfRule> allRules;
  std::map<std::string, size_t> byName;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_GBNF_GBNFPARSER_H
