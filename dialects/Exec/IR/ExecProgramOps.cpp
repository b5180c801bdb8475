//===- ExecProgramOps.cpp - Verifiers of programs and what they do --------===//

#include "dialects/Exec/IR/ControlKernel.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelContract.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::exec;

void ProgramOp::build(OpBuilder &builder, OperationState &state,
                      llvm::StringRef name, llvm::StringRef kind, int64_t batch,
                      int64_t k, int64_t chunk) {
  state.addAttribute("sym_name", builder.getStringAttr(name));
  state.addAttribute("kind", builder.getStringAttr(kind));
  state.addAttribute("batch", builder.getI64IntegerAttr(batch));
  state.addAttribute("k", builder.getI64IntegerAttr(k));
  state.addAttribute("chunk", builder.getI64IntegerAttr(chunk));
  state.addRegion()->emplaceBlock();
}

LogicalResult ProgramOp::verify() {
  int64_t batch = getBatch(), k = getK(), chunk = getChunk();
  bool fits;
  llvm::StringRef wanted;
  if (getKind() == "decode") {
    fits = batch >= 1 && k >= 0 && chunk == 0;
    wanted = "batch >= 1, k >= 0 and chunk 0";
  } else if (getKind() == "prefill") {
    fits = batch == 1 && k >= 0 && chunk >= 1;
    wanted = "batch 1, k >= 0 and chunk >= 1";
  } else if (getKind() == "function") {
    fits = batch == 0 && k == 0 && chunk == 0;
    wanted = "batch 0, k 0 and chunk 0";
  } else { // C1
    return emitOpError("expected kind decode, prefill or function, got '")
           << getKind() << "'";
  }
  if (!fits) { // C2
    return emitOpError("expected ")
           << wanted << " for kind " << getKind() << ", got " << batch << ", "
           << k << " and " << chunk;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// RefOp
//===----------------------------------------------------------------------===//

/// The type of a reference to `resource`; null for an op that is none. Whoever
/// packs a weight knows its shape, so that any static one will do.
static Type resourceType(Operation *resource, MemRefType type) {
  MLIRContext *context = resource->getContext();
  return llvm::TypeSwitch<Operation *, Type>(resource)
      .Case([](StateOp op) { return op.getType(); })
      .Case([&](WeightOp op) -> Type {
        Type element =
            op.isQuantized() ? IntegerType::get(context, 8) : op.getDtype();
        return MemRefType::get(type.hasStaticShape()
                                   ? type.getShape()
                                   : llvm::ArrayRef<int64_t>(1),
                               element);
      })
      .Case([&](RopeTableOp op) {
        return MemRefType::get(
            {int64_t(op.getPositions()), int64_t(op.getRope().getDim())},
            Float32Type::get(context));
      })
      .Case([](ConstantOp op) {
        ShapedType value = op.getValue().getShapedType();
        return MemRefType::get(value.getShape(), value.getElementType());
      })
      .Case([](CacheOp op) {
        return MemRefType::get({ShapedType::kDynamic, int64_t(op.getPage()),
                                int64_t(op.getEntry())},
                               op.getDtype());
      })
      .Default(Type());
}

/// Whether `type` is `whole`, or the first of a state's numbers.
static bool isFirstOf(MemRefType type, Type whole, Operation *resource) {
  auto all = cast<MemRefType>(whole);
  if (!isa<StateOp>(resource) || all.getRank() != 1 || type.getRank() != 1)
    return type == all;
  return type.getElementType() == all.getElementType() &&
         type.hasStaticShape() && type.getDimSize(0) >= 1 &&
         type.getDimSize(0) <= all.getDimSize(0);
}

LogicalResult RefOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *resource =
      symbols.lookupNearestSymbolFrom(*this, getResourceAttr());
  auto type = cast<MemRefType>(getType());
  Type wanted = resource ? resourceType(resource, type) : Type();
  if (!wanted) { // C1
    return emitOpError("expected a state, weight, table, constant or cache "
                       "named '")
           << getResource() << "', found none";
  }
  auto cache = dyn_cast<CacheOp>(resource);
  int64_t layers = cache ? int64_t(cache.getLayers()) : 1;
  int64_t layer = getLayer();
  if (layer < 0 || layer >= layers) { // C2
    return emitOpError("expected a layer below ")
           << layers << " of '" << getResource() << "', got " << layer;
  }
  if (getRow()) { // C5
    auto whole = cast<MemRefType>(wanted);
    int64_t row = *getRow();
    if (!isa<StateOp>(resource) || whole.getRank() < 2 || row < 0 ||
        row >= whole.getDimSize(0)) {
      return emitOpError("expected a row of a state, got row ")
             << row << " of " << whole;
    }
    wanted =
        MemRefType::get(whole.getShape().drop_front(), whole.getElementType());
  }
  if (!isFirstOf(type, wanted, resource)) { // C3
    return emitOpError("expected ")
           << wanted << " for '" << getResource() << "', got " << type;
  }
  auto weight = dyn_cast<WeightOp>(resource);
  if (weight && bufferBytes(type) != weight.getPackedBytes()) { // C4
    return emitOpError("expected a buffer of ")
           << weight.getPackedBytes() << " bytes for '" << getResource()
           << "', got " << type;
  }
  return success();
}

int64_t RefOp::getRowOffset() {
  if (!getRow())
    return 0;
  auto state =
      SymbolTable::lookupNearestSymbolFrom<StateOp>(*this, getResourceAttr());
  auto whole = cast<MemRefType>(state.getType());
  return int64_t(*getRow()) * (*bufferBytes(whole) / whole.getDimSize(0));
}

//===----------------------------------------------------------------------===//
// InputOp and OutputOp
//===----------------------------------------------------------------------===//

/// Whether the artifact has a number for the type.
static bool isStoredElement(Type element) {
  return element.isF32() || element.isBF16() || element.isSignlessInteger(8) ||
         element.isSignlessInteger(32) || element.isSignlessInteger(64);
}

static bool isStaticTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() &&
         isStoredElement(tensor.getElementType());
}

/// A tensor, or a buffer, which may be a cache's.
static bool isTensorOrBuffer(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && isa<RankedTensorType, MemRefType>(type) &&
         isStoredElement(shaped.getElementType());
}

LogicalResult InputOp::verify() {
  if (!isStaticTensor(getResult().getType())) { // C1
    return emitOpError("expected a static tensor of f32, bf16, i8, i32 or i64, "
                       "got ")
           << getResult().getType();
  }
  return success();
}

LogicalResult OutputOp::verify() {
  Type type = getValue().getType();
  if (!isTensorOrBuffer(type) || !cast<ShapedType>(type).hasStaticShape()) {
    return emitOpError("expected a static tensor or buffer of f32, bf16, i8, "
                       "i32 or i64, got ") // C1
           << type;
  }
  if (getValue().getDefiningOp<ColumnsOp>()) // C2
    return emitOpError("expected a value that is no view, got ") << getValue();
  return success();
}

//===----------------------------------------------------------------------===//
// AllocOp and DispatchOp
//===----------------------------------------------------------------------===//

LogicalResult AllocOp::verify() {
  auto type = cast<MemRefType>(getType());
  if (!bufferBytes(type)) { // C1
    return emitOpError("expected a static buffer whose bytes fit 63 bits, got ")
           << type;
  }
  return success();
}

LogicalResult DispatchOp::verify() {
  if (getOffsets().size() != getBuffers().size()) { // C1
    return emitOpError("expected one offset per buffer, got ")
           << getOffsets().size() << " for " << getBuffers().size();
  }
  for (auto [buffer, offset] : llvm::zip(getBuffers(), getOffsets())) { // C3
    auto type = cast<MemRefType>(buffer.getType());
    int64_t end = type.hasStaticShape() ? type.getNumElements() : 1;
    if (offset < 0 || offset >= end) {
      return emitOpError("expected an offset below ")
             << end << " into " << type << ", got " << offset;
    }
  }
  return success();
}

/// Checks that a kernel takes the entries of each cache for what they are, and
/// takes nothing else for a cache.
static LogicalResult verifyCaches(DispatchOp dispatch, KernelOp kernel,
                                  SymbolTableCollection &symbols) {
  std::optional<KernelContract> contract = kernelContract(kernel);
  if (!contract)
    return success();
  for (auto [i, buffer, given] :
       llvm::enumerate(contract->buffers, dispatch.getBuffers())) {
    auto ref = given.getDefiningOp<RefOp>();
    auto cache = ref ? symbols.lookupNearestSymbolFrom<CacheOp>(
                           dispatch, ref.getResourceAttr())
                     : CacheOp();
    if (bool(cache) != buffer.entries.has_value()) { // C5
      return dispatch.emitOpError("expected buffer ")
             << i << " of kind '" << kernel.getKind() << "' to be "
             << (cache ? "no cache" : "a cache") << ", got " << given.getType();
    }
    if (!cache)
      continue;
    CacheEntries want = *buffer.entries;
    CacheEntries got{int64_t(cache.getPage()), int64_t(cache.getEntry()),
                     int64_t(cache.getHeads()), cache.getDtype().isBF16()};
    if (want != got) {
      return dispatch.emitOpError("expected a cache of ")
             << want.describe() << " for kernel '" << kernel.getSymName()
             << "', got " << got.describe() << " of '" << cache.getSymName()
             << "'";
    }
  }
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr()); // C2
  if (!kernel) {
    return emitOpError("expected an exec.kernel named '")
           << getKernel() << "', found none";
  }
  std::optional<KernelSignature> signature =
      kernelSignature(kernel.getKind(), kernel.getConfig());
  if (!signature || int64_t(getBuffers().size()) != signature->buffers ||
      int64_t(getParams().size()) != signature->params ||
      int64_t(getOutputs()) != signature->outputs) {
    return emitOpError("expected the buffers, params and outputs of kind '")
           << kernel.getKind() << "', got " << getBuffers().size()
           << " buffers, " << getParams().size() << " params and "
           << getOutputs() << " outputs";
  }
  int64_t tasks =
      kernelTasks(kernel.getKind(), kernel.getConfig(), getParams());
  if (tasks < 0 || int64_t(getTasks()) != tasks) { // C4
    return emitOpError("expected ")
           << std::max<int64_t>(tasks, 0) << " tasks of kind '"
           << kernel.getKind() << "' for these params, got "
           << int64_t(getTasks());
  }
  if (kernel.hasBody() &&
      failed(verifyBufferTypes(*this, kernel, getBuffers().getTypes(),
                               getParams().front()))) { // C6
    return failure();
  }
  return verifyCaches(*this, kernel, symbols);
}
