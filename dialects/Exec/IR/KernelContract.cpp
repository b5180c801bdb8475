//===- KernelContract.cpp - Bytes that a kernel accesses ------------------===//

#include "dialects/Exec/IR/KernelContract.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelFamily.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <tuple>

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

/// Returns the product of two terms, which together have at most two params.
static Extent::Term product(Extent::Term left, Extent::Term right,
                            bool &overflowed) {
  assert((left.second < 0 || right.first < 0) &&
         (right.second < 0 || left.first < 0) &&
         "expected products of at most two params");
  Extent::Term term = left.first < 0 ? right : left;
  if (left.first >= 0 && right.first >= 0)
    std::tie(term.first, term.second) = std::minmax(left.first, right.first);
  overflowed |= __builtin_mul_overflow(left.factor, right.factor, &term.factor);
  return term;
}

Extent mlir::exec::operator*(const Extent &a, const Extent &b) {
  Extent result;
  result.overflowed = a.overflowed || b.overflowed;
  for (Extent::Term left : a.sum)
    for (Extent::Term right : b.sum)
      result.add(product(left, right, result.overflowed));
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
  std::string text;
  llvm::raw_string_ostream(text) << "page " << page << ", entry " << width
                                 << ", heads " << heads << ", " << element;
  return text;
}

//===----------------------------------------------------------------------===//
// ContractWriter
//===----------------------------------------------------------------------===//

int64_t ContractWriter::limitOf(llvm::StringRef name, int64_t rows) {
  if (rows < 1 && contract.error.empty())
    contract.error = ("expected " + name + " of at least 1").str();
  return rows;
}

void ContractWriter::weight(FormatAttr format, int64_t width, int64_t k,
                            int64_t n, int64_t stack, bool gated) {
  int64_t panels = gated ? 2 * panelCount(n / 2, width) : panelCount(n, width);
  bytes(Extent(format.getFormat().panelBytes(k, width)) * panels * stack);
}

void ContractWriter::angles(RotationAttr rotation, int64_t positions) {
  words(Extent(limitOf("positions", positions)) * rotation.getDim());
  words(p0);
}

void ContractWriter::pageTable(int64_t slots) {
  words(p1 * limitOf("slots", slots)).isPageTable = true;
  limit(1, 1, kMostParam);
}

BufferContract &ContractWriter::pages(CacheEntries entries) {
  BufferContract &layer = bytes(0);
  layer.entries = entries;
  return layer;
}

BufferContract &ContractWriter::cache(CacheEntries entries, int64_t slots) {
  words(p0); // slots
  words(p0); // positions
  pageTable(slots);
  return pages(entries);
}

void ContractWriter::builtin(int64_t buffers, int64_t outputs) {
  for (int64_t i = 0; i < buffers; ++i)
    if (BufferContract &buffer = bytes(0); i >= buffers - outputs)
      buffer.result();
}

KernelContract ContractWriter::write(KernelAttrInterface kernel) {
  kernel.describe(*this);
  for (auto [i, buffer] : llvm::enumerate(contract.buffers))
    if (buffer.bytes.hasOverflowed() && contract.error.empty())
      contract.error =
          ("the bytes of buffer " + llvm::Twine(i) + " do not fit 64 bits")
              .str();
  if (!contract.error.empty())
    contract.error += (" for kind '" + kernel.getKind() + "'").str();
  for (int param = 0; param < kernel.getParamCount(); ++param) {
    auto found = limits.find(param);
    contract.params.push_back(found == limits.end() ? ParamRange{1, kMostParam}
                                                    : found->second);
  }
  contract.tasks = taskShape(kernel);
  return contract;
}

std::optional<KernelContract>
mlir::exec::kernelContract(KernelAttrInterface kernel) {
  if (kernel.isBuiltin())
    return std::nullopt;
  return ContractWriter().write(kernel);
}

/// Returns the contract of a kernel with a body. It covers each whole buffer,
/// or the rows of the tasks. The body's indices stay within the extents of the
/// buffers (`verifyControlKernel`).
static KernelContract controlContract(KernelOp kernel) {
  KernelContract contract;
  int64_t reads = cast<ControlKernelAttr>(kernel.getKernel()).getReads();
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
  contract.tasks = taskShape(kernel.getKernel());
  return contract;
}

std::optional<KernelContract> mlir::exec::kernelContract(KernelOp kernel) {
  return kernel.hasBody() ? controlContract(kernel)
                          : kernelContract(kernel.getKernel());
}
