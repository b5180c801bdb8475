//===- Functions.cpp - Global functions -----------------------------------===//

#include "runtime/jinja/builtins/Functions.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/value/Compare.h"

#include <utility>

using namespace mtp;
using namespace mtp::jinja;

namespace {

/// The limit of Jinja's sandbox.
constexpr int64_t kMaxRange = 100'000;

/// The value of joiner(). A tuple contains the separator, because a tuple
/// checks the limits of depth and weight.
class Joiner : public Object {
public:
  explicit Joiner(Value separator) : separator(std::move(separator)) {}

  std::string describe() const override { return "a joiner"; }
  bool isCallable() const override { return true; }
  uint64_t weight() const override { return separator.weight(); }
  uint32_t depth() const override { return separator.depth(); }

  Result<Value> call(Arguments &arguments) override {
    MTP_RETURN_IF_ERROR(arguments.bind("").status());
    if (std::exchange(isUsed, true))
      return separator.items().front();
    return Value(std::string());
  }

  Result<std::optional<Value>> attribute(const std::string &name) override {
    using Found = std::optional<Value>;
    return name == "sep"    ? Found(separator.items().front())
           : name == "used" ? Found(Value(isUsed))
                            : Found();
  }

private:
  Value separator;
  bool isUsed = false;
};

class Cycler : public Object {
public:
  explicit Cycler(Value items) : items(std::move(items)) {}

  std::string describe() const override { return "a cycler"; }
  std::string_view methods() const override { return " next reset "; }
  uint64_t weight() const override { return items.weight(); }
  uint32_t depth() const override { return items.depth(); }

  Result<std::optional<Value>> attribute(const std::string &name) override {
    using Found = std::optional<Value>;
    return name == "current" ? Found(current())
           : name == "items" ? Found(items)
           : name == "pos"   ? Found(Value(int64_t(position)))
                             : Found();
  }

  Result<Value> callMethod(const std::string &name,
                           const Arguments &arguments) override {
    MTP_RETURN_IF_ERROR(arguments.bind("").status());
    Value result = name == "next" ? current() : Value();
    position = name == "next" ? (position + 1) % items.items().size() : 0;
    return result;
  }

private:
  const Value &current() const { return items.items()[position]; }

  Value items;
  size_t position = 0;
};

} // namespace

Result<Value> jinja::makeRange(const Arguments &arguments) {
  if (!arguments.named.empty())
    return invalidArgument(
        strCat("expected no named arguments for range(), got '",
               arguments.named[0].first, "'"));
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("0 1 2", 1));
  for (size_t i = 0; i < 3; ++i)
    if (bound.has(i) && !bound[i].isInteger())
      return expected("an integer for range()", bound[i]);
  MTP_ASSIGN_OR_RETURN(int64_t first, bound.integer(0, 0));
  MTP_ASSIGN_OR_RETURN(int64_t stop, bound.integer(1, first));
  MTP_ASSIGN_OR_RETURN(int64_t step, bound.integer(2, 1));
  int64_t start = bound.has(1) ? first : 0;
  if (step == 0)
    return invalidArgument("expected a step other than 0 for range(), got 0");
  uint64_t length = 0;
  if (step > 0 ? start < stop : start > stop) {
    uint64_t span =
        step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                 : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
    uint64_t size = step > 0 ? static_cast<uint64_t>(step)
                             : 0 - static_cast<uint64_t>(step);
    length = (span - 1) / size + 1;
  }
  if (length > kMaxRange)
    return resourceExhausted(strCat("expected at most ", kMaxRange,
                                    " numbers of range(), got ", length));
  auto range = std::make_shared<jinja::Range>();
  *range = {start, stop, step, static_cast<int64_t>(length)};
  return Value::of(Kind::Range, std::move(range));
}

Result<Value> jinja::makeDict(const Arguments &arguments) {
  if (arguments.positional.size() > 1)
    return invalidArgument(strCat("expected at most 1 argument, got ",
                                  arguments.positional.size()));
  DictBuilder builder;
  if (!arguments.positional.empty()) {
    const Value &from = arguments.positional[0];
    if (from.is(Kind::Dict)) {
      for (const auto &[key, value] : from.dict().entries)
        MTP_RETURN_IF_ERROR(builder.add(key, value));
    } else {
      MTP_ASSIGN_OR_RETURN(Items pairs, itemsOf(from));
      for (const Value &pair : pairs) {
        MTP_ASSIGN_OR_RETURN(Items parts, itemsOf(pair));
        if (parts.size() != 2)
          return invalidArgument(strCat("expected pairs of key and value, got ",
                                        parts.size(), " values"));
        MTP_RETURN_IF_ERROR(builder.add(parts[0], parts[1]));
      }
    }
  }
  for (const auto &[name, value] : arguments.named)
    MTP_RETURN_IF_ERROR(builder.add(Value(std::string(name)), value));
  return std::move(builder).build();
}

Result<Value> jinja::makeJoiner(const Arguments &arguments) {
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("sep"));
  MTP_ASSIGN_OR_RETURN(Value separator,
                       makeTuple({bound.valueOr(0, Value(std::string(", ")))}));
  return Value::of<Object>(Kind::Object,
                           std::make_shared<Joiner>(std::move(separator)));
}

Result<Value> jinja::makeCycler(Arguments &arguments) {
  if (!arguments.named.empty())
    return invalidArgument(strCat("expected no named arguments for cycler(), "
                                  "got '",
                                  arguments.named[0].first, "'"));
  if (arguments.positional.empty())
    return invalidArgument("expected at least one item for cycler(), got none");
  MTP_ASSIGN_OR_RETURN(Value items, makeTuple(std::move(arguments.positional)));
  return Value::of<Object>(Kind::Object,
                           std::make_shared<Cycler>(std::move(items)));
}
