//===- KernelKinds.cpp - The catalogue of kernels -------------------------===//

#include "dialects/Exec/IR/KernelKinds.h"
#include "dialects/Exec/IR/KernelFamily.h"
#include "dialects/Exec/IR/WeightLayout.h"
#include "runtime/schema/SamplingWords.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// The families
//===----------------------------------------------------------------------===//

namespace {

struct Entry {
  const KernelKind *kind;
  /// Which buffers are updated in place.
  llvm::SmallVector<bool> updates;
};

} // namespace

/// Adds the kinds of a family by name.
static void addFamily(llvm::ArrayRef<KernelKind> family,
                      llvm::StringMap<Entry> &catalogue) {
  for (const KernelKind &kind : family) {
    Entry &entry = catalogue[kind.name];
    entry.kind = &kind;
    if (kind.isBuiltin())
      continue;
    ContractWriter writer(kind, DictionaryAttr());
    writer.describe();
    for (const BufferContract &buffer : writer.buffers())
      entry.updates.push_back(buffer.isWritten && !buffer.isResult);
  }
}

static const llvm::StringMap<Entry> &catalogue() {
  static const llvm::StringMap<Entry> entries = [] {
    llvm::StringMap<Entry> made;
    for (llvm::ArrayRef<KernelKind> family :
         {attentionKernels(), cacheKernels(), expertKernels(), productKernels(),
          rowKernels(), sampleKernels(), stateKernels()})
      addFamily(family, made);
    return made;
  }();
  return entries;
}

static const Entry *findEntry(llvm::StringRef kind) {
  auto found = catalogue().find(kind);
  return found == catalogue().end() ? nullptr : &found->second;
}

const KernelKind *mlir::exec::findKernelKind(llvm::StringRef name) {
  const Entry *entry = findEntry(name);
  return entry ? entry->kind : nullptr;
}

std::vector<llvm::StringRef> mlir::exec::allKernelKinds() {
  std::vector<llvm::StringRef> names;
  for (const auto &entry : catalogue())
    names.push_back(entry.getKey());
  llvm::sort(names);
  return names;
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

std::optional<KernelSignature>
mlir::exec::kernelSignature(llvm::StringRef kind, DictionaryAttr config) {
  if (kind == kControlKind) {
    int64_t outputs = configInt(config, "outputs");
    return KernelSignature{configInt(config, "reads") +
                               configInt(config, "updates") + outputs,
                           outputs, /*params=*/1};
  }
  const KernelKind *known = findKernelKind(kind);
  if (!known)
    return std::nullopt;
  if (known->isBuiltin())
    return known->builtin;
  ContractWriter writer(*known, config);
  writer.describe();
  int64_t outputs =
      llvm::count_if(writer.buffers(), [](const BufferContract &buffer) {
        return buffer.isResult;
      });
  return KernelSignature{int64_t(writer.buffers().size()), outputs,
                         known->params};
}

bool mlir::exec::updatesBuffer(llvm::StringRef kind, int64_t buffer) {
  const Entry *entry = findEntry(kind);
  return entry && buffer < int64_t(entry->updates.size()) &&
         entry->updates[buffer];
}

DictionaryAttr mlir::exec::addIndexLimits(llvm::StringRef kind,
                                          DictionaryAttr config,
                                          llvm::ArrayRef<Type> buffers) {
  const KernelKind *known = findKernelKind(kind);
  if (!known || known->isBuiltin())
    return config;
  NamedAttrList entries(config);
  ContractWriter writer(*known, config);
  writer.describe();
  for (IndexedBuffer indexed : writer.indexedBuffers()) {
    if (config.contains(indexed.key))
      continue;
    auto type = dyn_cast<ShapedType>(buffers[indexed.buffer]);
    if (type && type.getRank() > 0 && !type.isDynamicDim(0)) {
      entries.set(indexed.key,
                  IntegerAttr::get(IntegerType::get(config.getContext(), 64),
                                   type.getDimSize(0)));
    }
  }
  return entries.getDictionary(config.getContext());
}

//===----------------------------------------------------------------------===//
// Division of work
//===----------------------------------------------------------------------===//

bool mlir::exec::isRowLocal(llvm::StringRef kind) {
  const KernelKind *known = findKernelKind(kind);
  return known && known->division == Division::Rows;
}

bool mlir::exec::dividesByRow(llvm::StringRef kind) {
  const KernelKind *known = findKernelKind(kind);
  return known && (known->division == Division::Rows ||
                   known->division == Division::GatheredRows ||
                   known->division == Division::Slots);
}

TaskShape mlir::exec::taskShape(llvm::StringRef kind, DictionaryAttr config) {
  if (kind == kControlKind)
    return {1, 1};
  const KernelKind *known = findKernelKind(kind);
  if (!known || known->division == Division::RowStretches)
    return {0, 0}; // A builtin's, see kernelTasks.
  return known->division == Division::Other ? known->shape(config)
                                            : TaskShape{1, 1};
}

int64_t mlir::exec::kernelTasks(llvm::StringRef kind, DictionaryAttr config,
                                llvm::ArrayRef<int64_t> params) {
  const KernelKind *known = findKernelKind(kind);
  if (known && known->division == Division::RowStretches)
    return params[0] * ::mtp::sampleStretches(params[1]);
  TaskShape shape = taskShape(kind, config);
  if (shape.rowsPerGroup == 0)
    return shape.tasks;
  return (params[0] + shape.rowsPerGroup - 1) / shape.rowsPerGroup *
         shape.tasks;
}

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

int64_t mlir::exec::configInt(DictionaryAttr config, llvm::StringRef key) {
  Attribute value = config ? config.get(key) : Attribute();
  if (auto flag = llvm::dyn_cast_or_null<BoolAttr>(value))
    return flag.getValue();
  if (auto number = llvm::dyn_cast_or_null<IntegerAttr>(value))
    return number.getInt();
  return 0;
}

int64_t mlir::exec::configPanelWidth(DictionaryAttr config) {
  int64_t width = configInt(config, "panel");
  return width > 0 ? width : formatPanelWidth();
}

int64_t mlir::exec::configPanels(DictionaryAttr config, int64_t n) {
  return panelCount(n, configPanelWidth(config));
}
