//===- LdMatrix_test.cpp - Matrices from shared memory to fragments -------===//

#include "Device.h"

using namespace mtp::gpusim::test;

namespace {
class LdMatrix : public DeviceTest {
protected:
  CUfunction kernel(const std::string &name) {
    return function("ldmatrix.mlir", name);
  }

  std::vector<uint16_t> rows = [] {
    Numbers numbers(5);
    std::vector<uint16_t> result(256);
    for (uint16_t &element : result)
      element = numbers.next();
    return result;
  }();
};
} // namespace

TEST_F(LdMatrix, LoadsEachNumberOfMatrices) {
  for (int count : {1, 2, 4})
    for (bool transposed : {false, true}) {
      CUdeviceptr x = upload(rows), y = allocate(128 * count);
      int64_t shift = 0;
      std::string name =
          "x" + std::to_string(count) + (transposed ? "_trans" : "");
      ASSERT_EQ(run(kernel(name), 1, 32, {&x, &y, &shift}), CUDA_SUCCESS)
          << lastError();
      auto out = download<uint16_t>(y, 64 * count);
      for (int lane = 0; lane < 32; ++lane)
        for (int matrix = 0; matrix < count; ++matrix)
          for (int e = 0; e < 2; ++e) {
            // Row i of the fragment's matrix is the row that lane 8 m + i
            // stored, or its column.
            int i = lane / 4, j = lane % 4 * 2 + e;
            int place = transposed ? (8 * matrix + j) * 8 + i
                                   : (8 * matrix + i) * 8 + j;
            EXPECT_EQ(out[(lane * count + matrix) * 2 + e], rows[place])
                << name << " lane " << lane;
          }
    }
}

TEST_F(LdMatrix, ChecksItsRows) {
  CUdeviceptr x = upload(rows), y = allocate(512);
  int64_t shift = 8;
  std::vector<void *> parameters = {&x, &y, &shift};
  expectFault(kernel("x4"), 1, 32, parameters,
              {"misaligned: load of 16 bytes"});
  shift = 16;
  expectFault(kernel("x4"), 1, 32, parameters,
              {"thread (31, 0, 0): uninitialised: load of 16 bytes at byte 512 "
               "of shared memory"});
  // For one matrix only the addresses of the first eight lanes count.
  EXPECT_EQ(run(kernel("x1"), 1, 32, parameters), CUDA_SUCCESS) << lastError();
  shift = 1024;
  expectFault(kernel("x4"), 1, 32, parameters, {"out of bounds"});
}

TEST_F(LdMatrix, OrdersNothing) {
  CUdeviceptr x = upload(rows), y = allocate(512);
  int64_t shift = 0;
  expectFault(
      kernel("no_barrier"), 1, 32, {&x, &y, &shift},
      {"race: load of 16 bytes", "of shared memory, written by thread"});
}
