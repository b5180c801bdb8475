//===- Tests.h - Tests, which follow `is` -----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_BUILTINS_TESTS_H
#define MTP_RUNTIME_JINJA_BUILTINS_TESTS_H

#include "runtime/jinja/value/Arguments.h"

namespace mtp::jinja {

struct Test {
  std::string_view name;
  size_t parameters; ///< The number of parameters, 0 or 1.
  Result<bool> (*holds)(const Value &value, const Bound &bound);

  Result<bool> operator()(const Value &value, const Arguments &arguments) const;
};

/// Returns the test of that name, or null.
const Test *findTest(std::string_view name);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_BUILTINS_TESTS_H
