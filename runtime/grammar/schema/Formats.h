//===- Formats.h - Formats of strings ---------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_SCHEMA_FORMATS_H
#define MTP_RUNTIME_GRAMMAR_SCHEMA_FORMATS_H

#include <span>
#include <string>
#include <string_view>

namespace mtp::grammar {

/// Returns a regular expression of whole strings for a value of `format`, or
/// an empty text if the format is not supported.
std::string patternOfFormat(std::string_view format);

/// Whether a format only hints at the use of a string, and allows each string:
/// `password`, `path` and others of Pydantic and OpenAPI.
bool isHintFormat(std::string_view format);

/// Returns the names of all formats with a pattern, separated by commas.
std::string formatNames();

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_SCHEMA_FORMATS_H
