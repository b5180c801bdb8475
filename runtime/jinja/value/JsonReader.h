//===- JsonReader.h - JSON to values ----------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_JSONREADER_H
#define MTP_RUNTIME_JINJA_VALUE_JSONREADER_H

#include "runtime/jinja/value/Value.h"

#include <string_view>

namespace mtp {

/// Untrusted JSON as what templates are rendered with: objects are dicts in the
/// order of their keys. An integer of more than 64 bits prints with all its
/// digits and counts as the nearest double. Fails with InvalidArgument for what
/// is no JSON.
Result<jinja::Value> readTemplateJson(std::string_view text);

} // namespace mtp

#endif // MTP_RUNTIME_JINJA_VALUE_JSONREADER_H
