//===- OnDevice.h - Tests of an artifact on a device ------------*- C++ -*-===//

#ifndef MTP_TEST_E2E_HARNESS_ONDEVICE_H
#define MTP_TEST_E2E_HARNESS_ONDEVICE_H

#include "Generation.h"

#include <gtest/gtest.h>

namespace mtp::test {

/// An artifact of the fixture, and the device that runs it.
struct OnDevice {
  const char *artifact;
  DeviceKind device;
  /// True if prompts are merged into rounds.
  bool mixes = false;

  friend void PrintTo(const OnDevice &on, std::ostream *stream) {
    *stream << on.artifact;
  }
};

inline std::string nameOf(const testing::TestParamInfo<OnDevice> &info) {
  return testName(info.param.artifact);
}

class OnDeviceTest : public testing::TestWithParam<OnDevice> {
protected:
  void SetUp() override {
    model = loadArtifact(GetParam().artifact, GetParam().device);
    ASSERT_TRUE(model);
    envelope = *model->envelope();
  }

  std::shared_ptr<const Model> model;
  EnvelopeInfo envelope;
};

} // namespace mtp::test

#endif // MTP_TEST_E2E_HARNESS_ONDEVICE_H
