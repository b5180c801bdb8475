//===- KernelCatalogue.cpp - Kinds of kernels and their keys --------------===//

#include "compiler/Codegen/KernelCatalogue.h"

#include "llvm/ADT/StringMap.h"

using namespace mtp::codegen;
using namespace mlir;

namespace {
struct Entry {
  const KernelKind *kind;
  const RowKernel *row;
};
using Catalogue = llvm::StringMap<Entry>;
} // namespace

static Catalogue makeCatalogue() {
  Catalogue catalogue;
  for (ArrayRef<RowKernel> family :
       {argmaxKernels(), cacheKernels(), elementwiseKernels(),
        embeddingKernels(), expertRowKernels(), moeRouteKernels(),
        normKernels(), ropeAppendKernels(), ropeKernels(), stateRowsKernels()})
    for (const RowKernel &kernel : family)
      catalogue[kernel.kind.name] = {&kernel.kind, &kernel};
  for (ArrayRef<KernelKind> family :
       {attentionKinds(), productKinds(), sampleKinds()})
    for (const KernelKind &kind : family)
      catalogue[kind.name] = {&kind, nullptr};
  return catalogue;
}

static const Catalogue &catalogue() {
  static const Catalogue kinds = makeCatalogue();
  return kinds;
}

std::vector<StringRef> mtp::codegen::kernelKinds() {
  std::vector<StringRef> names;
  for (const auto &entry : catalogue())
    names.push_back(entry.getKey());
  llvm::sort(names);
  return names;
}

const KernelKind *mtp::codegen::findKind(StringRef name) {
  return catalogue().lookup(name).kind;
}

const RowKernel *mtp::codegen::findRowKernel(StringRef name) {
  return catalogue().lookup(name).row;
}

FailureOr<KernelConfig> mtp::codegen::resolveConfig(Location loc,
                                                    const KernelSpec &spec) {
  auto emitError = [&] {
    return mlir::emitError(loc)
           << "kernel '" << spec.symbol << "' of kind '" << spec.kind << "': ";
  };
  const KernelKind *kind = findKind(spec.kind);
  if (!kind)
    return emitError() << "unknown kernel kind";
  FailureOr<KernelConfig> config =
      KernelConfig::get(spec.config, kind->keys, emitError);
  if (failed(config) ||
      failed(verifyAtLeast(
          *config,
          {"width",   "k",           "n",       "vocab",      "heads",
           "groups",  "experts",     "top_k",   "inter",      "dim",
           "page",    "entry_width", "q_heads", "kv_heads",   "dk",
           "dv",      "a_width",     "b_width", "copy_width", "k_heads",
           "v_width", "head_stride", "parts",   "splits",     "cache_heads",
           "slots",   "positions",   "rows",    "block"},
          1, emitError)))
    return failure();
  if (kind->verify && failed(kind->verify(*config, emitError)))
    return failure();
  return config;
}

LogicalResult mtp::codegen::verifyKernel(Location loc, const KernelSpec &spec) {
  return spec.body ? success() : LogicalResult(resolveConfig(loc, spec));
}

LogicalResult mtp::codegen::verifyAtLeast(const KernelConfig &config,
                                          ArrayRef<StringRef> keys,
                                          int64_t least, EmitError emitError) {
  for (StringRef key : keys)
    if (config.integer(key, least) < least)
      return emitError() << "expected config key '" << key
                         << "' to be at least " << least << ", got "
                         << config.integer(key);
  return success();
}
