//===- HybridTest.h - Tests of models with recurrent states -----*- C++ -*-===//

#ifndef MTP_TEST_E2E_HARNESS_HYBRIDTEST_H
#define MTP_TEST_E2E_HARNESS_HYBRIDTEST_H

#include "OnDevice.h"

namespace mtp::test {

class Hybrid : public OnDeviceTest {
protected:
  bool isCpu() const { return GetParam().device == DeviceKind::Cpu; }

  Request request(uint32_t text, uint32_t prompt, uint32_t tokens,
                  float temperature = 0.8f) const {
    Request request;
    for (uint32_t i = 0; i < prompt; ++i)
      request.prompt.push_back(textToken(text + 51, i, envelope.vocab));
    request.maxTokens = tokens;
    request.ignoreEos = true;
    request.sampling = {temperature, 20, 0.9f, 0.02f, 5 + text};
    return request;
  }

  uint64_t bytesOfSnapshot() const {
    return (*Session::create(model, single(0, 1)))->snapshotBytes();
  }
};

} // namespace mtp::test

#endif // MTP_TEST_E2E_HARNESS_HYBRIDTEST_H
