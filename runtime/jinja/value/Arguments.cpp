//===- Arguments.cpp - What a function is called with ---------------------===//

#include "runtime/jinja/value/Arguments.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/value/Compare.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::jinja;

Result<int64_t> Bound::integer(size_t index, int64_t otherwise) const {
  if (!isGiven(index))
    return otherwise;
  if (!values[index]->isInteger())
    return expected("an integer as an argument", *values[index]);
  return values[index]->integer();
}

Result<bool> Bound::flag(size_t index, bool otherwise) const {
  if (!values[index])
    return otherwise;
  return isTrue(*values[index]);
}

Result<std::string> Bound::string(size_t index, std::string otherwise) const {
  if (!isGiven(index))
    return otherwise;
  if (!values[index]->isString())
    return expected("a string as an argument", *values[index]);
  return values[index]->bytes();
}

Result<Bound>
Arguments::bind(std::initializer_list<std::string_view> parameters,
                size_t required) const {
  if (positional.size() > parameters.size())
    return invalidArgument(strCat("expected at most ", parameters.size(),
                                  " arguments, got ", positional.size()));
  std::vector<std::optional<Value>> values(parameters.size());
  std::copy(positional.begin(), positional.end(), values.begin());
  for (const auto &[name, value] : named) {
    auto it = std::find(parameters.begin(), parameters.end(), name);
    if (it == parameters.end())
      return invalidArgument(
          strCat("expected an argument that there is, got '", name, "'"));
    auto index = static_cast<size_t>(it - parameters.begin());
    if (values[index])
      return invalidArgument(
          strCat("expected one argument '", name, "', got two"));
    values[index] = value;
  }
  for (size_t i = 0; i < required; ++i)
    if (!values[i])
      return invalidArgument(strCat("expected an argument '",
                                    parameters.begin()[i], "', got none"));
  return Bound(std::move(values));
}

std::optional<Value> Arguments::take(std::string_view name) {
  auto it = std::find_if(named.begin(), named.end(), [&](const auto &entry) {
    return entry.first == name;
  });
  if (it == named.end())
    return std::nullopt;
  Value value = std::move(it->second);
  named.erase(it);
  return value;
}

Value Arguments::takeFirst() {
  Value first = std::move(positional.front());
  positional.erase(positional.begin());
  return first;
}
