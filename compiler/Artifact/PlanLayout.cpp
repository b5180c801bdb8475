//===- PlanLayout.cpp - Blobs of a plan and their sizes -------------------===//

#include "compiler/Artifact/PlanLayout.h"
#include "dialects/Exec/IR/InputNorm.h"
#include "dialects/MTP/IR/MTPAttrs.h"
#include "runtime/schema/ArtifactFormat.h"
#include "runtime/schema/BlobFormat.h"

using namespace mtp;
using namespace mtp::compiler;
using namespace mlir;

schema::DType compiler::dtypeOf(Type type) {
  if (type.isBF16())
    return schema::DType::BF16;
  if (type.isF32())
    return schema::DType::F32;
  if (type.isInteger(8))
    return schema::DType::I8;
  return type.isInteger(64) ? schema::DType::I64 : schema::DType::I32;
}

/// Returns the bytes of a static buffer.
static uint64_t bufferBytes(MemRefType type) {
  return *exec::bufferBytes(type); // verified by the dialect
}

exec::Count compiler::arenaBytes(exec::ProgramOp program) {
  // For each alloc, counts the fixed and the growing part. If any part grows, n
  // is at least 1.
  exec::Count end;
  for (auto alloc : program.getBody().getOps<exec::AllocOp>()) {
    exec::Count offset = alloc.getOffsetAttr().getCount();
    exec::Count bytes = *exec::bufferBytes(alloc.getResult());
    if (!bytes.isFixed())
      bytes = {0, std::max<int64_t>(bytes.base, 0) + bytes.step};
    end.base = std::max(end.base, offset.base + bytes.base);
    end.step = std::max(end.step, offset.step + bytes.step);
  }
  return end;
}

/// Returns the rows that a weight picks; empty if it has all rows.
static std::vector<int32_t> picksOf(exec::WeightOp weight) {
  if (!weight.getPicks())
    return {};
  auto constant = SymbolTable::lookupNearestSymbolFrom<exec::ConstantOp>(
      weight, weight.getPicksAttr());
  auto values =
      cast<DenseElementsAttr>(constant.getValue()).getValues<int32_t>();
  return {values.begin(), values.end()};
}

FailureOr<WeightRecipe> compiler::recipeOf(exec::WeightOp weight) {
  WeightRecipe recipe;
  recipe.name = weight.getSymName().str();
  Attribute layout = weight.getLayout();
  if (auto panels = dyn_cast<exec::PanelsAttr>(layout)) {
    recipe.layout = WeightLayout::Panels;
    recipe.panelWidth = panels.getWidth();
    recipe.fragments = panels.getFragments();
  } else if (auto gated = dyn_cast<exec::GatedPanelsAttr>(layout)) {
    recipe.layout = WeightLayout::GatedPanels;
    recipe.panelWidth = gated.getWidth();
    recipe.fragments = gated.getFragments();
  } else if (!isa<exec::RawLayoutAttr>(layout)) {
    return weight.emitOpError("has a layout that cannot be packed: ") << layout;
  }
  recipe.format = weight.getFormat().getFormat();
  recipe.k = weight.getK();
  recipe.n = weight.getN();
  recipe.count = weight.getStack();
  if (auto norm = weight->getAttrOfType<StringAttr>(exec::kInputNormAttr))
    recipe.norm = norm.str();
  if (auto offset = weight->getAttrOfType<IntegerAttr>(exec::kNormOffsetAttr))
    recipe.normOffset = offset.getInt();
  recipe.isHead = weight->hasAttr(exec::kHeadAttr);
  for (auto entry : weight.getSources().getAsRange<exec::SourceAttr>()) {
    WeightSource source;
    source.keyPattern = entry.getTensor();
    source.rowBegin = entry.getRowBegin();
    source.rowEnd = entry.getRowEnd();
    source.colBegin = entry.getColBegin();
    source.colEnd = entry.getColEnd();
    source.headStride = entry.getRowStride();
    if (DenseI64ArrayAttr shape = entry.getShape())
      source.shape = shape.asArrayRef().vec();
    source.transpose = entry.getTranspose();
    source.picks = picksOf(weight);
    recipe.sources.push_back(std::move(source));
  }
  if (Status status = verifyRecipe(recipe); !status.isOk())
    return weight.emitOpError("cannot be packed: ") << status.message();
  return recipe;
}

uint64_t compiler::blobOffset(uint64_t end) {
  return alignTo(end, kBufferAlignment);
}

/// Appends a blob after the `end` bytes of earlier blobs.
static LogicalResult append(std::vector<BlobLayout> &blobs, BlobLayout blob,
                            uint64_t &end) {
  // Leaves room for alignment and for the sum of all segments.
  constexpr uint64_t kMostBytes = uint64_t(1) << 60;
  if (blob.size > kMostBytes || end > kMostBytes - blob.size) {
    return blob.op->emitOpError("expected weights and constants of at most "
                                "2^60 bytes each, got ")
           << blob.size << " more than " << end;
  }
  end = blobOffset(end) + blob.size;
  blobs.push_back(std::move(blob));
  return success();
}

/// Returns the shape of the packed form, whose bytes are exactly the packed
/// bytes.
static std::vector<uint64_t> packedShape(const WeightRecipe &recipe) {
  uint64_t bytes = packedBytes(recipe);
  if (!recipe.format.isQuantized())
    return {bytes / recipe.format.elementBytes()};
  uint64_t unit = recipe.layout == WeightLayout::Raw
                      ? recipe.format.rowBytes(recipe.k)
                      : panelBytes(recipe);
  return {bytes / unit, unit};
}

static LogicalResult addWeight(PlanLayout &layout, exec::WeightOp weight) {
  FailureOr<WeightRecipe> recipe = recipeOf(weight);
  if (failed(recipe))
    return failure();
  layout.weightIndex[weight.getSymName()] = layout.weights.size();
  const WeightFormat &format = recipe->format;
  StoredFormat stored =
      storedFormatOf(format.elements, recipe->layout == WeightLayout::Raw);
  if (failed(append(layout.weights,
                    {recipe->name, weight, stored.dtype, packedShape(*recipe),
                     static_cast<uint64_t>(packedBytes(*recipe)), stored.format,
                     format.group, format.isQuantized() ? recipe->k : 0,
                     format.scales, format.hasOffset},
                    layout.weightBytes))) {
    return failure();
  }
  layout.recipes.push_back(std::move(*recipe));
  return success();
}

static LogicalResult addConstant(PlanLayout &layout, StringRef name,
                                 Operation *op, MemRefType type) {
  layout.constantIndex[name] = layout.constants.size();
  std::vector<uint64_t> shape(type.getShape().begin(), type.getShape().end());
  return append(layout.constants,
                {name.str(), op, dtypeOf(type.getElementType()), shape,
                 bufferBytes(type)},
                layout.constantBytes);
}

FailureOr<PlanLayout> PlanLayout::get(ModuleOp module) {
  PlanLayout layout;
  for (Operation &op : *module.getBody()) {
    if (auto weight = dyn_cast<exec::WeightOp>(op)) {
      if (failed(addWeight(layout, weight)))
        return failure();
    } else if (auto constant = dyn_cast<exec::ConstantOp>(op)) {
      ShapedType type = constant.getValue().getShapedType();
      if (failed(addConstant(
              layout, constant.getSymName(), constant,
              MemRefType::get(type.getShape(), type.getElementType())))) {
        return failure();
      }
    } else if (auto table = dyn_cast<exec::RopeTableOp>(op)) {
      mlir::mtp::RopeAttr rope = table.getRope();
      if (failed(addConstant(
              layout, table.getSymName(), table,
              MemRefType::get(
                  {int64_t(table.getPositions()), int64_t(rope.getDim())},
                  Float32Type::get(module.getContext()))))) {
        return failure();
      }
    } else if (auto state = dyn_cast<exec::StateOp>(op)) {
      layout.stateIndex[state.getSymName()] = layout.stateIndex.size();
    } else if (auto cache = dyn_cast<exec::CacheOp>(op)) {
      layout.cacheIndex[cache.getSymName()] = layout.cacheIndex.size();
    } else if (auto kernel = dyn_cast<exec::KernelOp>(op)) {
      layout.kernelIndex[kernel.getSymName()] = layout.kernelIndex.size();
    }
  }
  return layout;
}
