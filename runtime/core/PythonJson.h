//===- PythonJson.h - What Python writes beyond JSON ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CORE_PYTHONJSON_H
#define MTP_RUNTIME_CORE_PYTHONJSON_H

#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// Rewrites the numbers of a JSON text that Python reads and a parser of 64-bit
/// integers and doubles does not:
/// - An integer of more than 64 bits becomes the nearest double. Transformers
///   writes 1000000000000000019884624838656 for "no limit".
/// - NaN, Infinity, -Infinity and a number beyond a double's range become
///   strings of their text. A reader of such a key refuses it with the value.
/// All other text stays as it is, whether it is JSON or not.
struct PlainJson {
  std::string text;
  /// The numbers that a parser gives as doubles, in order, as they were.
  std::vector<std::string_view> doubles;
  bool hasQuoted = false; ///< Whether a number became a string.
};
PlainJson plainNumbers(std::string_view json);

/// Calls `parse`, which returns whether it failed, with a text; if it fails,
/// once more with the text that plainNumbers() makes of it, unless that has
/// strings in place of numbers and they are not taken. Both texts live until
/// the call returns.
template <typename Parse>
auto parsePythonJson(std::string_view json, Parse parse,
                     bool takesQuoted = true) {
  auto error = parse(json);
  if (!error)
    return error;
  PlainJson plain = plainNumbers(json);
  if (plain.text == json || (plain.hasQuoted && !takesQuoted))
    return error;
  return parse(std::string_view(plain.text));
}

} // namespace mtp

#endif // MTP_RUNTIME_CORE_PYTHONJSON_H
