//===- Loop.h - The state of a for loop -------------------------*- C++ -*-===//
//
// The value of `loop` in a for loop. The loop pulls items one by one, like
// Jinja, because its filter may depend on its body. The next item, `last` and
// the length pull items ahead.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_JINJA_RUN_LOOP_H
#define MTP_RUNTIME_JINJA_RUN_LOOP_H

#include "runtime/jinja/value/Value.h"

#include <functional>
#include <optional>

namespace mtp::jinja {

class Loop : public Object {
public:
  /// Returns whether the loop takes an item.
  using Filter = std::function<Result<bool>(const Value &)>;
  /// Renders the loop over other items, one level deeper.
  using Recurse = std::function<Result<Value>(const Value &items, int depth)>;

  Loop(Items items, Filter filter, Recurse recurse, int depth)
      : items(std::move(items)), filter(std::move(filter)),
        recurse(std::move(recurse)), depth0(depth) {}

  /// Moves to the next item. Returns false at the end.
  Result<bool> advance();
  const Value &current() const { return *item; }

  std::string describe() const override { return "a loop"; }
  bool isCallable() const override { return true; }
  /// Evaluates `loop(items)`.
  Result<Value> call(Arguments &arguments) override;
  Result<std::optional<Value>> attribute(const std::string &name) override;
  std::string_view methods() const override { return " cycle changed "; }
  Result<Value> callMethod(const std::string &name,
                           const Arguments &arguments) override;
  Result<std::string> toText() override;
  bool hasLength() const override { return true; }
  Result<int64_t> length() override;

  /// Drops all references to the rendering.
  void end();

private:
  Result<std::optional<Value>> pull();
  Status peek();

  Items items;
  size_t next = 0;
  Filter filter;
  Recurse recurse;
  int depth0;
  int64_t index0 = -1;
  std::optional<int64_t> total;
  std::optional<Value> item, before, after, last;
  bool isPeeked = false;
};

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_RUN_LOOP_H
