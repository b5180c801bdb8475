//===- Harness.cpp - Compiling and running kernels in tests ---------------===//

#include "Harness.h"
#include "Unit.h"

#ifdef MTP_HAS_GPUSIM
#include "GpuHarness.h"
#include "KernelRecord.h"
#endif
#include "compiler/Codegen/CPU/Kernels.h"
#include "compiler/Codegen/CPU/target/Compile.h"
#include "compiler/Codegen/CPU/target/Link.h"
#include "compiler/Codegen/Units/BackendCode.h"
#include "compiler/KernelCache/KernelCache.h"
#include "dialects/Exec/IR/ControlKernel.h"
#include "dialects/Exec/IR/KernelContract.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "runtime/artifact/CpuFeatures.h"
#include <cmath>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

using namespace mtp;
using namespace mtp::codegen;
using namespace mtp::codegen::test;

static constexpr unsigned char slackPattern = 0xa5;

/// Returns the begin and end of each live buffer.
static std::map<const unsigned char *, const unsigned char *> &
guardedBuffers() {
  static std::map<const unsigned char *, const unsigned char *> buffers;
  return buffers;
}

std::optional<size_t> test::guardedBytes(const void *pointer) {
  auto *at = static_cast<const unsigned char *>(pointer);
  auto found = guardedBuffers().upper_bound(at);
  if (found == guardedBuffers().begin())
    return std::nullopt;
  --found;
  if (at > found->second)
    return std::nullopt;
  return size_t(found->second - at);
}

void *test::guardedBegin(const void *pointer) {
  auto *at = static_cast<const unsigned char *>(pointer);
  auto found = std::prev(guardedBuffers().upper_bound(at));
  return const_cast<unsigned char *>(found->first);
}

void *test::allocateGuarded(size_t bytes, void **mapping,
                            size_t *mappingBytes) {
  size_t page = sysconf(_SC_PAGESIZE);
  size_t payload = (bytes + page) / page * page;
  *mappingBytes = payload + page;
  *mapping = mmap(nullptr, *mappingBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto *base = static_cast<unsigned char *>(*mapping);
  EXPECT_NE(*mapping, MAP_FAILED);
  EXPECT_EQ(mprotect(base + payload, page, PROT_NONE), 0);
  std::memset(base, slackPattern, payload - bytes);
  guardedBuffers()[base + payload - bytes] = base + payload;
  return base + payload - bytes;
}

void test::releaseGuarded(void *bytes, void *mapping, size_t mappingBytes) {
  for (auto *p = static_cast<unsigned char *>(mapping); p < bytes; ++p)
    if (*p != slackPattern) {
      ADD_FAILURE() << "something wrote before a buffer";
      break;
    }
  guardedBuffers().erase(static_cast<unsigned char *>(bytes));
  munmap(mapping, mappingBytes);
}

static mlir::MLIRContext &context() {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  return context;
}

mlir::exec::KernelAttrInterface test::parseKernel(const std::string &kind,
                                                  const std::string &config,
                                                  mlir::MLIRContext &context) {
  context.loadDialect<mlir::exec::ExecDialect>();
  return mlir::dyn_cast_or_null<mlir::exec::KernelAttrInterface>(
      mlir::parseAttribute("#exec." + kind + "<" + config + ">", &context));
}

static KernelSpec makeSpec(const std::string &kind, const std::string &config) {
  KernelSpec spec{"kernel", parseKernel(kind, config, context())};
  EXPECT_TRUE(spec.kernel) << "cannot parse the kernel: " << config;
  return spec;
}

/// Parses a module of slots' control, or of kernels made from it.
static mlir::OwningOpRef<mlir::ModuleOp> parseControl(const std::string &text) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::exec::ExecDialect, mlir::mtp::MTPDialect,
                  mlir::memref::MemRefDialect>();
  mlir::mtp::registerControlDialects(registry);
  context().appendDialectRegistry(registry);
  return mlir::parseSourceString<mlir::ModuleOp>(text, &context());
}

std::string test::textOf(const KernelSpec &spec) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << spec.kernel;
  if (spec.body)
    spec.body->getParentOp()->print(out);
  if (spec.takesActive)
    out << " live";
  return text;
}

/// Opens the cache of kernels that tests share, as mtpc does. Returns null if
/// there is none.
static compiler::KernelCache *kernelCache() {
  static std::unique_ptr<compiler::KernelCache> cache = [] {
    const char *variable = std::getenv("MTPC_KERNEL_CACHE");
    std::string folder = variable ? variable : "off";
    std::unique_ptr<compiler::KernelCache> opened;
    if (folder.empty() || folder == "off")
      return opened;
    auto result = compiler::KernelCache::open(folder);
    EXPECT_TRUE(result.isOk()) << result.status().toString();
    if (result.isOk())
      opened = std::move(*result);
    return opened;
  }();
  return cache.get();
}

mlir::FailureOr<CompiledUnit>
test::compileUnit(const KernelSpec &spec, const KernelBackend &backend,
                  decltype(UnitRequest::emit) emit) {
  std::string kind = spec.kernel.getKind().str();
  std::replace_if(
      kind.begin(), kind.end(), [](char c) { return !llvm::isAlnum(c); }, '_');
  mlir::MLIRContext &context = *spec.kernel.getContext();
  compiler::CodegenOptions options;
  options.cache = kernelCache();
  auto units = compileUnits(context, mlir::UnknownLoc::get(&context),
                            UnitRequest{spec.symbol, kind, std::move(emit)},
                            backend, options);
  if (failed(units))
    return mlir::failure();
  return std::move(units->front());
}

static mlir::FailureOr<std::vector<char>> compileAnew(const TargetDesc &target,
                                                      const KernelSpec &spec) {
  static const bool isReady = [] {
    loadKernelDialects(context());
    registerKernelTranslations(context());
    return true;
  }();
  (void)isReady;
  auto unit =
      compileUnit(spec, CpuBackend(target, std::string(kernelBackendCode())),
                  [&](mlir::OpBuilder &builder, mlir::ModuleOp module) {
                    return emitKernel(builder, module, spec, target);
                  });
  if (failed(unit))
    return mlir::failure();
  const std::vector<char> &object = unit->object->parts.front();
  auto image = linkSharedImage(llvm::StringRef(object.data(), object.size()),
                               ExportedName{spec.symbol, unit->symbol});
  if (image)
    return std::move(*image);
  ADD_FAILURE() << llvm::toString(image.takeError());
  return mlir::failure();
}

/// Returns the image of a kernel, compiled once for each target. Returns null
/// if that fails, and reports it each time.
static const std::vector<char> *compileImage(const TargetDesc &target,
                                             const KernelSpec &spec) {
  static std::map<std::string, std::vector<char>> images;
  std::string key = target.cpu + " " + target.features + " " + textOf(spec);
  if (auto known = images.find(key); known != images.end())
    return &known->second;
  auto image = compileAnew(target, spec);
  return succeeded(image) ? &(images[key] = std::move(*image)) : nullptr;
}

struct Kernel::State {
  KernelSpec spec;
  // For a kernel that carries its body: its module, and the kernel.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::exec::KernelOp op;
  int64_t scratchBytes = 0;
  // Stays open: dlopen takes two libraries of the same path for one, and a
  // closed descriptor's number would be used again.
  int file = -1;
  void *library = nullptr;
  Entry entry = nullptr;
#ifdef MTP_HAS_GPUSIM
  /// Replaces all members above on the simulated GPU.
  std::unique_ptr<GpuKernel> gpu;
#endif
  /// Number of active rows for a kernel that takes it; empty: no number.
  std::optional<int32_t> live;
};

Kernel::Kernel(const TestTarget &target, const std::string &kind,
               const std::string &config)
    : state(std::make_unique<State>()) {
  state->spec = makeSpec(kind, config);
  load(target);
}

Kernel::Kernel(const TestTarget &target, const std::string &module)
    : state(std::make_unique<State>()) {
  state->module = parseControl(module);
  mlir::PassManager manager(&context());
  manager.addPass(mlir::mtp::createOutlineControlPass());
  if (!state->module || failed(manager.run(*state->module))) {
    ADD_FAILURE() << "cannot outline the body";
    return;
  }
  state->op = *state->module->getOps<mlir::exec::KernelOp>().begin();
  EXPECT_TRUE(succeeded(mlir::exec::verifyControlKernel(state->op)));
  state->spec = {"kernel", state->op.getKernel(), &state->op.getBody()};
  load(target);
}

void Kernel::load(const TestTarget &target) {
#ifdef MTP_HAS_GPUSIM
  if (target.isGpu) {
    state->spec.takesActive = target.takesActive;
    state->gpu = std::make_unique<GpuKernel>(state->spec);
    return;
  }
#endif
  // The query also grants the permission to use it, see CpuFeatures.h.
  for (const std::string &feature : target.requiredFeatures)
    EXPECT_EQ(cpuFeature(feature), FeatureState::Present) << feature;
  state->scratchBytes = kernelScratchBytes(state->spec, target);
  const std::vector<char> *image = compileImage(target, state->spec);
  if (!image) {
    ADD_FAILURE() << "cannot compile " << state->spec.kernel.getKind().str();
    return;
  }
  state->file = memfd_create("kernel", MFD_CLOEXEC);
  EXPECT_EQ(write(state->file, image->data(), image->size()),
            static_cast<ssize_t>(image->size()));
  std::string path = "/proc/self/fd/" + std::to_string(state->file);
  state->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!state->library) {
    ADD_FAILURE() << dlerror();
    return;
  }
  state->entry = reinterpret_cast<Entry>(dlsym(state->library, "kernel"));
  EXPECT_NE(state->entry, nullptr);
}

Kernel::~Kernel() {
  if (state->library)
    dlclose(state->library);
  if (state->file >= 0)
    close(state->file);
}

int64_t Kernel::tasks(int64_t rows) const {
  const KernelSpec &spec = state->spec;
  return mlir::exec::kernelTasks(spec.kernel, {rows});
}

Kernel::Entry Kernel::entry() const { return state->entry; }

const KernelSpec &Kernel::spec() const { return state->spec; }

int64_t Kernel::scratchBytes() const { return state->scratchBytes; }

/// Returns the contract of a kernel.
static std::optional<mlir::exec::KernelContract>
contractOf(const KernelSpec &spec, mlir::exec::KernelOp op) {
  return op ? mlir::exec::kernelContract(op)
            : mlir::exec::kernelContract(spec.kernel);
}

std::vector<int64_t>
Kernel::contractBytes(const std::vector<int64_t> &params) const {
  auto contract = contractOf(state->spec, state->op);
  std::vector<int64_t> bytes;
  for (const mlir::exec::BufferContract &buffer : contract->buffers)
    bytes.push_back(*buffer.bytes.evaluate(params));
  return bytes;
}

namespace {
/// Copies of a kernel's buffers, each with the size in its contract. A buffer
/// that is passed twice has one copy.
struct ExactBuffers {
  explicit ExactBuffers(const std::vector<void *> &buffers)
      : pointers(buffers) {}

  void add(size_t index, size_t bytes);
  void copyBack();

  std::vector<void *> pointers;

private:
  std::map<void *, std::unique_ptr<Guarded<uint8_t>>> copies;
  std::map<void *, std::vector<size_t>> users;
};
} // namespace

void ExactBuffers::add(size_t index, size_t bytes) {
  void *original = pointers[index];
  if (auto known = copies.find(original); known != copies.end())
    bytes = std::max(bytes, known->second->size());
  auto copy = std::make_unique<Guarded<uint8_t>>(bytes);
  std::memcpy(copy->data(), original, bytes);
  users[original].push_back(index);
  for (size_t user : users[original])
    pointers[user] = copy->data();
  copies[original] = std::move(copy);
}

void ExactBuffers::copyBack() {
  for (auto &[original, copy] : copies)
    std::memcpy(original, copy->data(), copy->size());
}

/// Returns true if two buffers share bytes but do not begin at the same byte.
static bool overlap(const std::vector<std::pair<char *, size_t>> &ranges) {
  for (auto [a, aBytes] : ranges)
    for (auto [b, bBytes] : ranges)
      if (a < b && b < a + aBytes && bBytes > 0)
        return true;
  return false;
}

void Kernel::run(const std::vector<void *> &buffers,
                 const std::vector<int64_t> &params, Split split) const {
  const KernelSpec &spec = state->spec;
  auto contract = contractOf(spec, state->op);
  ASSERT_TRUE(contract) << spec.kernel.getKind().str();
  if (!contract->error.empty())
    return call(buffers, params, split);
  ExactBuffers exact(buffers);
  std::vector<std::pair<char *, size_t>> ranges;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const mlir::exec::BufferContract &buffer = contract->buffers[i];
    std::optional<int64_t> bytes = buffer.bytes.evaluate(params);
    std::optional<size_t> room = guardedBytes(buffers[i]);
    if (buffer.entries || !room)
      continue;
    ASSERT_TRUE(bytes && *bytes >= 0)
        << spec.kernel.getKind().str() << ", buffer " << i;
    ASSERT_LE(size_t(*bytes), *room)
        << spec.kernel.getKind().str() << ": the contract of buffer " << i;
    ranges.push_back({static_cast<char *>(buffers[i]), size_t(*bytes)});
  }
  if (overlap(ranges))
    return call(buffers, params, split);
  for (size_t i = 0; i < buffers.size(); ++i)
    if (!contract->buffers[i].entries && guardedBytes(buffers[i]))
      exact.add(i, *contract->buffers[i].bytes.evaluate(params));
  call(exact.pointers, params, split);
  exact.copyBack();
}

void Kernel::runActive(const std::vector<void *> &buffers,
                       const std::vector<int64_t> &params, int32_t rows) {
  ASSERT_TRUE(state->spec.takesActive);
  state->live = rows;
  run(buffers, params);
  state->live.reset();
}

void Kernel::call(const std::vector<void *> &buffers,
                  const std::vector<int64_t> &params, Split split) const {
  const KernelSpec &spec = state->spec;
  mlir::exec::KernelSignature signature =
      mlir::exec::kernelSignature(spec.kernel);
  EXPECT_EQ(signature.buffers, static_cast<int64_t>(buffers.size()));
  EXPECT_EQ(signature.params, static_cast<int64_t>(params.size()));
#ifdef MTP_HAS_GPUSIM
  if (state->gpu)
    return callGpu(buffers, params);
#endif
  ASSERT_NE(state->entry, nullptr);
  int64_t count = mlir::exec::kernelTasks(spec.kernel, params);

  static std::mt19937 generator(7);
  for (int64_t begin = 0; begin < count;) {
    int64_t size = count - begin;
    if (split == Split::Single)
      size = 1;
    else if (split == Split::Random)
      size = 1 + static_cast<int64_t>(generator() % size);
    // A NaN pattern: no result may depend on the contents of scratch.
    Guarded<uint8_t> scratch(state->scratchBytes);
    std::memset(scratch.data(), 0xff, state->scratchBytes);
    state->entry(buffers.data(), params.data(), begin, begin + size,
                 scratch.data());
    begin += size;
  }
}

#ifdef MTP_HAS_GPUSIM
void Kernel::callGpu(const std::vector<void *> &buffers,
                     const std::vector<int64_t> &params) const {
  std::vector<GpuBuffer> places;
  for (void *buffer : buffers) {
    std::optional<size_t> room = guardedBytes(buffer);
    ASSERT_TRUE(room) << "expected a guarded buffer";
    void *begin = guardedBegin(buffer);
    size_t offset = static_cast<char *>(buffer) - static_cast<char *>(begin);
    places.push_back({begin, offset + *room, offset});
  }
  // The address of the number, or none.
  int32_t live = state->live.value_or(0);
  if (state->spec.takesActive)
    places.push_back(state->live ? GpuBuffer{&live, sizeof live, 0}
                                 : GpuBuffer{nullptr, 0, 0});
  state->gpu->run(places, params);
}
#endif

std::vector<std::pair<std::string, TestTarget>> test::allTargets() {
  std::vector<std::pair<std::string, TestTarget>> targets = hostTargets();
#ifdef MTP_HAS_GPUSIM
  // A record is made on the GPU only.
  if (!KernelRecord::chip().empty())
    targets.clear();
  TestTarget gpu;
  gpu.isGpu = true;
  targets.push_back({"gpu-sim", gpu});
#endif
  return targets;
}

std::vector<std::pair<std::string, TestTarget>> test::hostTargets() {
  std::vector<std::pair<std::string, TestTarget>> targets;
  auto isKnown = [&](const TargetDesc &target) {
    return llvm::any_of(targets, [&](const auto &known) {
      return known.second.requiredFeatures == target.requiredFeatures;
    });
  };
  for (const char *name :
       {"x86-64-v3", "x86-64-v4", "znver4", "sapphirerapids", "native"}) {
    TargetDesc target = llvm::cantFail(TargetDesc::parse(name));
    bool runs =
        llvm::all_of(target.requiredFeatures, [](const std::string &feature) {
          return cpuFeature(feature) == FeatureState::Present;
        });
    if (runs && !isKnown(target))
      targets.push_back({name, TestTarget(target)});
  }
  return targets;
}

/// Returns the diagnostics of `run`, joined.
static std::string diagnosticsOf(const std::function<void()> &run) {
  std::string text;
  mlir::ScopedDiagnosticHandler handler(&context(),
                                        [&](mlir::Diagnostic &diagnostic) {
                                          text += diagnostic.str();
                                          return mlir::success();
                                        });
  run();
  return text;
}

static TargetDesc narrowTarget() {
  return llvm::cantFail(TargetDesc::parse("x86-64-v3"));
}

std::string test::compileError(const std::string &kind,
                               const std::string &config) {
  return diagnosticsOf([&] {
    if (auto kernel = parseKernel(kind, config, context()))
      (void)compileImage(narrowTarget(), {"kernel", kernel});
  });
}

std::string test::compileModuleError(const std::string &text) {
  return diagnosticsOf([&] {
    loadKernelDialects(context());
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context());
    ASSERT_TRUE(module);
    (void)compileKernels(*module, narrowTarget());
  });
}

std::string test::controlKernelError(const std::string &text) {
  return diagnosticsOf([&] {
    auto module = parseControl(text);
    ASSERT_TRUE(module);
    for (auto kernel : module->getOps<mlir::exec::KernelOp>())
      (void)mlir::exec::verifyControlKernel(kernel);
  });
}

static bool sameBits(const float *a, const float *b, size_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

void test::expectRowInvariant(int rows, int width, const RunRows &run,
                              int step) {
  std::vector<float> all = run(0, rows, Split::Whole);
  ASSERT_EQ(all.size(), size_t(rows) * width);
  std::vector<float> single = run(0, rows, Split::Single);
  EXPECT_TRUE(sameBits(all.data(), single.data(), all.size()))
      << "the result depends on the split of the tasks";
  for (int count = 1; count <= rows; count += step) {
    std::vector<float> part = run(0, count, Split::Random);
    EXPECT_TRUE(sameBits(all.data(), part.data(), part.size()))
        << "the result depends on the number of rows, " << count;
  }
  for (int row = 0; row < rows; row += step) {
    std::vector<float> alone = run(row, 1, Split::Whole);
    EXPECT_TRUE(sameBits(&all[size_t(row) * width], alone.data(), width))
        << "the result of row " << row << " depends on its place";
  }
}

std::string test::testName(const std::string &config) {
  std::string name;
  for (char c : config)
    if (c == ',')
      name += '_';
    else if (llvm::isAlnum(c))
      name += c;
  return name;
}
