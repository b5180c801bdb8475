//===- GemmLibrary.cpp - cuBLASLt, found at run time ----------------------===//

#include "runtime/device/cuda/GemmLibrary.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/Limits.h"

#if !__has_include(<cublasLt.h>)

using namespace mtp;

Result<std::shared_ptr<GemmLibrary>>
GemmLibrary::open(const std::shared_ptr<CudaContext> &) {
  return failedPrecondition("cuBLASLt: the runtime was built without "
                            "cublasLt.h of CUDA 13");
}

#else

#include "runtime/device/cuda/LtApi.h"

#include <cstdlib>
#include <cstring>

using namespace mtp;

namespace {

Status check(cublasStatus_t status, const char *what) {
  if (status == CUBLAS_STATUS_SUCCESS)
    return okStatus();
  std::string message = strCat(what, ": status ", int(status));
  return status == CUBLAS_STATUS_ALLOC_FAILED
             ? resourceExhausted(strCat(message, ", no memory"))
             : failedPrecondition(std::move(message));
}

/// The library and a handle. Products keep it alive.
class Library : public GemmLibrary,
                public std::enable_shared_from_this<Library> {
public:
  ~Library() override;

  static Result<std::shared_ptr<Library>>
  create(std::shared_ptr<CudaContext> context);

  std::string name() const override;
  uint64_t version() const override { return api.cublasLtGetVersion(); }
  Result<std::vector<std::vector<uint64_t>>> algorithms(const GemmShape &shape,
                                                        uint32_t most) override;
  Result<std::unique_ptr<GemmProduct>>
  make(const GemmShape &shape, std::span<const uint64_t> algorithm) override;

  LtApi api = {};
  cublasLtHandle_t handle = nullptr;

private:
  Status start();

  std::shared_ptr<CudaContext> context;
};

/// Description of a product for the library: y^T = W x^T, because its matrices
/// are column-major.
class Description {
public:
  explicit Description(const LtApi &api) : api(api) {}
  ~Description();
  Description(const Description &) = delete;
  Description &operator=(const Description &) = delete;

  Status fill(const GemmShape &shape);

  const LtApi &api;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t weight = nullptr, x = nullptr, y = nullptr;
};

class Product final : public GemmProduct {
public:
  Product(std::shared_ptr<Library> library, const GemmShape &shape)
      : library(std::move(library)), shape(shape),
        description(this->library->api) {}

  Status start(std::span<const uint64_t> words);
  Status enqueue(const GemmBuffers &buffers, CUstream stream) override;

private:
  std::shared_ptr<Library> library;
  GemmShape shape;
  Description description;
  cublasLtMatmulAlgo_t algorithm = {};
};

/// Limits for the heuristic.
class Preference {
public:
  explicit Preference(const LtApi &api) : api(api) {}
  ~Preference() {
    if (value)
      api.cublasLtMatmulPreferenceDestroy(value);
  }
  Status fill(uint64_t workspace);

  cublasLtMatmulPreference_t value = nullptr;

private:
  template <typename T>
  Status set(cublasLtMatmulPreferenceAttributes_t which, T what) {
    return check(api.cublasLtMatmulPreferenceSetAttribute(value, which, &what,
                                                          sizeof(what)),
                 "cublasLtMatmulPreferenceSetAttribute");
  }

  const LtApi &api;
};

} // namespace

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

/// Returns the library's name, or null if the driver contains the library.
static const char *libraryName(const DriverApi &driver) {
  if (const char *named = std::getenv("MTP_CUBLASLT"); named && *named)
    return named;
  bool isThere = ::dlsym(driver.library, "cublasLtCreate");
  return isThere ? nullptr : "libcublasLt.so.13";
}

Status Library::start() {
  const char *path = libraryName(context->driver());
  void *library =
      path ? ::dlopen(path, RTLD_NOW | RTLD_LOCAL) : context->driver().library;
  if (!library)
    return failedPrecondition(strCat("no cuBLASLt: ", ::dlerror()));
  if (const char *missing = api.find(library))
    return failedPrecondition(
        strCat("expected a cuBLASLt with ", missing, ", got one without it"));
  if (version() / 10000 != CUBLAS_VER_MAJOR)
    return failedPrecondition(strCat("expected cuBLASLt ", CUBLAS_VER_MAJOR,
                                     ", got version ", version()));
  return check(api.cublasLtCreate(&handle), "cublasLtCreate");
}

Result<std::shared_ptr<Library>>
Library::create(std::shared_ptr<CudaContext> context) {
  auto library = std::make_shared<Library>();
  library->context = std::move(context);
  MTP_RETURN_IF_ERROR(library->start());
  return library;
}

Library::~Library() {
  if (handle && context->enter().isOk())
    api.cublasLtDestroy(handle);
}

std::string Library::name() const {
  uint64_t v = version();
  return strCat("cuBLASLt ", v / 10000, ".", v / 100 % 100, ".", v % 100);
}

Result<std::shared_ptr<GemmLibrary>>
GemmLibrary::open(const std::shared_ptr<CudaContext> &context) {
  // A handle takes a third of a second to create, so all executables that exist
  // at one time share it.
  std::lock_guard<std::mutex> lock(context->shared().mutex);
  std::weak_ptr<GemmLibrary> &shared = context->shared().library;
  if (std::shared_ptr<GemmLibrary> found = shared.lock())
    return found;
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<Library> opened,
                       Library::create(context));
  shared = opened;
  return std::shared_ptr<GemmLibrary>(std::move(opened));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Description::~Description() {
  for (cublasLtMatrixLayout_t layout : {weight, x, y})
    if (layout)
      api.cublasLtMatrixLayoutDestroy(layout);
  if (operation)
    api.cublasLtMatmulDescDestroy(operation);
}

Status Description::fill(const GemmShape &shape) {
  MTP_RETURN_IF_ERROR(check(
      api.cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
      "cublasLtMatmulDescCreate"));
  cublasOperation_t transposed = CUBLAS_OP_T;
  MTP_RETURN_IF_ERROR(check(
      api.cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                         &transposed, sizeof(transposed)),
      "cublasLtMatmulDescSetAttribute"));
  auto layout = [&](cublasLtMatrixLayout_t &matrix, cudaDataType_t type,
                    uint64_t rows, uint64_t columns) {
    return check(api.cublasLtMatrixLayoutCreate(&matrix, type, rows, columns,
                                                int64_t(rows)),
                 "cublasLtMatrixLayoutCreate");
  };
  MTP_RETURN_IF_ERROR(layout(weight, CUDA_R_16BF, shape.inputs, shape.outputs));
  MTP_RETURN_IF_ERROR(layout(x, CUDA_R_16BF, shape.inputs, shape.rows));
  return layout(y, CUDA_R_32F, shape.outputs, shape.rows);
}

/// Sets the limits: partial sums are added up in f32 only, in an order that the
/// algorithm alone decides.
Status Preference::fill(uint64_t workspace) {
  MTP_RETURN_IF_ERROR(check(api.cublasLtMatmulPreferenceCreate(&value),
                            "cublasLtMatmulPreferenceCreate"));
  MTP_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace));
  MTP_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                          uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
  for (auto which : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    MTP_RETURN_IF_ERROR(set(which, kGemmAlignment));
  return okStatus();
}

Result<std::vector<std::vector<uint64_t>>>
Library::algorithms(const GemmShape &shape, uint32_t most) {
  Description d(api);
  MTP_RETURN_IF_ERROR(d.fill(shape));
  Preference preference(api);
  MTP_RETURN_IF_ERROR(preference.fill(shape.workspace));
  std::vector<cublasLtMatmulHeuristicResult_t> offered(most);
  int count = 0;
  MTP_RETURN_IF_ERROR(check(
      api.cublasLtMatmulAlgoGetHeuristic(handle, d.operation, d.weight, d.x,
                                         d.y, d.y, preference.value, int(most),
                                         offered.data(), &count),
      "cublasLtMatmulAlgoGetHeuristic"));
  std::vector<std::vector<uint64_t>> all;
  for (int i = 0; i < count; ++i)
    if (offered[size_t(i)].state == CUBLAS_STATUS_SUCCESS) {
      const uint64_t *words = offered[size_t(i)].algo.data;
      all.emplace_back(words, words + std::size(offered[size_t(i)].algo.data));
    }
  return all;
}

Result<std::unique_ptr<GemmProduct>>
Library::make(const GemmShape &shape, std::span<const uint64_t> algorithm) {
  auto product = std::make_unique<Product>(shared_from_this(), shape);
  MTP_RETURN_IF_ERROR(product->start(algorithm));
  return std::unique_ptr<GemmProduct>(std::move(product));
}

Status Product::start(std::span<const uint64_t> words) {
  if (words.size() != std::size(algorithm.data))
    return invalidArgument(strCat("expected an algorithm of ",
                                  std::size(algorithm.data), " words, got ",
                                  words.size()));
  MTP_RETURN_IF_ERROR(description.fill(shape));
  std::memcpy(algorithm.data, words.data(), sizeof(algorithm.data));
  cublasLtMatmulHeuristicResult_t result = {};
  MTP_RETURN_IF_ERROR(check(
      library->api.cublasLtMatmulAlgoCheck(
          library->handle, description.operation, description.weight,
          description.x, description.y, description.y, &algorithm, &result),
      "cublasLtMatmulAlgoCheck"));
  if (result.workspaceSize > shape.workspace)
    return failedPrecondition(
        strCat("expected an algorithm with at most ", shape.workspace,
               " bytes of workspace, got one with ", result.workspaceSize));
  return okStatus();
}

Status Product::enqueue(const GemmBuffers &buffers, CUstream stream) {
  float one = 1, zero = 0;
  auto pointer = [](CUdeviceptr address) {
    // The driver's addresses are integers, the library's are pointers.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<void *>(address);
  };
  return check(library->api.cublasLtMatmul(
                   library->handle, description.operation, &one,
                   pointer(buffers.weight), description.weight,
                   pointer(buffers.x), description.x, &zero, pointer(buffers.y),
                   description.y, pointer(buffers.y), description.y, &algorithm,
                   pointer(buffers.workspace), shape.workspace,
                   reinterpret_cast<cudaStream_t>(stream)),
               "cublasLtMatmul");
}

#endif // cublasLt.h
