//===- KernelUnits.cpp - Compiles the kernels of a plan -------------------===//

#include "compiler/Codegen/Units/KernelUnits.h"

#include "compiler/Codegen/Units/KernelDigest.h"
#include "compiler/Codegen/Units/Stopwatch.h"
#include "compiler/Codegen/Units/ToolchainIdentity.h"
#include "compiler/Codegen/Units/UnitEntry.h"
#include "compiler/KernelCache/KernelCache.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

namespace {

/// A request while it is compiled.
struct Unit {
  OwningOpRef<ModuleOp> module;
  Digest digest{};
  compiler::KernelKey key{};
  /// Number of operations in the module. A larger unit takes longer to compile.
  uint64_t operations = 0;
  bool failed = false;
  compiler::KernelTiming timing;
  /// Index of the first request with an equal unit; its own index if it is the
  /// first.
  size_t first = 0;
  std::shared_ptr<const KernelObject> object;
};

/// One call of compileUnits.
class Compilation {
public:
  Compilation(MLIRContext &context, Location loc,
              ArrayRef<UnitRequest> requests, const KernelBackend &backend,
              const compiler::CodegenOptions &options)
      : context(context), loc(loc), requests(requests), backend(backend),
        options(options), units(requests.size()) {
    for (auto [unit, request] : llvm::zip_equal(units, requests)) {
      unit.timing.name = request.name;
      unit.timing.kind = request.kind;
    }
  }

  FailureOr<std::vector<CompiledUnit>> run();

private:
  /// Calls `makeWork()` in each thread, and calls the function that it returns
  /// with each number of `order`. Diagnostics come out in the order in which
  /// one thread would report them.
  void forEach(ArrayRef<size_t> order,
               llvm::function_ref<std::function<void(size_t)>()> makeWork);
  void emit(size_t index, KernelDigester &digester);
  void shareEqualUnits();
  void find(size_t index);
  void compile(size_t index, KernelCompiler &compiler);
  std::string symbolOf(size_t index) const;
  bool hasFailed() const {
    return llvm::any_of(units, [](const Unit &unit) { return unit.failed; });
  }
  FailureOr<std::vector<CompiledUnit>> results();

  MLIRContext &context;
  Location loc;
  ArrayRef<UnitRequest> requests;
  const KernelBackend &backend;
  const compiler::CodegenOptions &options;
  std::vector<Unit> units;
  std::atomic<bool> isStopped{false};
  std::mutex progressMutex;
  size_t done = 0, toCompile = 0;
};

} // namespace

void Compilation::forEach(
    ArrayRef<size_t> order,
    llvm::function_ref<std::function<void(size_t)>()> makeWork) {
  if (order.empty())
    return;
  ParallelDiagnosticHandler diagnostics(&context);
  std::atomic<size_t> next{0};
  auto run = [&] {
    std::function<void(size_t)> work = makeWork();
    for (size_t place; (place = next.fetch_add(1)) < order.size();) {
      diagnostics.setOrderIDForThread(order[place]);
      work(order[place]);
      diagnostics.eraseOrderIDForThread();
    }
  };
  size_t jobs = context.isMultithreadingEnabled() ? options.jobs : 1;
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(jobs, order.size()); ++i)
    threads.emplace_back(run);
  run();
  for (std::thread &thread : threads)
    thread.join();
}

void Compilation::emit(size_t index, KernelDigester &digester) {
  Unit &unit = units[index];
  Stopwatch watch(unit.timing.seconds.emit);
  unit.module = ModuleOp::create(loc);
  OpBuilder builder(&context);
  if (failed(requests[index].emit(builder, *unit.module)) ||
      failed(verify(*unit.module))) {
    unit.failed = true;
    return;
  }
  unit.digest = digester.digest(*unit.module);
  unit.operations = digester.operations();
}

/// Returns the digest of a digest and the number of the copy.
static Digest copyOf(const Digest &digest, size_t copy) {
  llvm::BLAKE3 hasher;
  hasher.update(llvm::ArrayRef<uint8_t>(digest));
  hasher.update(std::to_string(copy));
  return hasher.final<32>();
}

void Compilation::shareEqualUnits() {
  std::string made = toolchainIdentity() + "\n" + backend.identity() + "\n";
  std::map<std::pair<std::string, Digest>, std::vector<size_t>> equal;
  for (auto [index, unit] : llvm::enumerate(units)) {
    // The symbol of an object begins with the kind.
    const std::string &kind = unit.timing.kind;
    std::vector<size_t> &copies = equal[{kind, unit.digest}];
    copies.push_back(index);
    unit.first = index;
    if (copies.size() > 1 && backend.sharesSymbols()) {
      unit.first = copies.front();
      unit.timing.isShared = true;
      unit.module = {};
    } else if (copies.size() > 1) {
      unit.digest = copyOf(unit.digest, copies.size());
    }
    llvm::BLAKE3 hasher;
    hasher.update(made + kind + "\n");
    hasher.update(llvm::ArrayRef<uint8_t>(unit.digest));
    unit.key = hasher.final<32>();
  }
}

void Compilation::find(size_t index) {
  Unit &unit = units[index];
  std::optional<std::vector<char>> entry = options.cache->find(unit.key);
  if (!entry)
    return;
  std::optional<KernelObject> object = readUnitEntry(*entry);
  if (!object)
    return;
  unit.object = std::make_shared<const KernelObject>(std::move(*object));
  unit.timing.isCached = true;
  unit.module = {};
}

std::string Compilation::symbolOf(size_t index) const {
  // The first 64 bits tell the units of one image apart.
  return requests[index].kind + "_" +
         llvm::toHex(llvm::ArrayRef(units[index].digest).take_front(8),
                     /*LowerCase=*/true);
}

void Compilation::compile(size_t index, KernelCompiler &compiler) {
  Unit &unit = units[index];
  // An error here is a compiler bug and would repeat for many units.
  if (isStopped)
    return;
  FailureOr<KernelObject> object =
      compiler.compile(*unit.module, symbolOf(index), unit.timing.seconds);
  unit.module = {};
  unit.failed = failed(object);
  isStopped = isStopped || unit.failed;
  if (unit.failed)
    return;
  if (options.cache)
    options.cache->store(unit.key, writeUnitEntry(*object));
  unit.object = std::make_shared<const KernelObject>(std::move(*object));
  std::lock_guard<std::mutex> lock(progressMutex);
  ++done;
  if (options.progress)
    options.progress(done, toCompile);
}

FailureOr<std::vector<CompiledUnit>> Compilation::results() {
  std::vector<CompiledUnit> results;
  std::map<std::string, compiler::KernelKey> keys;
  for (auto [index, unit] : llvm::enumerate(units)) {
    std::string symbol = symbolOf(index);
    if (keys.try_emplace(symbol, unit.key).first->second != unit.key)
      return emitError(loc) << "expected different symbols for the kernels of "
                               "a plan, got '"
                            << symbol << "' twice";
    results.push_back({symbol, units[unit.first].object});
    if (options.onKernel)
      options.onKernel(unit.timing);
  }
  return results;
}

FailureOr<std::vector<CompiledUnit>> Compilation::run() {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  forEach(order, [&] {
    auto digester = std::make_shared<KernelDigester>();
    return [this, digester](size_t index) { emit(index, *digester); };
  });
  if (hasFailed())
    return failure();
  shareEqualUnits();
  llvm::erase_if(order, [&](size_t i) { return units[i].first != i; });
  if (options.cache)
    forEach(order, [&] { return [this](size_t index) { find(index); }; });
  llvm::erase_if(order, [&](size_t i) { return units[i].object != nullptr; });
  // Large units first: the last thread to finish decides the time.
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return units[a].operations > units[b].operations;
  });
  toCompile = order.size();
  if (options.progress)
    options.progress(0, toCompile);
  forEach(order, [&] {
    std::shared_ptr<KernelCompiler> compiler = backend.makeCompiler(context);
    return [this, compiler](size_t index) { compile(index, *compiler); };
  });
  if (hasFailed())
    return failure();
  return results();
}

FailureOr<std::vector<CompiledUnit>> codegen::compileUnits(
    MLIRContext &context, Location loc, ArrayRef<UnitRequest> requests,
    const KernelBackend &backend, const compiler::CodegenOptions &options) {
  return Compilation(context, loc, requests, backend, options).run();
}

std::vector<const KernelObject *>
codegen::distinctObjects(ArrayRef<CompiledUnit> units) {
  std::vector<const KernelObject *> objects;
  llvm::DenseSet<const KernelObject *> seen;
  for (const CompiledUnit &unit : units)
    if (seen.insert(unit.object.get()).second)
      objects.push_back(unit.object.get());
  return objects;
}
