//===- Arguments.h - Arguments of a call ------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_ARGUMENTS_H
#define MTP_RUNTIME_JINJA_VALUE_ARGUMENTS_H

#include "runtime/jinja/value/Value.h"

#include <optional>

namespace mtp::jinja {

/// Arguments by the index of their parameter.
class Bound {
public:
  explicit Bound(std::vector<std::optional<Value>> values)
      : values(std::move(values)) {}

  bool has(size_t index) const { return values[index].has_value(); }
  const Value &operator[](size_t index) const { return *values[index]; }
  Value valueOr(size_t index, Value otherwise) const {
    if (values[index])
      return *values[index];
    return otherwise;
  }
  /// Returns whether the argument exists and is not None.
  bool isGiven(size_t index) const {
    return values[index] && !values[index]->isNone();
  }

  Result<int64_t> integer(size_t index, int64_t otherwise) const;
  Result<bool> flag(size_t index, bool otherwise) const;
  Result<std::string> string(size_t index, std::string otherwise) const;

private:
  std::vector<std::optional<Value>> values;
};

struct Arguments {
  Items positional;
  std::vector<std::pair<std::string, Value>> named;

  /// Binds the arguments to parameters, whose names have a space between them.
  /// Fails unless each argument has a parameter, and each of the first
  /// `required` parameters an argument.
  Result<Bound> bind(std::string_view parameters, size_t required = 0) const;
  /// Returns the sum of the arguments' weights.
  uint64_t weight() const;
  /// Takes out the argument of that name.
  std::optional<Value> take(std::string_view name);
  /// Takes out the first positional argument.
  Value takeFirst();
};

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_ARGUMENTS_H
