//===- ArgumentRules.h - The arguments of a tool as rules -------*- C++ -*-===//

#ifndef MTP_RUNTIME_CALLS_ARGUMENTRULES_H
#define MTP_RUNTIME_CALLS_ARGUMENTRULES_H

#include "runtime/calls/CallLayout.h"
#include "runtime/chat/tools/ToolSet.h"
#include "runtime/grammar/schema/SchemaRules.h"

#include <memory>

namespace mtp {

/// The arguments of one tool in a builder.
class ArgumentRules {
public:
  /// Parses a schema of the arguments. `tool`, `builder` and `limits` must
  /// outlive the object.
  static Result<std::unique_ptr<ArgumentRules>>
  create(const Tool &tool, std::string_view schema, const CallLayout &layout,
         grammar::AutomatonBuilder &builder, const grammar::Limits &limits);

  /// Returns the rule of the arguments in the form of the layout.
  Result<grammar::RuleId> add();

private:
  ArgumentRules(const Tool &tool, grammar::SchemaDocument schema,
                const CallLayout &layout, grammar::AutomatonBuilder &builder,
                const grammar::Limits &limits);

  using StateId = grammar::StateId;
  /// Returns the shapes of the schema's objects.
  Result<std::vector<grammar::Shape>> objects();
  Status addObject(const grammar::Shape &object, StateId from, StateId to);
  Status addKeywords(const grammar::Shape &object, StateId from, StateId to);
  Status addTags(const grammar::Shape &object, StateId from, StateId to);
  Status addTag(const grammar::Property &property, StateId from, StateId to);
  /// Adds a value, and the attribute in front of it.
  Status addTagValue(const grammar::Property &property, StateId from,
                     StateId to);
  Status addText(const grammar::Shape &shape, const ValueTypes &types,
                 const grammar::CodePoints &notFirst, StateId from, StateId to);
  /// Returns whether the form can write a name. Fails if it cannot, and the
  /// property is required.
  Result<bool> hasName(const grammar::Property &property) const;

  const Tool &tool;
  grammar::SchemaDocument document;
  const CallLayout &layout;
  grammar::AutomatonBuilder &builder;
  grammar::SchemaRules rules;
};

} // namespace mtp

#endif // MTP_RUNTIME_CALLS_ARGUMENTRULES_H
