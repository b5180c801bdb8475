//===- Replay.cpp - Runs of kernels that tests recorded -------------------===//
//
// test/Codegen compares kernels on the simulator with scalar references, and
// records their inputs and results (KernelRecord.h). Here the results must be
// the same, to the bit. Sums of tensor cores are an exception, because the
// simulator does not know their order.
//
//===----------------------------------------------------------------------===//

#include "Emulation.h"
#include "Gpu.h"
#include "Parts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

using namespace mtp::gpu_check;

/// Maximum error relative to the largest value of a buffer. It is twice the
/// error of rounding a factor to bf16, as for the weights of attention if a sum
/// differs slightly.
static const double kBound = 0x1p-7;

namespace {
/// Results of all runs of one kind.
struct Kind {
  size_t runs = 0, equal = 0;
  double worst = 0;
};
} // namespace

static std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');)
    parts.push_back(part);
  return parts;
}

/// Returns the largest difference of `count` elements, relative to the largest
/// value.
template <typename ReadT>
static double errorOf(size_t count, ReadT read) {
  double largest = 0, worst = 0;
  for (size_t i = 0; i < count; ++i) {
    auto [expected, got] = read(i);
    if (std::isnan(expected) && std::isnan(got))
      continue;
    double off = std::fabs(double(expected) - double(got));
    // Equal infinities are no difference.
    if (expected != got)
      worst = std::isfinite(off) ? std::max(worst, off) : INFINITY;
    if (std::isfinite(expected))
      largest = std::max(largest, double(std::fabs(expected)));
  }
  return worst == 0 ? 0 : worst / largest;
}

/// Returns the error of a buffer. Its elements are f32 or bf16; wrong ones are
/// wrong as either.
static double compare(const char *expected, const char *got, size_t bytes) {
  if (std::memcmp(expected, got, bytes) == 0)
    return 0;
  double single = errorOf(bytes / 4, [&](size_t i) {
    float a, b;
    std::memcpy(&a, expected + 4 * i, 4);
    std::memcpy(&b, got + 4 * i, 4);
    return std::pair(a, b);
  });
  double half = errorOf(bytes / 2, [&](size_t i) {
    uint16_t a, b;
    std::memcpy(&a, expected + 2 * i, 2);
    std::memcpy(&b, got + 2 * i, 2);
    return std::pair(fromBf16(a), fromBf16(b));
  });
  // Different NaN bits are no error.
  return std::min(single, half);
}

/// Runs a kernel. Returns the largest error of its buffers, or -1 if it failed.
static double replay(const Entry &run, const Entry &kernel) {
  std::vector<char> data = readFile(run.text("data"));
  std::vector<size_t> sizes;
  for (const std::string &size : split(run.text("sizes")))
    sizes.push_back(size_t(std::atoll(size.c_str())));
  std::vector<CUdeviceptr> places;
  const char *at = data.data();
  for (size_t size : sizes) {
    places.push_back(allocate(size));
    CHECK(cu.cuMemcpyHtoD(places.back(), at, size));
    at += size;
  }
  Arguments arguments;
  for (const std::string &pointer : split(run.text("pointers"))) {
    int which = std::atoi(pointer.c_str());
    uint64_t offset =
        std::strtoull(pointer.c_str() + pointer.find(':') + 1, nullptr, 10);
    arguments.push_back(which < 0 ? 0 : places[size_t(which)] + offset);
  }
  for (const std::string &param : split(run.text("params")))
    arguments.push_back(uint64_t(std::atoll(param.c_str())));
  if (run.number("blocks") > 0)
    launch(function(run.text("image"), kernel.text("symbol")),
           unsigned(run.number("blocks")), unsigned(kernel.number("threads")),
           0, arguments);
  if (cu.cuStreamSynchronize(machine.stream) != CUDA_SUCCESS)
    return -1;
  double worst = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::vector<char> got = download<char>(places[i], sizes[i]);
    worst = std::max(worst, compare(at, got.data(), sizes[i]));
    at += sizes[i];
    CHECK(cu.cuMemFree(places[i]));
  }
  return worst;
}

void mtp::gpu_check::runReplay() {
  // The simulator's own code has its bits.
  double bound = readManifest("exact").empty() ? kBound : 0;
  std::map<std::string, Entry> kernels;
  for (const Entry &kernel : readManifest("kernel"))
    kernels[kernel.text("image")] = kernel;
  std::map<std::string, Kind> kinds;
  for (const Entry &run : readManifest("run")) {
    const Entry &kernel = kernels.at(run.text("image"));
    std::string where = kernel.text("test") + ", params " + run.text("params");
    Kind &kind = kinds[kernel.text("kind")];
    double error = replay(run, kernel);
    if (error < 0) {
      // Nothing runs in a lost context.
      expect(kernel.text("kind") + ", " + where + " runs", false, error);
      break;
    }
    ++kind.runs;
    kind.equal += error == 0;
    if (error > bound)
      expect(kernel.text("kind") + ", " + where + " is right", false, error);
    kind.worst = std::max(kind.worst, error);
  }
  for (const auto &[name, kind] : kinds) {
    report(name + ": runs", double(kind.runs));
    report(name + ": runs with the simulator's bits", double(kind.equal));
    report(name + ": largest error over the largest value", kind.worst);
    expect(name + " is right", kind.runs > 0 && kind.worst <= bound,
           kind.worst);
  }
}
