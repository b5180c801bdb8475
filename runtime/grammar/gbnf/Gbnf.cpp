//===- Gbnf.cpp - Compiles llama.cpp's grammars ---------------------------===//

#include "runtime/grammar/gbnf/Gbnf.h"

#include "runtime/core/StrCat.h"
#include "runtime/grammar/gbnf/GbnfParser.h"

using namespace mtp;
using namespace mtp::grammar;

Result<RuleId> mtp::grammar::addGbnf(std::string_view source,
                                     AutomatonBuilder &builder,
                                     const Limits &limits) {
  GbnfParser parser(source, builder, limits);
  MTP_RETURN_IF_ERROR(parser.parse());
  for (const GbnfRule &rule : parser.rules()) {
    if (!rule.body)
      return invalidArgument(strCat(rule.place,
                                    ": expected a definition of rule '",
                                    rule.name, "', got none"));
    addExpression(builder, *rule.body, builder.startOf(rule.id),
                  builder.endOf(rule.id));
  }
  const GbnfRule *root = parser.find("root");
  if (!root)
    return invalidArgument("expected a rule 'root', got none");
  return root->id;
}
