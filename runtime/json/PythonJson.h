//===- PythonJson.h - Python's extensions of JSON ---------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JSON_PYTHONJSON_H
#define MTP_RUNTIME_JSON_PYTHONJSON_H

#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// A JSON text whose numbers a parser of 64-bit integers and doubles can read.
/// Python reads and writes numbers that such a parser refuses:
/// - An integer of more than 64 bits becomes the nearest double. Transformers
///   writes 1000000000000000019884624838656 for "no limit".
/// - NaN, Infinity, -Infinity and a number beyond a double's range become
///   strings of their text. A reader of such a key refuses it with the value.
///   All other text stays unchanged, whether it is JSON or not.
struct PlainJson {
  std::string text;
  /// The original text of the numbers that a parser returns as doubles, in
  /// order.
  std::vector<std::string_view> doubles;
  bool hasQuoted = false; ///< Whether a number became a string.
};
PlainJson plainNumbers(std::string_view json);

} // namespace mtp

#endif // MTP_RUNTIME_JSON_PYTHONJSON_H
