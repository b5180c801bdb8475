//===- Gemm.cpp - A product of the simulated library ----------------------===//

#include "Gemm.h"

#include "test/GpuSim/machine/Report.h"
#include "test/GpuSim/machine/Simulator.h"
#include <cmath>
#include <cstring>
#include <vector>

using namespace mtp::gpusim;

namespace {
/// A matrix in the device's memory.
struct Matrix {
  const char *name;
  uintptr_t address;
  size_t rows, columns, stride, elementBytes;
  Allocation *allocation = nullptr;

  size_t bytes() const {
    return ((rows - 1) * stride + columns) * elementBytes;
  }
  size_t offset(size_t row) const {
    return address - allocation->base + row * stride * elementBytes;
  }
  bool overlaps(const Matrix &other) const {
    return address < other.address + other.bytes() &&
           other.address < address + bytes();
  }
};
} // namespace

static CUresult find(Matrix &matrix) {
  matrix.allocation = simulator().memory.find(matrix.address, matrix.bytes());
  if (matrix.allocation)
    return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_LAUNCH_FAILED,
                "cublasLtMatmul: expected the %zu bytes of %s inside of an "
                "allocation, got %s",
                matrix.bytes(), matrix.name,
                simulator().memory.describe(matrix.address).c_str());
}

static CUresult read(const Matrix &matrix, Touched *touched) {
  for (size_t row = 0; row < matrix.rows; ++row) {
    size_t offset = matrix.offset(row);
    size_t bytes = matrix.columns * matrix.elementBytes;
    if (!matrix.allocation->isWritten(offset, bytes))
      return refuse(CUDA_ERROR_LAUNCH_FAILED,
                    "cublasLtMatmul: uninitialised: row %zu of %s has bytes "
                    "that nothing wrote",
                    row, matrix.name);
    if (touched)
      touched->reads.add(*matrix.allocation, offset, bytes);
  }
  return CUDA_SUCCESS;
}

static void write(const Matrix &matrix, Touched *touched) {
  for (size_t row = 0; row < matrix.rows; ++row) {
    size_t offset = matrix.offset(row);
    size_t bytes = matrix.columns * matrix.elementBytes;
    if (matrix.allocation->kind == MemoryKind::Device)
      matrix.allocation->written.set(offset, bytes);
    if (touched)
      touched->writes.add(*matrix.allocation, offset, bytes);
  }
}

static float toFloat(uint16_t half) {
  uint32_t bits = uint32_t(half) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static std::vector<float> floatsOf(const Matrix &matrix, size_t row) {
  auto *from =
      reinterpret_cast<const uint16_t *>(matrix.address) + row * matrix.stride;
  std::vector<float> values(matrix.columns);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = toFloat(from[i]);
  return values;
}

/// Rounds a sum to few bits, fewer than any library, so that the order of sums
/// shows.
static float cut(float sum) {
  uint32_t bits;
  std::memcpy(&bits, &sum, sizeof bits);
  bits &= ~uint32_t(0xfff);
  std::memcpy(&sum, &bits, sizeof sum);
  return sum;
}

/// Returns one output of one row. The chains take eight inputs in turn. The
/// offset of the first eight depends on the row's number, also for rows that
/// are a page apart.
static float dot(const std::vector<float> &x, const std::vector<float> &w,
                 size_t chains, size_t row) {
  std::vector<float> sums(chains, 0.0f);
  for (size_t i = 0; i < x.size(); ++i) {
    float &sum = sums[(i + 5 * row % 7) / 8 % chains];
    sum = std::fma(x[i], w[i], sum);
  }
  float total = 0;
  for (float sum : sums)
    total += cut(sum);
  return total;
}

CUresult Gemm::run(Touched *touched) const {
  Matrix left{"x", x, rows, inputs, xStride, 2};
  Matrix weight{"the weight", w, outputs, inputs, wStride, 2};
  Matrix result{"y", y, rows, outputs, yStride, 4};
  Matrix space{"the workspace", workspace, 1, workspaceBytes, 0, 1};
  for (Matrix *matrix : {&left, &weight, &result, &space})
    if (matrix->columns)
      if (CUresult failed = find(*matrix))
        return failed;
  for (const Matrix *written : {&result, &space})
    for (const Matrix *other : {&left, &weight, &result, &space})
      if (written != other && written->columns && other->columns &&
          written->overlaps(*other))
        return refuse(CUDA_ERROR_LAUNCH_FAILED,
                      "cublasLtMatmul: %s shares bytes with %s", written->name,
                      other->name);
  if (CUresult failed = read(left, touched))
    return failed;
  if (CUresult failed = read(weight, touched))
    return failed;
  std::vector<std::vector<float>> weights;
  for (size_t output = 0; output < outputs; ++output)
    weights.push_back(floatsOf(weight, output));
  for (size_t row = 0; row < rows; ++row) {
    std::vector<float> values = floatsOf(left, row);
    auto *to = reinterpret_cast<float *>(y) + row * yStride;
    for (size_t output = 0; output < outputs; ++output)
      to[output] = dot(values, weights[output], chains, row);
  }
  write(result, touched);
  if (workspaceBytes) {
    // The contents of the workspace are undefined afterwards.
    std::memset(reinterpret_cast<void *>(workspace), 0xff, workspaceBytes);
    write(space, touched);
  }
  return CUDA_SUCCESS;
}
