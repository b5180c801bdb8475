//===- PythonJson.h - What Python writes beyond JSON ------------*- C++ -*-===//

#ifndef MTP_COMPILER_IMPORT_PYTHONJSON_H
#define MTP_COMPILER_IMPORT_PYTHONJSON_H

#include <string>
#include <string_view>

namespace mtp::importer {

/// Puts NaN, Infinity and -Infinity, which Python writes and reads although
/// JSON has no such numbers, in quotes. A key that nobody reads does no harm
/// then, and one that is read is refused by name, with the value. What is not
/// JSON for another reason stays so.
std::string quoteNonFinite(std::string_view json);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_PYTHONJSON_H
