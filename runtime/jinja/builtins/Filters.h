//===- Filters.h - Looks up filters -----------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_BUILTINS_FILTERS_H
#define MTP_RUNTIME_JINJA_BUILTINS_FILTERS_H

#include "runtime/jinja/value/Arguments.h"

namespace mtp::jinja {

/// The rendering that a filter runs in.
class Rendering {
public:
  /// Counts work: 1 for a node of the tree. Fails beyond the limit.
  virtual Status charge(uint64_t work) = 0;
  virtual Result<Value> applyFilter(const std::string &name, const Value &value,
                                    Arguments arguments) = 0;
  virtual Result<bool> applyTest(const std::string &name, const Value &value,
                                 Arguments arguments) = 0;

protected:
  ~Rendering() = default;
};

struct Filter {
  std::string_view name;
  /// The names of the parameters, with a space between them.
  std::string_view parameters;
  /// The number of parameters without a default.
  size_t required;
  Result<Value> (*apply)(const Value &value, const Bound &bound);
  /// The function of a filter that needs the rendering or takes any arguments.
  /// Such a filter has no `apply`.
  Result<Value> (*applyOpen)(Rendering &rendering, const Value &value,
                             Arguments &arguments) = nullptr;

  Result<Value> operator()(Rendering &rendering, const Value &value,
                           Arguments &arguments) const;
};

/// Return the filters of strings and numbers, and of sequences.
const std::vector<Filter> &textFilters();
const std::vector<Filter> &sequenceFilters();

/// Returns the filter of that name, or null.
const Filter *findFilter(std::string_view name);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_BUILTINS_FILTERS_H
