//===- Functions.h - Global functions ---------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_BUILTINS_FUNCTIONS_H
#define MTP_RUNTIME_JINJA_BUILTINS_FUNCTIONS_H

#include "runtime/jinja/value/Arguments.h"

namespace mtp::jinja {

/// Calls `range(stop)` or `range(start, stop, step)`.
Result<Value> makeRange(const Arguments &arguments);

/// Makes the dict of dict() and namespace(), from a dict or pairs and then
/// named arguments.
Result<Value> makeDict(const Arguments &arguments);

/// Calls `joiner(sep)`. The result is a function whose first call returns ""
/// and each later call the separator.
Result<Value> makeJoiner(const Arguments &arguments);

/// Calls `cycler(*items)`.
Result<Value> makeCycler(Arguments &arguments);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_BUILTINS_FUNCTIONS_H
