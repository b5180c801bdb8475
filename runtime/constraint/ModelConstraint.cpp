//===- ModelConstraint.cpp - Constraints of a model's requests ------------===//

#include "mtp/model.h"
#include "runtime/constraint/GrammarConstraint.h"

using namespace mtp;

namespace {
/// A constraint and what it needs.
struct Owned {
  /// A copy, so that the model may end before the constraint.
  std::vector<uint8_t> tables;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const TokenConstraint> constraint;
};
} // namespace

static_assert(
    int(ConstraintSource::Kind::JsonObject) ==
        int(grammar::Source::Kind::JsonObject) &&
    int(ConstraintSource::Kind::JsonSchema) ==
        int(grammar::Source::Kind::JsonSchema) &&
    int(ConstraintSource::Kind::Regex) == int(grammar::Source::Kind::Regex) &&
    int(ConstraintSource::Kind::Gbnf) == int(grammar::Source::Kind::Gbnf) &&
    int(ConstraintSource::Kind::Choice) == int(grammar::Source::Kind::Choice));

Result<std::shared_ptr<const TokenConstraint>>
mtp::compileConstraint(const Model &model, const ConstraintSource &source) {
  if (!model.envelope())
    return failedPrecondition("expected an artifact with a model, got one with "
                              "functions only");
  if (model.tokenizer().empty() || model.generation().eos.empty())
    return failedPrecondition("expected an artifact with a tokenizer and end "
                              "tokens, got one without");
  MTP_ASSIGN_OR_RETURN(auto grammar,
                       grammar::compile({grammar::Source::Kind(source.kind),
                                         source.text, source.choices}));
  auto owned = std::make_shared<Owned>();
  std::span<const uint8_t> tables = model.tokenizer();
  owned->tables.assign(tables.begin(), tables.end());
  MTP_ASSIGN_OR_RETURN(owned->tokenizer, Tokenizer::load(owned->tables));
  MTP_ASSIGN_OR_RETURN(auto vocabulary,
                       grammarVocabulary(*owned->tokenizer,
                                         model.envelope()->vocab,
                                         model.generation().eos));
  owned->constraint = makeConstraint(std::move(grammar), std::move(vocabulary),
                                     owned->tokenizer.get());
  const TokenConstraint *constraint = owned->constraint.get();
  return std::shared_ptr<const TokenConstraint>(std::move(owned), constraint);
}
