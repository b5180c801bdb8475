//===- KernelContract.cpp - What a kernel may touch -----------------------===//

#include "dialects/Exec/IR/KernelContract.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelFamily.h"
#include "runtime/schema/QuantizedPanel.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// Extent
//===----------------------------------------------------------------------===//

Extent::Extent(int64_t constant) {
  if (constant != 0)
    sum.push_back({constant});
}

Extent Extent::param(int index) {
  Extent extent;
  extent.sum.push_back({1, index});
  return extent;
}

void Extent::add(Term term) {
  for (Term &other : sum) {
    if (other.first == term.first && other.second == term.second) {
      overflowed |=
          __builtin_add_overflow(other.factor, term.factor, &other.factor);
      return;
    }
  }
  sum.push_back(term);
}

Extent mlir::exec::operator+(const Extent &a, const Extent &b) {
  Extent result = a;
  result.overflowed |= b.overflowed;
  for (Extent::Term term : b.sum)
    result.add(term);
  return result;
}

Extent mlir::exec::operator-(const Extent &a, const Extent &b) {
  return a + b * Extent(-1);
}

Extent mlir::exec::operator*(const Extent &a, const Extent &b) {
  Extent result;
  result.overflowed = a.overflowed || b.overflowed;
  for (Extent::Term left : a.sum) {
    for (Extent::Term right : b.sum) {
      assert((left.second < 0 || right.first < 0) &&
             (right.second < 0 || left.first < 0) &&
             "expected products of at most two params");
      SmallVector<int, 4> params;
      for (int param : {left.first, left.second, right.first, right.second})
        if (param >= 0)
          params.push_back(param);
      llvm::sort(params);
      params.resize(2, -1);
      Extent::Term term{0, params[0], params[1]};
      result.overflowed |=
          __builtin_mul_overflow(left.factor, right.factor, &term.factor);
      result.add(term);
    }
  }
  return result;
}

std::optional<int64_t> Extent::evaluate(llvm::ArrayRef<int64_t> params) const {
  int64_t total = 0;
  bool failed = overflowed;
  for (Term term : sum) {
    int64_t value = term.factor;
    for (int param : {term.first, term.second})
      if (param >= 0)
        failed |= __builtin_mul_overflow(value, params[param], &value);
    failed |= __builtin_add_overflow(total, value, &total);
  }
  return failed ? std::nullopt : std::optional(total);
}

std::string CacheEntries::describe() const {
  return ("page " + llvm::Twine(page) + ", entry " + llvm::Twine(width) +
          ", heads " + llvm::Twine(heads) + ", " + (isBF16 ? "bf16" : "f32"))
      .str();
}

//===----------------------------------------------------------------------===//
// ContractWriter
//===----------------------------------------------------------------------===//

int64_t ContractWriter::get(llvm::StringRef key, int64_t absent) const {
  return config && config.contains(key) ? configInt(config, key) : absent;
}

llvm::StringRef ContractWriter::text(llvm::StringRef key) const {
  auto value = config ? config.getAs<StringAttr>(key) : StringAttr();
  return value ? value.getValue() : llvm::StringRef();
}

int64_t ContractWriter::need(llvm::StringRef key) {
  int64_t value = configInt(config, key);
  if (value < 1 && contract.error.empty()) {
    contract.error = ("expected config key '" + key +
                      "' of at least 1 for kind '" + kind.name + "'")
                         .str();
  }
  return value;
}

int64_t ContractWriter::needIndexed(llvm::StringRef key) {
  indexed.push_back({key, contract.buffers.size()});
  return need(key);
}

int64_t ContractWriter::panelBytes(int64_t k) const {
  llvm::StringRef dtype = text("dtype");
  if (dtype == "int8" || dtype == "int4") {
    int64_t group = std::max<int64_t>(configInt(config, "group"), 1);
    return ::mtp::QuantizedPanel{dtype == "int8" ? 8 : 4, group, k}.bytes();
  }
  return configPanelWidth(config) * (dtype == "bf16" ? (k + 1) / 2 * 4 : k * 4);
}

void ContractWriter::weight(int64_t k, int64_t n, int64_t stack, bool gated) {
  int64_t panels =
      gated ? 2 * configPanels(config, n / 2) : configPanels(config, n);
  bytes(Extent(panelBytes(k)) * panels * stack);
}

void ContractWriter::table(int64_t width, int64_t count) {
  llvm::StringRef dtype = text("dtype");
  int64_t row = panelBytes(width) / configPanelWidth(config);
  bytes(Extent(dtype == "bf16" ? width * 2 : row) * count);
}

void ContractWriter::angles(int64_t dim) {
  words(Extent(needIndexed("positions")) * dim);
  words(p0);
}

void ContractWriter::pageTable() {
  words(p1 * needIndexed("slots")).isPageTable = true;
  limit(1, 1, kMostParam);
}

BufferContract &ContractWriter::pages(int64_t entryWidth) {
  BufferContract &layer = bytes(0);
  layer.entries = {need("page"), entryWidth, get("cache_heads", 1),
                   text("dtype") == "bf16"};
  return layer;
}

BufferContract &ContractWriter::cache(int64_t entryWidth) {
  words(p0); // slots
  words(p0); // positions
  pageTable();
  return pages(entryWidth);
}

KernelContract ContractWriter::finish() {
  describe();
  for (auto [i, buffer] : llvm::enumerate(contract.buffers)) {
    if (buffer.bytes.hasOverflowed() && contract.error.empty()) {
      contract.error = ("the bytes of buffer " + llvm::Twine(i) + " of kind '" +
                        kind.name + "' do not fit 64 bits")
                           .str();
    }
  }
  for (int param = 0; param < kind.params; ++param) {
    auto found = limits.find(param);
    contract.params.push_back(found == limits.end() ? ParamRange{1, kMostParam}
                                                    : found->second);
  }
  contract.tasks = taskShape(kind.name, config);
  return contract;
}

std::optional<KernelContract>
mlir::exec::kernelContract(llvm::StringRef kind, DictionaryAttr config) {
  const KernelKind *known = findKernelKind(kind);
  if (!known || known->isBuiltin())
    return std::nullopt;
  return ContractWriter(*known, config).finish();
}

/// Of each buffer all of it, or the rows of the tasks: a body's indices stay
/// within the extents of its buffers (`verifyControlKernel`).
static KernelContract controlContract(KernelOp kernel) {
  KernelContract contract;
  int64_t reads = configInt(kernel.getConfig(), "reads");
  for (auto [i, argument] : llvm::enumerate(kernel.getBuffers())) {
    auto type = cast<MemRefType>(argument.getType());
    int64_t bytes = type.getElementTypeBitWidth() / 8;
    BufferContract buffer;
    buffer.alignment = bytes;
    buffer.isWritten = int64_t(i) >= reads;
    bool hasRows = !type.hasStaticShape();
    Extent total = bytes;
    for (int64_t dim : type.getShape().drop_front(hasRows))
      total = total * Extent(dim);
    buffer.bytes = hasRows ? Extent::param(0) * total : total;
    if (buffer.bytes.hasOverflowed())
      contract.error =
          ("the bytes of buffer " + llvm::Twine(i) + " do not fit 64 bits")
              .str();
    contract.buffers.push_back(buffer);
  }
  contract.params = {{1, kMostParam}};
  contract.tasks = taskShape(kControlKind, kernel.getConfig());
  return contract;
}

std::optional<KernelContract> mlir::exec::kernelContract(KernelOp kernel) {
  return kernel.hasBody()
             ? controlContract(kernel)
             : kernelContract(kernel.getKind(), kernel.getConfig());
}
