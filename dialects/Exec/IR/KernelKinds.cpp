//===- KernelKinds.cpp - Queries on kernels -------------------------------===//

#include "dialects/Exec/IR/KernelKinds.h"
#include "dialects/Exec/IR/KernelFamily.h"
#include "runtime/schema/SamplingLayout.h"

using namespace mlir;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

/// Adds the name of a kind if the attribute is one.
template <typename AttrT>
static void addKind(std::vector<llvm::StringRef> &names) {
  if constexpr (requires { AttrT::kKind; })
    names.push_back(AttrT::kKind);
}

template <typename... AttrTs>
static std::vector<llvm::StringRef> kindsAmong() {
  std::vector<llvm::StringRef> names;
  (addKind<AttrTs>(names), ...);
  return names;
}

std::vector<llvm::StringRef> mlir::exec::allKernelKinds() {
  std::vector<llvm::StringRef> names = kindsAmong<
#define GET_ATTRDEF_LIST
#include "dialects/Exec/IR/ExecAttrs.cpp.inc"
      >();
  llvm::sort(names);
  return names;
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

/// Describes a kernel with a body: the types of its buffers are the types of
/// the body's arguments.
void ControlKernelAttr::describe(ContractWriter &w) const {
  for (int64_t i = 0; i < getReads() + getUpdates() + getOutputs(); ++i) {
    BufferContract &buffer = w.bytes(0);
    buffer.isWritten = i >= getReads();
    buffer.isResult = i >= getReads() + getUpdates();
  }
}

static llvm::SmallVector<BufferContract, 8>
buffersOf(KernelAttrInterface kernel) {
  ContractWriter writer;
  kernel.describe(writer);
  return llvm::SmallVector<BufferContract, 8>(writer.buffers());
}

KernelSignature mlir::exec::kernelSignature(KernelAttrInterface kernel) {
  auto buffers = buffersOf(kernel);
  int64_t outputs = llvm::count_if(
      buffers, [](const BufferContract &buffer) { return buffer.isResult; });
  return {int64_t(buffers.size()), outputs, kernel.getParamCount()};
}

bool mlir::exec::updatesBuffer(KernelAttrInterface kernel, int64_t buffer) {
  auto buffers = buffersOf(kernel);
  return buffer < int64_t(buffers.size()) && buffers[buffer].isWritten &&
         !buffers[buffer].isResult;
}

//===----------------------------------------------------------------------===//
// Division of work
//===----------------------------------------------------------------------===//

bool mlir::exec::isRowLocal(KernelAttrInterface kernel) {
  return kernel.getDivision() == Division::Rows;
}

bool mlir::exec::dividesByRow(KernelAttrInterface kernel) {
  Division division = kernel.getDivision();
  return division == Division::Rows || division == Division::GatheredRows ||
         division == Division::Slots;
}

TaskShape mlir::exec::taskShape(KernelAttrInterface kernel) {
  switch (kernel.getDivision()) {
  case Division::Other:
    return kernel.getTasks();
  case Division::RowStretches:
    return {0, 0}; // a builtin; see kernelTasks
  case Division::Rows:
  case Division::GatheredRows:
  case Division::Slots:
    return {1, 1};
  }
  llvm_unreachable("unknown division");
}

int64_t mlir::exec::kernelTasks(KernelAttrInterface kernel,
                                llvm::ArrayRef<int64_t> params) {
  if (kernel.getDivision() == Division::RowStretches)
    return params[0] * ::mtp::sampleStretches(params[1]);
  TaskShape shape = taskShape(kernel);
  if (shape.rowsPerGroup == 0)
    return shape.tasks;
  return (params[0] + shape.rowsPerGroup - 1) / shape.rowsPerGroup *
         shape.tasks;
}

//===----------------------------------------------------------------------===//
// Rules that several kinds share
//===----------------------------------------------------------------------===//

LogicalResult mlir::exec::verifyLeast(KernelErrorFn emitError,
                                      llvm::StringRef name, int64_t value,
                                      int64_t least) {
  if (value >= least)
    return success();
  return emitError() << "expected " << name << " of at least " << least
                     << ", got " << value;
}

LogicalResult mlir::exec::verifyEntries(KernelErrorFn emitError,
                                        const CacheEntries &cache) {
  if (!isCacheElement(cache.element))
    return emitError() << "expected a dtype of f32, bf16 or i8, got "
                       << cache.element;
  if (cache.width % cache.heads != 0)
    return emitError() << "expected entry_width to be a multiple of "
                          "cache_heads "
                       << cache.heads << ", got " << cache.width;
  if (!hasScaleRoom(cache.element, cache.width / cache.heads))
    return emitError() << "expected entry_width to give each head a multiple "
                          "of four above "
                       << ::mtp::kEntryScaleBytes << " of i8, got "
                       << cache.width / cache.heads;
  return success();
}

LogicalResult mlir::exec::verifyEntryHeads(KernelErrorFn emitError,
                                           const CacheEntries &cache,
                                           int64_t heads,
                                           llvm::StringRef name) {
  if (cache.heads == heads || (cache.heads == 1 && !hasScales(cache.element)))
    return success();
  if (hasScales(cache.element))
    return emitError() << "expected cache_heads of i8 to be " << name << " "
                       << heads << ", got " << cache.heads;
  return emitError() << "expected cache_heads to be 1 or " << name << " "
                     << heads << ", got " << cache.heads;
}

LogicalResult mlir::exec::verifyInEntry(KernelErrorFn emitError,
                                        const CacheEntries &cache,
                                        int64_t offset, int64_t width,
                                        llvm::StringRef offsetName,
                                        llvm::StringRef widthName) {
  if (offset + width > cache.columns())
    return emitError() << "expected " << offsetName << " + " << widthName
                       << " to be at most "
                       << (hasScales(cache.element) ? "the columns of "
                                                    : "entry_width ")
                       << cache.columns() << ", got " << offset + width;
  for (auto [name, value] :
       {std::pair(offsetName, offset), std::pair(widthName, width)})
    if (value % cache.heads != 0)
      return emitError() << "expected " << name
                         << " to be a multiple of cache_heads " << cache.heads
                         << ", got " << value;
  return success();
}

LogicalResult mlir::exec::verifyRotated(KernelErrorFn emitError,
                                        RotationAttr rotation, int64_t width,
                                        llvm::StringRef name) {
  int64_t end = rotation.getOffset() + rotation.getDim();
  if (end <= width)
    return success();
  return emitError() << "expected the rotation's offset + dim to be at most "
                     << name << " " << width << ", got " << end;
}

LogicalResult mlir::exec::verifyFragments(KernelErrorFn emitError,
                                          FormatAttr format, int64_t k,
                                          bool fragments) {
  if (!fragments || format.getFormat().canBeInFragments(k))
    return success();
  return emitError() << "expected a format of bf16, or a group of 32, 64 or "
                        "128, and k to be a multiple of "
                     << ::mtp::FragmentOrder::kInputs << " for fragments, got "
                     << format << " and " << k;
}
