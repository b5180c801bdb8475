//===- Filters.cpp - Functions behind a bar -------------------------------===//

#include "runtime/jinja/builtins/Filters.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/builtins/Catalogue.h"

using namespace mtp;
using namespace mtp::jinja;

Filter jinja::findFilter(std::string_view name) {
  for (const auto *filters : {&textFilters(), &sequenceFilters()})
    for (const FilterEntry &entry : *filters)
      if (entry.name == name)
        return entry.filter;
  return nullptr;
}

bool jinja::isFilter(std::string_view name) {
  return findFilter(name) != nullptr;
}

Result<Value> Evaluator::applyFilter(const std::string &name,
                                     const Value &value, Arguments arguments) {
  Filter filter = findFilter(name);
  if (!filter)
    return invalidArgument(strCat("expected a filter, got '", name, "'"));
  uint64_t work = value.weight();
  for (const Value &argument : arguments.positional)
    work += argument.weight();
  for (const auto &[key, argument] : arguments.named)
    work += argument.weight();
  MTP_RETURN_IF_ERROR(charge(1 + work / 16));
  // Filters that take filters may call each other.
  ++depth;
  Status status = enter();
  Result<Value> result =
      status.isOk() ? filter(*this, value, arguments) : Result<Value>(status);
  --depth;
  return result;
}
