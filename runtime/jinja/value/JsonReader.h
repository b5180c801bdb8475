//===- JsonReader.h - Converts JSON to values -------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_JSONREADER_H
#define MTP_RUNTIME_JINJA_VALUE_JSONREADER_H

#include "runtime/jinja/value/Value.h"

#include <string_view>

namespace mtp {

/// Reads untrusted JSON for the variables of a template. A dict keeps the order
/// of the object's keys. An integer of more than 64 bits prints with all its
/// digits, and arithmetic uses the nearest double. Fails with InvalidArgument
/// if the text is not JSON.
Result<jinja::Value> readTemplateJson(std::string_view text);

} // namespace mtp

#endif // MTP_RUNTIME_JINJA_VALUE_JSONREADER_H
