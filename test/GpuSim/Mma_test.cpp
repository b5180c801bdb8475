//===- Mma_test.cpp - mma.sync against plain loops ------------------------===//
//
// The reference multiplies matrices. It packs their fragments itself, element
// by element, from the PTX manual's tables (not from the simulator's code): for
// element i of a register group, the row and column formulas of m16n8k16 and
// m16n8k32.
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include <climits>
#include <cmath>
#include <cstring>

using namespace mtp::gpusim::test;

namespace {
/// Matrices of an mma as numbers, and its fragments as bytes of all lanes.
template <typename Value, typename Element, int K>
struct Tile {
  static constexpr int kElements = K / 2; // of A in a lane
  Value a[16][K], b[K][8];
  std::vector<Element> fragmentA, fragmentB;

  Tile() : fragmentA(32 * kElements), fragmentB(32 * kElements / 2) {}

  /// "row = groupID for ai where (0 <= i < 2) || (4 <= i < 6), groupID + 8
  /// otherwise; col = threadID_in_group * 2 + (i & 1) for i < 4, + 8 for i >=
  /// 4", and with 4 and 16 for bytes.
  void setA(int lane, int i, Element element, Value value) {
    int perWord = kElements / 4, group = lane / 4, thread = lane % 4;
    bool upper = i / perWord % 2 == 1;
    int column =
        thread * perWord + i % perWord + (i >= 2 * perWord ? K / 2 : 0);
    a[group + (upper ? 8 : 0)][column] = value;
    fragmentA[lane * kElements + i] = element;
  }
  /// "row = threadID_in_group * 2 + (i & 1) for i < 2, + 8 for i >= 2; col =
  /// groupID".
  void setB(int lane, int i, Element element, Value value) {
    int perWord = kElements / 4, group = lane / 4, thread = lane % 4;
    int row = thread * perWord + i % perWord + (i >= perWord ? K / 2 : 0);
    b[row][group] = value;
    fragmentB[lane * kElements / 2 + i] = element;
  }
};

class Mma : public DeviceTest {
protected:
  CUfunction kernel(const std::string &name) {
    return function("mma.mlir", name);
  }

  template <typename Element, typename Sum>
  std::vector<Sum> multiply(const std::string &name,
                            const std::vector<Element> &fragmentA,
                            const std::vector<Element> &fragmentB,
                            const std::vector<Sum> &fragmentC) {
    CUdeviceptr a = upload(fragmentA), b = upload(fragmentB),
                c = upload(fragmentC), d = allocate(512);
    EXPECT_EQ(run(kernel(name), 1, 32, {&a, &b, &c, &d}), CUDA_SUCCESS)
        << lastError();
    return download<Sum>(d, 128);
  }

  template <typename A, typename B>
  void checkBytes(const std::string &name);
  void checkFloats(const std::string &name, uint16_t (*encode)(float));
};
} // namespace

/// Return the row and the column of element i of C or D in a lane.
static int rowOf(int lane, int i) { return lane / 4 + (i >= 2 ? 8 : 0); }
static int columnOf(int lane, int i) { return lane % 4 * 2 + i % 2; }

template <typename A, typename B>
void Mma::checkBytes(const std::string &name) {
  Numbers numbers(7);
  Tile<int, uint8_t, 32> tile;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 16; ++i) {
      uint8_t byte = numbers.next();
      tile.setA(lane, i, byte, A(byte));
    }
    for (int i = 0; i < 8; ++i) {
      uint8_t byte = numbers.next();
      tile.setB(lane, i, byte, B(byte));
    }
  }
  std::vector<int32_t> c(128);
  for (int32_t &value : c)
    value = int32_t(numbers.next()) - 4000000;
  auto d = multiply(name, tile.fragmentA, tile.fragmentB, c);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      int32_t expected = c[lane * 4 + i];
      for (int k = 0; k < 32; ++k)
        expected += tile.a[rowOf(lane, i)][k] * tile.b[k][columnOf(lane, i)];
      EXPECT_EQ(d[lane * 4 + i], expected) << name << " lane " << lane;
    }
}

TEST_F(Mma, BytesOfEachSign) {
  checkBytes<int8_t, int8_t>("s8_s8");
  checkBytes<uint8_t, int8_t>("u8_s8");
  checkBytes<int8_t, uint8_t>("s8_u8");
  checkBytes<uint8_t, uint8_t>("u8_u8");
}

TEST_F(Mma, BytesSaturateOrWrap) {
  std::vector<int8_t> a(512, 127), b(256, 127);
  std::vector<int32_t> c(128, INT_MAX - 10);
  for (int32_t value : multiply("s8_satfinite", a, b, c))
    EXPECT_EQ(value, INT_MAX);
  for (int32_t value : multiply("s8_s8", a, b, c))
    EXPECT_EQ(value, int32_t(uint32_t(INT_MAX - 10) + 32u * 127 * 127));
  a.assign(512, -128);
  c.assign(128, INT_MIN + 10);
  for (int32_t value : multiply("s8_satfinite", a, b, c))
    EXPECT_EQ(value, INT_MIN);
}

static uint16_t encodeBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits >> 16;
}

/// Encodes a value in f16, exact for the small multiples of 1/8 that the test
/// uses.
static uint16_t encodeF16(float value) {
  int exponent;
  float fraction = std::frexp(std::fabs(value), &exponent);
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (value == 0)
    return sign;
  return sign | (exponent + 14) << 10 | int(fraction * 2048 - 1024);
}

void Mma::checkFloats(const std::string &name, uint16_t (*encode)(float)) {
  Numbers numbers(9);
  Tile<float, uint16_t, 16> tile;
  auto next = [&] { return (int(numbers.next() % 65) - 32) / 8.0f; };
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 8; ++i) {
      float value = next();
      tile.setA(lane, i, encode(value), value);
    }
    for (int i = 0; i < 4; ++i) {
      float value = next();
      tile.setB(lane, i, encode(value), value);
    }
  }
  std::vector<float> c(128);
  for (float &value : c)
    value = next();
  // Every product and sum is exact in f32, so the order does not matter.
  auto d = multiply(name, tile.fragmentA, tile.fragmentB, c);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      float expected = c[lane * 4 + i];
      for (int k = 0; k < 16; ++k)
        expected += tile.a[rowOf(lane, i)][k] * tile.b[k][columnOf(lane, i)];
      EXPECT_EQ(d[lane * 4 + i], expected) << name << " lane " << lane;
    }
}

// Sums wrap, as in the instruction.
TEST_F(Mma, DotsOfFourBytes) {
  Numbers numbers(9);
  std::vector<int8_t> a(128), b(128);
  std::vector<int32_t> sums(32), want(32);
  for (int i = 0; i < 128; ++i) {
    a[i] = i < 8 ? -128 : int8_t(numbers.next());
    b[i] = i < 4 ? -128 : i < 8 ? 127 : int8_t(numbers.next());
  }
  sums[0] = INT32_MAX;
  sums[1] = INT32_MIN;
  for (int i = 0; i < 32; ++i) {
    int64_t total = sums[i];
    for (int j = 4 * i; j < 4 * i + 4; ++j)
      total += int64_t(a[j]) * b[j];
    want[i] = int32_t(uint32_t(total));
  }
  CUdeviceptr pa = upload(a), pb = upload(b), pc = upload(sums),
              pd = allocate(128);
  ASSERT_EQ(run(kernel("dot_bytes"), 1, 32, {&pa, &pb, &pc, &pd}), CUDA_SUCCESS)
      << lastError();
  EXPECT_EQ(download<int32_t>(pd, 32), want);
}

TEST_F(Mma, DotsOfUnsignedBytes) {
  Numbers numbers(10);
  std::vector<uint8_t> a(128);
  std::vector<int8_t> b(128);
  std::vector<int32_t> sums(32, 5), want(32, 5);
  for (int i = 0; i < 128; ++i) {
    a[i] = i < 8 ? 255 : uint8_t(numbers.next());
    b[i] = i < 4 ? -128 : i < 8 ? 127 : int8_t(numbers.next());
    want[i / 4] += int(a[i]) * b[i];
  }
  CUdeviceptr pa = upload(a), pb = upload(b), pc = upload(sums),
              pd = allocate(128);
  ASSERT_EQ(run(kernel("dot_unsigned"), 1, 32, {&pa, &pb, &pc, &pd}),
            CUDA_SUCCESS)
      << lastError();
  EXPECT_EQ(download<int32_t>(pd, 32), want);
}

// Numbers of bytes, and of signs.
TEST_F(Mma, PermutesBytes) {
  std::vector<uint32_t> a(32, 0x83020100), b(32, 0x07860504);
  std::vector<uint32_t> which(32, 0x7610), want(32, 0x07860100);
  which[1] = 0xfffff3b8;
  want[1] = 0x0083ff00;
  which[2] = 0x0e54;
  want[2] = 0x00ff0504;
  CUdeviceptr pa = upload(a), pb = upload(b), pc = upload(which),
              pd = allocate(128);
  ASSERT_EQ(run(kernel("permute"), 1, 32, {&pa, &pb, &pc, &pd}), CUDA_SUCCESS)
      << lastError();
  EXPECT_EQ(download<uint32_t>(pd, 32), want);
}

TEST_F(Mma, Floats) {
  checkFloats("bf16", encodeBf16);
  checkFloats("f16", encodeF16);
}

TEST_F(Mma, FloatsKeepSpecialValues) {
  // Infinity, a NaN and the smallest denormal of f16, times 1, in lane 0's row:
  // A's row 0 is [value, 0, ...], and B's row 0 is all ones.
  struct Case {
    uint16_t a;
    float expected;
  };
  for (Case test : {Case{0x7c00, INFINITY}, Case{0xfc00, -INFINITY},
                    Case{0x0001, 0x1p-24f}, Case{0x83ff, -1023 * 0x1p-24f}}) {
    std::vector<uint16_t> a(256, 0), b(128, 0);
    a[0] = test.a;
    for (int g = 0; g < 8; ++g)
      b[g * 4 * 4] = 0x3c00;
    auto d = multiply("f16", a, b, std::vector<float>(128, 0.0f));
    EXPECT_EQ(d[0], test.expected);
    EXPECT_EQ(d[1], test.expected);
    EXPECT_EQ(d[2], 0.0f);
  }
}
