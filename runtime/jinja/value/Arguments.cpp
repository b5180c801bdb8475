//===- Arguments.cpp - Arguments of a call --------------------------------===//

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

Result<Bound> Arguments::bind(std::string_view parameters,
                              size_t required) const {
  std::vector<std::string_view> names;
  for (std::string_view rest = parameters; !rest.empty();) {
    names.push_back(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(std::min(names.back().size() + 1, rest.size()));
  }
  if (positional.size() > names.size())
    return invalidArgument(strCat("expected at most ", names.size(),
                                  " arguments, got ", positional.size()));
  std::vector<std::optional<Value>> values(names.size());
  std::copy(positional.begin(), positional.end(), values.begin());
  for (const auto &[name, value] : named) {
    auto it = std::find(names.begin(), names.end(), name);
    if (it == names.end())
      return invalidArgument(
          strCat("expected the name of a parameter, got '", name, "'"));
    std::optional<Value> &bound = values[size_t(it - names.begin())];
    if (bound)
      return invalidArgument(
          strCat("expected one argument '", name, "', got two"));
    bound = value;
  }
  for (size_t i = 0; i < required; ++i)
    if (!values[i])
      return invalidArgument(
          strCat("expected an argument '", names[i], "', got none"));
  return Bound(std::move(values));
}

uint64_t Arguments::weight() const {
  uint64_t weight = 0;
  for (const Value &value : positional)
    weight += value.weight();
  for (const auto &[name, value] : named)
    weight += value.weight();
  return weight;
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
