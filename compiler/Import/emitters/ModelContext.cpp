//===- ModelContext.cpp - Types and prefixes ------------------------------===//

#include "compiler/Import/emitters/ModelEmitter.h"

namespace mtp::importer {

using mlir::RankedTensorType;
using mlir::ShapedType;

mlir::Type ModelContext::vector(mlir::Type element) {
  return RankedTensorType::get({ShapedType::kDynamic}, element);
}

mlir::Type ModelContext::grid() {
  return RankedTensorType::get({ShapedType::kDynamic, ShapedType::kDynamic},
                               builder.getI32Type());
}

mlir::Type ModelContext::activation(int64_t width) {
  return RankedTensorType::get({ShapedType::kDynamic, width},
                               builder.getF32Type());
}

mlir::Type ModelContext::rows() {
  return mlir::mtp::RowsType::get(builder.getContext());
}

mlir::Location ModelContext::name(llvm::StringRef text) {
  return mlir::NameLoc::get(builder.getStringAttr(text));
}

mlir::Type ModelContext::handedOn() {
  size_t taps = draft.folder ? draft.folder->eagle.taps.size() : 0;
  return activation(config.hidden * int64_t(std::max<size_t>(taps, 1)));
}

std::string ModelContext::prefixOf(size_t layer) const {
  return layerPrefixes.empty() ? layerPrefix(config, int64_t(layer))
                               : layerPrefixes[layer];
}

std::vector<std::string>
ModelContext::prefixesOf(llvm::function_ref<bool(LayerKind)> matches) const {
  std::vector<std::string> prefixes;
  for (size_t i = 0; i < config.layers.size(); ++i)
    if (matches(config.layers[i]))
      prefixes.push_back(root + prefixOf(i));
  for (int64_t d = 0; d < draft.modules; ++d)
    if (matches(config.drafterLayer))
      prefixes.push_back(moduleLayerPrefix(config, d));
  return prefixes;
}

} // namespace mtp::importer
