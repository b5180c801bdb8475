//===- SchemaCompiler.h - JSON Schema to automata ---------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_SCHEMA_SCHEMACOMPILER_H
#define MTP_RUNTIME_GRAMMAR_SCHEMA_SCHEMACOMPILER_H

#include "runtime/grammar/automaton/AutomatonBuilder.h"

namespace mtp::grammar {

/// Compiles a JSON Schema. The texts of the automaton are JSON values that
/// match the schema, in the form that the README describes. Keywords.h has the
/// supported keywords.
///
/// Fails with Unimplemented and the path of a keyword if it is not supported,
/// with InvalidArgument if the schema is malformed or matches no value, and
/// with ResourceExhausted at a limit.
Result<Automaton> compileJsonSchema(std::string_view schema,
                                    const Limits &limits);

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_SCHEMA_SCHEMACOMPILER_H
