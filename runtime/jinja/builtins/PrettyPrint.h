//===- PrettyPrint.h - Prints values over several lines ---------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_BUILTINS_PRETTYPRINT_H
#define MTP_RUNTIME_JINJA_BUILTINS_PRETTYPRINT_H

#include "runtime/jinja/value/Value.h"

#include <functional>

namespace mtp::jinja {

/// Returns Python's pprint.pformat(): lines of up to 80 characters and dicts in
/// the order of their keys. Fails if `charge`, which counts work, fails.
Result<std::string>
prettyPrint(const Value &value,
            const std::function<Status(uint64_t work)> &charge);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_BUILTINS_PRETTYPRINT_H
