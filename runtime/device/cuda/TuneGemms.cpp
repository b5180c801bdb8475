//===- TuneGemms.cpp - The fastest algorithms of the library --------------===//

#include "runtime/device/cuda/TuneGemms.h"
#include "runtime/core/StrCat.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/GemmLibrary.h"

#include <algorithm>

using namespace mtp;

/// Number of algorithms to request, and number of runs that are timed together.
static constexpr uint32_t kCandidates = 16, kRuns = 20;

namespace {
/// Times products of one shape in a stream.
class Tuner {
public:
  Tuner(std::shared_ptr<CudaContext> context, GemmLibrary &library)
      : context(std::move(context)), library(library) {}
  ~Tuner();

  Status start();
  Result<std::vector<uint64_t>> tune(const GemmShape &shape);

private:
  Status allocate(const GemmShape &shape);
  Result<float> time(GemmProduct &product);
  Status check(CUresult result, const char *what) {
    return context->check(result, what);
  }

  std::shared_ptr<CudaContext> context;
  GemmLibrary &library;
  CUstream stream = nullptr;
  CUevent events[2] = {};
  CudaMemory x, weight, y, workspace;
};
} // namespace

Tuner::~Tuner() {
  const DriverApi &driver = context->driver();
  if (!context->enter().isOk())
    return;
  for (CUevent event : events)
    if (event)
      driver.cuEventDestroy(event);
  if (stream)
    driver.cuStreamDestroy(stream);
}

Status Tuner::start() {
  const DriverApi &driver = context->driver();
  MTP_RETURN_IF_ERROR(
      driver.check(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                   "cuStreamCreate"));
  for (CUevent &event : events)
    MTP_RETURN_IF_ERROR(
        driver.check(driver.cuEventCreate(&event, 0), "cuEventCreate"));
  return okStatus();
}

/// Allocates buffers. Their contents do not matter, but they must be
/// initialised.
Status Tuner::allocate(const GemmShape &shape) {
  auto make = [&](CudaMemory &memory, uint64_t bytes) -> Status {
    MTP_ASSIGN_OR_RETURN(
        memory, CudaMemory::allocate(context, bytes, 0, "a product to tune"));
    return memory.zero();
  };
  MTP_RETURN_IF_ERROR(make(x, 2ull * shape.rows * shape.inputs));
  MTP_RETURN_IF_ERROR(make(weight, 2ull * shape.outputs * shape.inputs));
  MTP_RETURN_IF_ERROR(make(y, 4ull * shape.rows * shape.outputs));
  MTP_RETURN_IF_ERROR(make(workspace, shape.workspace));
  return check(context->driver().cuCtxSynchronize(), "clearing memory");
}

/// Returns the milliseconds of kRuns runs, after one run that loads the code.
Result<float> Tuner::time(GemmProduct &product) {
  const DriverApi &driver = context->driver();
  GemmBuffers buffers{x.address(), weight.address(), y.address(),
                      workspace.address()};
  for (uint32_t run = 0; run <= kRuns; ++run) {
    if (run == 1)
      MTP_RETURN_IF_ERROR(
          check(driver.cuEventRecord(events[0], stream), "cuEventRecord"));
    MTP_RETURN_IF_ERROR(product.enqueue(buffers, stream));
  }
  MTP_RETURN_IF_ERROR(
      check(driver.cuEventRecord(events[1], stream), "cuEventRecord"));
  MTP_RETURN_IF_ERROR(
      check(driver.cuStreamSynchronize(stream), "a product to tune"));
  float milliseconds = 0;
  MTP_RETURN_IF_ERROR(
      check(driver.cuEventElapsedTime(&milliseconds, events[0], events[1]),
            "cuEventElapsedTime"));
  return milliseconds;
}

Result<std::vector<uint64_t>> Tuner::tune(const GemmShape &shape) {
  MTP_ASSIGN_OR_RETURN(auto offered, library.algorithms(shape, kCandidates));
  if (offered.empty())
    return failedPrecondition("the library has no algorithm");
  MTP_RETURN_IF_ERROR(allocate(shape));
  bool hasTime = context->driver().traits.hasTime;
  const std::vector<uint64_t> *best = nullptr;
  float least = 0;
  for (const std::vector<uint64_t> &words : offered) {
    auto product = library.make(shape, words);
    // An algorithm of the heuristic is an estimate, and the check may refuse
    // it.
    if (!product)
      continue;
    MTP_ASSIGN_OR_RETURN(float milliseconds, time(**product));
    if (best && hasTime && milliseconds >= least)
      continue;
    best = &words;
    least = milliseconds;
  }
  if (!best)
    return failedPrecondition("the library refuses what it offers");
  return *best;
}

Result<TunedGemms> mtp::tuneGemms(std::span<const GemmToTune> gemms) {
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<CudaContext> context,
                       CudaContext::open(""));
  MTP_RETURN_IF_ERROR(context->enter());
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<GemmLibrary> library,
                       GemmLibrary::open(context));
  Tuner tuner(context, *library);
  MTP_RETURN_IF_ERROR(tuner.start());
  TunedGemms tuned{library->version(), context->name(), {}};
  for (const GemmToTune &gemm : gemms) {
    auto words =
        tuner.tune({gemm.rows, gemm.outputs, gemm.inputs, gemm.workspace});
    if (!words)
      return words.status().withContext(strCat("a product of ", gemm.rows, "x",
                                               gemm.inputs, " by ",
                                               gemm.outputs, "x", gemm.inputs));
    tuned.algorithms.push_back(std::move(*words));
  }
  return tuned;
}
