//===- Gbnf.h - Reads llama.cpp's grammars ----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_GBNF_GBNF_H
#define MTP_RUNTIME_GRAMMAR_GBNF_GBNF_H

#include "runtime/grammar/automaton/AutomatonBuilder.h"

namespace mtp::grammar {

/// Adds the rules of a grammar in GBNF and returns its root, the rule `root`.
/// The README describes the dialect.
///
/// `source` must be well-formed UTF-8. Fails with InvalidArgument and the line
/// if it is not such a grammar, if a rule is missing, defined twice or left
/// recursive, and with Unimplemented if it names tokens. Fails with
/// ResourceExhausted at a limit.
Result<RuleId> addGbnf(std::string_view source, AutomatonBuilder &builder,
                       const Limits &limits);

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_GBNF_GBNF_H
