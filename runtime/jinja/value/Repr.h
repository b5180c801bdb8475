//===- Repr.h - Values as text ----------------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_REPR_H
#define MTP_RUNTIME_JINJA_VALUE_REPR_H

#include "runtime/jinja/value/Value.h"

namespace mtp::jinja {

/// Python's repr() of a float: the fewest digits that yield it again.
std::string floatRepr(double value);

/// Python's str(). Fails where the text would be too long.
Result<std::string> toText(const Value &value);

/// Python's repr().
Result<std::string> toRepr(const Value &value);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_REPR_H
