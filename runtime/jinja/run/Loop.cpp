//===- Loop.cpp - The state of a for loop ---------------------------------===//

#include "runtime/jinja/run/Loop.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/value/Arguments.h"
#include "runtime/jinja/value/Compare.h"

using namespace mtp;
using namespace mtp::jinja;

Result<std::optional<Value>> Loop::pull() {
  while (next < items.size()) {
    const Value &candidate = items[next++];
    if (!filter)
      return std::optional<Value>(candidate);
    MTP_ASSIGN_OR_RETURN(bool isTaken, filter(candidate));
    if (isTaken)
      return std::optional<Value>(candidate);
  }
  return std::optional<Value>();
}

Status Loop::peek() {
  if (isPeeked)
    return okStatus();
  MTP_ASSIGN_OR_RETURN(after, pull());
  isPeeked = true;
  return okStatus();
}

Result<bool> Loop::advance() {
  MTP_RETURN_IF_ERROR(peek());
  isPeeked = false;
  if (!after)
    return false;
  ++index0;
  before = std::move(item);
  item = std::move(after);
  after.reset();
  return true;
}

Result<int64_t> Loop::length() {
  if (total)
    return *total;
  if (!filter) {
    total = static_cast<int64_t>(items.size());
    return *total;
  }
  // The filter decides about all remaining items.
  Items rest;
  while (true) {
    MTP_ASSIGN_OR_RETURN(std::optional<Value> more, pull());
    if (!more)
      break;
    rest.push_back(*std::move(more));
  }
  bool hasAfter = isPeeked && after.has_value();
  total = static_cast<int64_t>(rest.size()) + index0 + 1 + hasAfter;
  items = std::move(rest);
  next = 0;
  filter = nullptr;
  return *total;
}

Result<std::optional<Value>> Loop::attribute(const std::string &name) {
  using Found = std::optional<Value>;
  if (name == "index0")
    return Found(Value(index0));
  if (name == "index")
    return Found(Value(index0 + 1));
  if (name == "first")
    return Found(Value(index0 == 0));
  if (name == "depth0")
    return Found(Value(int64_t(depth0)));
  if (name == "depth")
    return Found(Value(int64_t(depth0) + 1));
  if (name == "previtem")
    return Found(index0 > 0 ? *before
                            : Value::undefined("there is no previous item"));
  if (name == "last" || name == "nextitem") {
    MTP_RETURN_IF_ERROR(peek());
    if (name == "last")
      return Found(Value(!after.has_value()));
    return Found(after ? *after : Value::undefined("there is no next item"));
  }
  if (name == "length" || name == "revindex" || name == "revindex0") {
    MTP_ASSIGN_OR_RETURN(int64_t count, length());
    int64_t passed = name == "length" ? 0 : index0 + (name == "revindex0");
    return Found(Value(count - passed));
  }
  return Found();
}

Result<Value> Loop::callMethod(const std::string &name,
                               const Arguments &arguments) {
  const Items &values = arguments.positional;
  if (!arguments.named.empty())
    return invalidArgument(strCat("expected no named arguments for 'loop.",
                                  name, "', got '", arguments.named[0].first,
                                  "'"));
  if (name == "changed") {
    MTP_ASSIGN_OR_RETURN(Value tuple, makeTuple(values));
    bool isChanged = !last || !equals(*last, tuple);
    last = std::move(tuple);
    return Value(isChanged);
  }
  if (values.empty())
    return invalidArgument("expected values for 'loop.cycle', got none");
  return values[static_cast<size_t>(index0) % values.size()];
}

Result<Value> Loop::call(Arguments &arguments) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("iterable", 1));
  if (!recurse)
    return invalidArgument("expected a loop that is 'recursive' to call it, "
                           "got another");
  return recurse(bound[0], depth0 + 1);
}

Result<std::string> Loop::toText() {
  MTP_ASSIGN_OR_RETURN(int64_t count, length());
  return strCat("<LoopContext ", index0 + 1, "/", count, ">");
}

void Loop::end() {
  filter = nullptr;
  recurse = nullptr;
  items.clear();
  item = before = after = last = std::nullopt;
}
