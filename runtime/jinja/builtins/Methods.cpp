//===- Methods.cpp - Methods of values ------------------------------------===//

#include "runtime/jinja/builtins/Methods.h"

using namespace mtp;
using namespace mtp::jinja;

namespace {

Result<Value> viewOf(const Value &dict, View::Part part,
                     const Arguments &arguments) {
  MTP_RETURN_IF_ERROR(arguments.bind("").status());
  auto view = std::make_shared<View>();
  *view = {part, dict};
  return Value::of(Kind::View, std::move(view));
}

Result<Value> callDictMethod(const Value &self, const std::string &name,
                             const Arguments &arguments) {
  if (name == "items")
    return viewOf(self, View::Items, arguments);
  if (name == "keys")
    return viewOf(self, View::Keys, arguments);
  if (name == "values")
    return viewOf(self, View::Values, arguments);
  MTP_ASSIGN_OR_RETURN(Bound bound, arguments.bind("key default", 1));
  if (!isHashable(bound[0]) && !bound[0].isUndefined())
    return expected("a key that is a string, number, None or tuple", bound[0]);
  const Value *value =
      isHashable(bound[0]) ? self.dict().find(bound[0]) : nullptr;
  return value ? *value : bound.valueOr(1, Value());
}

} // namespace

Result<Value> jinja::callMethod(const Value &self, const std::string &name,
                                const Arguments &arguments) {
  switch (self.kind()) {
  case Kind::String:
    return callTextMethod(self, name, arguments);
  case Kind::Dict:
    return callDictMethod(self, name, arguments);
  case Kind::Object:
    return self.asObject().callMethod(name, arguments);
  default:
    return expected("a value with methods", self);
  }
}
