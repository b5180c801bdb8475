//===- JsonReader.cpp - JSON to values ------------------------------------===//

#include "runtime/text/template/JsonReader.h"

#include "runtime/core/StrCat.h"

#include <algorithm>
#include <simdjson.h>

using namespace mtp;
using namespace mtp::jinja;

namespace {

constexpr size_t kMaxBytes = size_t(1) << 26;
constexpr size_t kMaxDepth = 150;

Result<Value> convert(simdjson::dom::element element);

Result<Value> convertArray(simdjson::dom::array array) {
  Items items;
  for (simdjson::dom::element child : array) {
    MTP_ASSIGN_OR_RETURN(Value item, convert(child));
    items.push_back(std::move(item));
  }
  return makeList(std::move(items));
}

Result<Value> convertObject(simdjson::dom::object object) {
  DictBuilder builder;
  for (auto [key, child] : object) {
    MTP_ASSIGN_OR_RETURN(Value item, convert(child));
    MTP_RETURN_IF_ERROR(builder.add(Value(std::string(key)), std::move(item)));
  }
  return std::move(builder).build();
}

Result<Value> convert(simdjson::dom::element element) {
  std::string_view text;
  int64_t integer = 0;
  double real = 0;
  bool flag = false;
  simdjson::dom::array array;
  simdjson::dom::object object;
  if (element.is_null())
    return Value();
  if (!element.get(text))
    return makeText(std::string(text));
  if (!element.get(flag))
    return Value(flag);
  if (!element.get(array))
    return convertArray(array);
  if (!element.get(object))
    return convertObject(object);
  if (element.type() == simdjson::dom::element_type::DOUBLE &&
      !element.get(real))
    return Value(real);
  if (!element.get(integer))
    return Value(integer);
  return invalidArgument(strCat("expected integers of 64 bits, got ",
                                std::string(simdjson::minify(element))));
}

} // namespace

Result<Value> mtp::readTemplateJson(std::string_view text) {
  if (text.size() > kMaxBytes)
    return resourceExhausted(strCat("expected JSON of at most ", kMaxBytes,
                                    " bytes, got ", text.size()));
  simdjson::dom::parser parser(kMaxBytes);
  simdjson::dom::element element;
  simdjson::error_code error = parser.allocate(
      std::max<size_t>(text.size(), simdjson::SIMDJSON_PADDING), kMaxDepth);
  if (!error)
    error = parser.parse(simdjson::padded_string(text)).get(element);
  if (error)
    return invalidArgument(
        strCat("expected JSON, got '", simdjson::error_message(error), "'"));
  return convert(element);
}
