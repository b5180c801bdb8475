//===- Filters.cpp - Looks up filters -------------------------------------===//

#include "runtime/jinja/builtins/Filters.h"

using namespace mtp;
using namespace mtp::jinja;

const Filter *jinja::findFilter(std::string_view name) {
  for (const auto *filters : {&textFilters(), &sequenceFilters()})
    for (const Filter &filter : *filters)
      if (filter.name == name)
        return &filter;
  return nullptr;
}

Result<Value> Filter::operator()(Rendering &rendering, const Value &value,
                                 Arguments &arguments) const {
  if (!apply)
    return applyOpen(rendering, value, arguments);
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind(parameters, required));
  return apply(value, bound);
}
