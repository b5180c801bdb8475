//===- Repr.h - Text of values ----------------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_REPR_H
#define MTP_RUNTIME_JINJA_VALUE_REPR_H

#include "runtime/jinja/value/Value.h"

namespace mtp::jinja {

/// Returns Python's repr() of a float: the fewest digits that parse to the
/// float.
std::string floatRepr(double value);

/// Returns Python's str(). Fails if the text is too long.
Result<std::string> toText(const Value &value);

/// Returns Python's repr().
Result<std::string> toRepr(const Value &value);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_REPR_H
