//===- Filters.h - Functions behind a bar -----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_BUILTINS_FILTERS_H
#define MTP_RUNTIME_JINJA_BUILTINS_FILTERS_H

#include "runtime/jinja/run/Evaluator.h"

namespace mtp::jinja {

using Filter = Result<Value> (*)(Evaluator &evaluator, const Value &value,
                                 Arguments &arguments);

struct FilterEntry {
  std::string_view name;
  Filter filter;
};

/// Filters of strings and numbers, and of sequences.
const std::vector<FilterEntry> &textFilters();
const std::vector<FilterEntry> &sequenceFilters();

/// The filter of that name, or null.
Filter findFilter(std::string_view name);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_BUILTINS_FILTERS_H
