//===- LoopKernels_test.cpp - The kernels around rounds as PTX ------------===//

#include "LoopImage.h"
#include "test/GpuSim/CompileText.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace mtp;

/// Properties that a simulator cannot show: the PTX publishes the count to the
/// host in the required order, and ptxas accepts the driver's own function.
TEST(LoopKernels, PublishARoundAndSetTheCondition) {
  gpusim::test::CompiledPtx compiled =
      gpusim::test::compileToPtx(test::loopKernels(), "sm_90");
  ASSERT_EQ(compiled.error, "");
  size_t next = compiled.ptx.find(".entry mtp_next_round");
  ASSERT_NE(next, std::string::npos) << compiled.ptx;
  size_t end = compiled.ptx.find("\n}", next);
  std::string body = compiled.ptx.substr(next, end - next);
  auto at = [&](const char *text) {
    size_t found = body.find(text);
    EXPECT_NE(found, std::string::npos) << text << " in\n" << body;
    return found;
  };
  // The order is: the wait for earlier kernels, the fence, then the count.
  EXPECT_LT(at("griddepcontrol.wait"), at("ld.relaxed.sys.global"));
  EXPECT_LT(at("ld.relaxed.sys.global"), at("fence.acq_rel.sys"));
  EXPECT_LT(at("fence.acq_rel.sys"), at("st.relaxed.sys.global"));
  EXPECT_LT(at("st.relaxed.sys.global"), at("cudaGraphSetConditional"));
  EXPECT_NE(compiled.ptx.find(".entry mtp_deliver"), std::string::npos);
  EXPECT_EQ(compiled.ptx.find(".local"), std::string::npos);
  if (!compiled.absence.empty()) {
    EXPECT_EQ(std::getenv("MTP_REQUIRE_CUDA"), nullptr) << compiled.absence;
    GTEST_SKIP() << compiled.absence;
  }
  EXPECT_FALSE(compiled.cubin.empty()) << compiled.report;
}
