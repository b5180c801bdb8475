//===- ProductParams.cpp - Parameters that products share -----------------===//

#include "compiler/Codegen/ProductParams.h"

#include "runtime/schema/SamplingLayout.h"

using namespace mtp;
using namespace mtp::codegen;

Value codegen::readsLogits(KernelBuilder &kb, Value sampling, Value slot) {
  Value words = kb.at(sampling, slot, kSamplingWords * 4);
  Value skip = kb.loadI32(words, kb.integer(kSkipLogitsWord));
  return kb.cmp(Cmp::EQ, skip, 0);
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

// Starts and pairs are read from memory and may have any value: clamp them to
// the range of pairs.

Value codegen::startOfExpert(KernelBuilder &kb, Value starts, Value count,
                             Value expert) {
  return kb.clampIndex(kb.loadI32(starts, expert), kb.add(count, 1));
}

Value codegen::pairOfExpert(KernelBuilder &kb, Value pairs, Value count,
                            Value start, Value row) {
  Value place = kb.clampIndex(kb.add(start, row), count);
  return kb.clampIndex(kb.loadI32(pairs, place), count);
}

Value codegen::rowOfPair(KernelBuilder &kb, exec::MoeGateUpKernelAttr kernel,
                         Value pair) {
  int64_t xStride = strideOr(kernel.getXStride(), kernel.getK());
  Value row = kb.div(pair, kernel.getTopK());
  return kb.at(kb.buffer(0), row, xStride * 4);
}

Value codegen::rowOfPair(KernelBuilder &kb, exec::MoeDownKernelAttr kernel,
                         Value pair) {
  return kb.at(kb.buffer(0), pair, kernel.getK() * 4);
}
