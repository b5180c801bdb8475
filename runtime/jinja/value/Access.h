//===- Access.h - Attributes, items and slices ------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_ACCESS_H
#define MTP_RUNTIME_JINJA_VALUE_ACCESS_H

#include "runtime/jinja/value/Value.h"

namespace mtp::jinja {

/// Evaluates `value.name`: the attribute, or else the item. The result is
/// undefined if neither exists or if Jinja's sandbox denies it.
Result<Value> getAttribute(const Value &value, const std::string &name);

/// Evaluates `value[key]`: the item, or else the attribute.
Result<Value> getItem(const Value &value, const Value &key);

/// Evaluates `value[start:stop:step]`. Each bound is an integer or None.
Result<Value> getSlice(const Value &value, const Value &start,
                       const Value &stop, const Value &step);

/// Returns the attribute `name` but never an item, as the filter `attr` does.
Result<Value> getOnlyAttribute(const Value &value, const std::string &name);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_ACCESS_H
