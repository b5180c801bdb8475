//===- Access.h - Attributes, items and slices ------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_ACCESS_H
#define MTP_RUNTIME_JINJA_VALUE_ACCESS_H

#include "runtime/jinja/value/Value.h"

namespace mtp::jinja {

/// `value.name`: the attribute, else the item. Undefined if there is neither,
/// or if Jinja's sandbox keeps it from templates.
Result<Value> getAttribute(const Value &value, const std::string &name);

/// `value[key]`: the item, else the attribute.
Result<Value> getItem(const Value &value, const Value &key);

/// `value[start:stop:step]`, each an integer or None.
Result<Value> getSlice(const Value &value, const Value &start,
                       const Value &stop, const Value &step);

/// `value.name` of the attribute alone, as the filter `attr` has it.
Result<Value> getOnlyAttribute(const Value &value, const std::string &name);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_ACCESS_H
