//===- Budget.cpp - Limits of one rendering -------------------------------===//

#include "runtime/jinja/run/Budget.h"

#include "runtime/core/StrCat.h"

using namespace mtp;
using namespace mtp::jinja;

namespace {

/// The limit of the depth of evaluation: calls of macros within calls, each as
/// deep as its own expressions. A level takes about 1 KiB of the stack.
constexpr uint32_t kMaxDepth = 1500;

} // namespace

Status Budget::charge(uint64_t work) {
  steps += work;
  if (steps <= options.maxSteps)
    return okStatus();
  return resourceExhausted(
      strCat("expected at most ", options.maxSteps, " steps, got more"));
}

Status Budget::chargeFor(const Value &made) {
  uint64_t bytes = made.isString()        ? made.bytes().size()
                   : made.isListOrTuple() ? made.items().size() * sizeof(Value)
                   : made.is(Kind::Dict)
                       ? made.dict().entries.size() * 2 * sizeof(Value)
                   : made.is(Kind::Iterator)
                       ? made.as<const Iterator>().items.size() * sizeof(Value)
                       : 0;
  madeBytes += bytes;
  if (madeBytes > options.maxMadeBytes)
    return resourceExhausted(strCat("expected at most ", options.maxMadeBytes,
                                    " bytes of values, got more"));
  return charge(bytes / 64);
}

Status Budget::chargeOutput(size_t written, size_t size) {
  if (written + size > options.maxOutputBytes)
    return resourceExhausted(strCat("expected at most ", options.maxOutputBytes,
                                    " bytes of output, got more"));
  return charge(size / 64);
}

Status Budget::Level::enter() {
  if (budget.depth > kMaxDepth)
    return resourceExhausted(
        strCat("expected calls at most ", kMaxDepth, " levels deep, got more"));
  return budget.charge(1);
}
