//===- JsonTree.cpp - Parse untrusted JSON --------------------------------===//

#include "runtime/json/JsonTree.h"

#include "runtime/core/StrCat.h"

#include <algorithm>

using namespace mtp;

simdjson::error_code JsonTree::tryParse(std::string_view text, size_t depth) {
  // With enough memory parse() does not allocate, which would set the default
  // depth. It copies the text into padded memory.
  size_t bytes = text.size() + simdjson::SIMDJSON_PADDING;
  if (parser->capacity() < bytes || parser->max_depth() != depth)
    if (simdjson::error_code error = parser->allocate(bytes, depth))
      return error;
  return parser->parse(text.data(), text.size()).get(element);
}

Status JsonTree::parse(std::string_view text, const JsonLimits &limits) {
  texts.clear();
  if (text.size() > limits.bytes)
    return resourceExhausted(strCat("expected at most ", limits.bytes,
                                    " bytes of JSON, got ", text.size()));
  simdjson::error_code error = tryParse(text, limits.depth);
  if (error) {
    PlainJson plain = plainNumbers(text);
    if (plain.text != text && (limits.takesQuoted || !plain.hasQuoted)) {
      error = tryParse(plain.text, limits.depth);
      texts = std::move(plain.doubles);
    }
  }
  if (error == simdjson::DEPTH_ERROR)
    return invalidArgument(
        strCat("expected JSON nested at most ", limits.depth, " deep"));
  if (error == simdjson::MEMALLOC || error == simdjson::CAPACITY)
    return resourceExhausted("not enough memory for the JSON text");
  if (error)
    return invalidArgument(strCat("expected valid JSON, got an error: ",
                                  simdjson::error_message(error)));
  return okStatus();
}

Result<JsonTree> JsonTree::of(std::string_view text, const JsonLimits &limits) {
  JsonTree tree;
  MTP_RETURN_IF_ERROR(tree.parse(text, limits));
  return tree;
}
