//===- Harness.h - Compiling and running kernels in tests -------*- C++ -*-===//

#ifndef MTP_TEST_CODEGEN_HARNESS_HARNESS_H
#define MTP_TEST_CODEGEN_HARNESS_HARNESS_H

#include "compiler/Codegen/CPU/target/TargetDesc.h"
#include "dialects/Exec/IR/ExecAttrInterfaces.h"
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace mtp::codegen {
struct KernelSpec;
} // namespace mtp::codegen

namespace mtp::codegen::test {

/// Elements that end at a protected page, so a kernel that reads or writes past
/// the end of a buffer faults. Before the start is a pattern that is checked
/// when the buffer is destroyed.
template <typename T>
class Guarded {
public:
  explicit Guarded(size_t count) : count(count) {
    bytes = allocate(count * sizeof(T), &mapping, &mappingBytes);
  }
  explicit Guarded(const std::vector<T> &values) : Guarded(values.size()) {
    if (count)
      std::memcpy(bytes, values.data(), count * sizeof(T));
  }
  Guarded(const Guarded &) = delete;
  Guarded &operator=(const Guarded &) = delete;
  ~Guarded() { release(bytes, mapping, mappingBytes); }

  T *data() { return static_cast<T *>(bytes); }
  size_t size() const { return count; }
  T &operator[](size_t i) { return data()[i]; }
  std::vector<T> values() { return {data(), data() + count}; }

private:
  static void *allocate(size_t bytes, void **mapping, size_t *mappingBytes);
  static void release(void *bytes, void *mapping, size_t mappingBytes);

  size_t count, mappingBytes;
  void *bytes, *mapping;
};

void *allocateGuarded(size_t bytes, void **mapping, size_t *mappingBytes);
void releaseGuarded(void *bytes, void *mapping, size_t mappingBytes);

template <typename T>
void *Guarded<T>::allocate(size_t bytes, void **mapping, size_t *mappingBytes) {
  return allocateGuarded(bytes, mapping, mappingBytes);
}
template <typename T>
void Guarded<T>::release(void *bytes, void *mapping, size_t mappingBytes) {
  releaseGuarded(bytes, mapping, mappingBytes);
}

/// Returns the number of bytes from `pointer` to the end of its guarded buffer,
/// or nothing if it is in none.
std::optional<size_t> guardedBytes(const void *pointer);
/// Returns the start of that buffer.
void *guardedBegin(const void *pointer);

/// Target of a test's kernel: this machine, with code for `TargetDesc`, or the
/// simulated GPU.
struct TestTarget : TargetDesc {
  TestTarget() = default;
  TestTarget(TargetDesc cpu) : TargetDesc(std::move(cpu)) {}

  bool isGpu = false;
  /// True if kernels take the number of active rows. On the GPU only.
  bool takesActive = false;

  /// Returns true if rows are rounded to bf16 when weights are.
  bool roundsRows() const { return isGpu || bf16Dot; }
  /// Returns the number of chains in which products with integers are added up.
  int sumChains() const { return isGpu ? 8 : 1; }
  /// Returns the number of rows in a test: the simulator is slow, and its tiles
  /// have 8 rows.
  int rowsOf(int rows) const { return isGpu ? std::min(rows, 19) : rows; }
};

/// Ways to pass the tasks of a dispatch to the kernel.
enum class Split { Whole, Single, Random };

/// Parses the kernel of a kind with the parameters `config`, as they are
/// written between brackets. Returns null if it does not parse.
mlir::exec::KernelAttrInterface parseKernel(const std::string &kind,
                                            const std::string &config,
                                            mlir::MLIRContext &context);

/// Returns the text of a kernel. Kernels of equal text have equal code on a
/// target.
std::string textOf(const KernelSpec &spec);

/// One kernel, compiled for one target and loaded.
class Kernel {
public:
  /// `config` is the text between the brackets of the kernel's attribute.
  Kernel(const TestTarget &target, const std::string &kind,
         const std::string &config);
  /// The kernel that mtp-outline-control makes of a module with one
  /// mtp.per_slot.
  Kernel(const TestTarget &target, const std::string &module);
  ~Kernel();

  int64_t tasks(int64_t rows) const;
  /// Runs the kernel. If its contract is known (`KernelContract`), the kernel
  /// gets copies of the buffers of exactly that size.
  void run(const std::vector<void *> &buffers,
           const std::vector<int64_t> &params,
           Split split = Split::Whole) const;
  /// Runs the kernel with `rows` active rows, on a target whose kernels take
  /// their number.
  void runActive(const std::vector<void *> &buffers,
                 const std::vector<int64_t> &params, int32_t rows);

  using Entry = void (*)(void *const *, const int64_t *, int64_t, int64_t,
                         void *);
  Entry entry() const;
  const KernelSpec &spec() const;
  int64_t scratchBytes() const;

  /// Returns the number of bytes that the kernel may access in each buffer.
  std::vector<int64_t> contractBytes(const std::vector<int64_t> &params) const;

private:
  void load(const TestTarget &target);
  void call(const std::vector<void *> &buffers,
            const std::vector<int64_t> &params, Split split) const;
  void callGpu(const std::vector<void *> &buffers,
               const std::vector<int64_t> &params) const;

  struct State;
  std::unique_ptr<State> state;
};

/// Returns the CPU targets that this machine can run, the narrowest first.
std::vector<std::pair<std::string, TestTarget>> hostTargets();
/// Returns hostTargets() and the simulated GPU, if it was built.
std::vector<std::pair<std::string, TestTarget>> allTargets();

/// Compiles and links a kernel. Returns the diagnostics, or "" on success.
std::string compileError(const std::string &kind, const std::string &config);
/// Compiles and links a module. Returns the diagnostics, or "" on success.
std::string compileModuleError(const std::string &text);
/// Returns the diagnostics of the check of a module with an exec.kernel that
/// carries its body, before code is made.
std::string controlKernelError(const std::string &text);

/// Runs rows [first, first + count) of a problem and returns their outputs.
using RunRows = std::function<std::vector<float>(int first, int count, Split)>;
/// Checks, to the bit, that a row's output depends neither on the number of
/// rows, nor on its place, nor on the split of the tasks. Tries every `step`-th
/// number and place.
void expectRowInvariant(int rows, int width, const RunRows &run, int step = 1);

/// Returns a config as the name of a test: its letters and digits, with an
/// underscore between keys.
std::string testName(const std::string &config);
/// Names the tests of a suite by the configs of its parameters.
struct NamedByConfig {
  template <typename Info>
  std::string operator()(const Info &info) const {
    return testName(info.param.config());
  }
};

std::vector<float> randomFloats(size_t count, uint32_t seed,
                                float scale = 1.0f);
/// Returns the nearest bf16 value, ties to even.
float toBF16(float value);
uint16_t bf16Bits(float value);
double silu(double x);
/// Returns the GELU of x, in its tanh form.
double geluTanh(double x);

/// Packs weights from `w[n][k]`; bf16 as two bytes each. `gated` takes the gate
/// rows first, then the up rows.
std::vector<uint8_t> packWeights(const std::vector<float> &w, int n, int k,
                                 bool bf16, bool gated = false);

/// Packs the weights of each head, one after another.
std::vector<uint8_t> packHeads(const std::vector<float> &w, int heads, int n,
                               int k, bool bf16);

/// Converts panels of bf16 to the order of tensor cores (FragmentOrder.h).
std::vector<uint8_t> toFragments(const std::vector<uint8_t> &panels, int k);

} // namespace mtp::codegen::test

#endif // MTP_TEST_CODEGEN_HARNESS_HARNESS_H
