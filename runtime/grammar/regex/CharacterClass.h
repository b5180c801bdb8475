//===- CharacterClass.h - Classes and escapes of patterns -------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_REGEX_CHARACTERCLASS_H
#define MTP_RUNTIME_GRAMMAR_REGEX_CHARACTERCLASS_H

#include "runtime/grammar/automaton/CodePoints.h"
#include "runtime/grammar/core/SourceReader.h"

namespace mtp::grammar {

/// Returns the characters of `.`: all but U+000A, U+000D, U+2028 and U+2029.
CodePoints dotCharacters();

/// Reads an escape; the reader is after its `\`. Sets `isClass` if it stands
/// for a class, such as `\d`. Fails with Unimplemented for assertions,
/// back-references and properties.
Result<CodePoints> parseEscape(SourceReader &reader, bool &isClass);

/// Reads a class; the reader is after its `[`.
Result<CodePoints> parseClass(SourceReader &reader);

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_REGEX_CHARACTERCLASS_H
