//===- ExecProgramOps.cpp - Verifiers of programs and their ops -----------===//

#include "dialects/Exec/IR/ControlKernel.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelContract.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// ProgramOp
//===----------------------------------------------------------------------===//

void ProgramOp::build(OpBuilder &builder, OperationState &state,
                      llvm::StringRef name, ProgramKind kind, int64_t k,
                      Points points) {
  state.addAttribute("sym_name", builder.getStringAttr(name));
  state.addAttribute("kind", ProgramKindAttr::get(builder.getContext(), kind));
  state.addAttribute("k", builder.getI64IntegerAttr(k));
  state.addAttribute("least", builder.getI64IntegerAttr(points.least));
  state.addAttribute("most", builder.getI64IntegerAttr(points.most));
  state.addRegion()->emplaceBlock();
}

/// Checks C4.
static LogicalResult verifySequences(ProgramOp program) {
  int64_t sequences = program.getSequences();
  std::optional<int64_t> prompts = program.getPrompts();
  if (program.getSequencesAttr() && program.getKind() != ProgramKind::Prefill &&
      !prompts)
    return program.emitOpError("expected sequences of a prefill or of prompts "
                               "alone, got a ")
           << stringifyEnum(program.getKind()) << " program of " << sequences;
  if (prompts && *prompts > 0 && (sequences < 1 || sequences > *prompts))
    return program.emitOpError("expected at least one prompt and a row of "
                               "each, got ")
           << sequences << " sequences and " << *prompts << " rows";
  int64_t most = program.getCatchUp() ? INT32_MAX : program.getLeast();
  if (program.getKind() == ProgramKind::Prefill &&
      (sequences < 1 || sequences > most))
    return program.emitOpError("expected at least one sequence and a row of "
                               "each, got ")
           << sequences << " sequences and n from " << program.getLeast()
           << " on";
  return success();
}

/// Checks C5 and C6: a number that only a decode has. `what` names the number
/// and `kind` the required program in the error.
static LogicalResult verifyOfDecode(ProgramOp program,
                                    std::optional<int64_t> number,
                                    llvm::StringRef kind,
                                    llvm::StringRef what) {
  if (!number)
    return success();
  if (program.getKind() != ProgramKind::Decode)
    return program.emitOpError("expected a decode program ")
           << kind << ", got a " << stringifyEnum(program.getKind())
           << " program";
  if (*number > 0 && *number <= INT32_MAX)
    return success();
  return program.emitOpError("expected 1 to 2^31 - 1 ")
         << what << ", got " << *number;
}

/// Checks C7.
static LogicalResult verifyCatchUp(ProgramOp program) {
  std::optional<int64_t> reach = program.getCatchUp();
  if (!reach)
    return success();
  if (program.getKind() != ProgramKind::Prefill || program.getK() == 0)
    return program.emitOpError("expected a prefill with k > 0 as a catch_up");
  if (*reach >= 1 && *reach <= INT32_MAX)
    return success();
  return program.emitOpError("expected a catch_up of 1 to 2^31 - 1 positions, "
                             "got ")
         << *reach;
}

LogicalResult ProgramOp::verify() {
  constexpr int64_t kMost = INT32_MAX;
  if (failed(verifyOfDecode(*this, getPositions(), "below positions",
                            "positions")) ||
      failed(verifyOfDecode(*this, getPrompts(), "with rows of prompts",
                            "rows of prompts")) ||
      failed(verifyCatchUp(*this)))
    return failure();
  int64_t k = getK();
  Points points = getPoints();
  bool isFunction = getKind() == ProgramKind::Function;
  bool isNumbered = k >= 0 && points.least >= 1 &&
                    points.least <= points.most && points.most <= kMost;
  bool isUnnumbered = k == 0 && points.least == 0 && points.most == 0;
  if (isFunction ? isUnnumbered : isNumbered) // C2
    return verifySequences(*this);
  return emitOpError("expected ")
         << (isFunction ? "k 0 and n 0" : "k >= 0 and n from 1 on")
         << " for kind " << stringifyEnum(getKind()) << ", got k " << k
         << " and n " << points.least << " to " << points.most;
}

/// Checks C3: schedules of the program, in order.
LogicalResult ProgramOp::verifyRegions() {
  size_t calls = llvm::count_if(getBody().front(), [](Operation &op) {
    return isa<DispatchOp, KernelOpInterface>(op);
  });
  int64_t next = getLeast();
  for (auto schedule : getBody().getOps<ScheduleOp>()) {
    int64_t begin = schedule.getBegin();
    bool isFirst = schedule == *getBody().getOps<ScheduleOp>().begin();
    if (isFirst ? begin != next : begin < next || begin > int64_t(getMost()))
      return schedule.emitOpError("expected a schedule from ")
             << next << (isFirst ? "" : " or more") << " on, got " << begin;
    if (schedule.getSteps().size() != calls)
      return schedule.emitOpError("expected a step for each of ")
             << calls << " calls, got " << schedule.getSteps().size();
    for (auto [i, step] : llvm::enumerate(schedule.getSteps()))
      if ((step & ~(ScheduleOp::kSolo | ScheduleOp::kJoined)) != 0 ||
          (i == 0 && schedule.isJoined(0)))
        return schedule.emitOpError("expected steps that are solo, joined, "
                                    "both or none, and a first one that is "
                                    "not joined, got ")
               << int64_t(step) << " as step " << i;
    next = begin + 1;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// RefOp
//===----------------------------------------------------------------------===//

/// Returns the type of a reference to `resource`; null if the op is no
/// resource. The packer of a weight knows its shape, so any static shape
/// passes.
static Type resourceType(Operation *resource, MemRefType type) {
  MLIRContext *context = resource->getContext();
  return llvm::TypeSwitch<Operation *, Type>(resource)
      .Case([](StateOp op) { return op.getType(); })
      .Case([&](WeightOp op) -> Type {
        return MemRefType::get(type.hasStaticShape()
                                   ? type.getShape()
                                   : llvm::ArrayRef<int64_t>(1),
                               op.getFormat().getBufferElement());
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

/// Returns whether `ref` is the whole resource, or the leading numbers of a
/// state.
static bool isFirstOf(RefOp ref, Type whole, Operation *resource) {
  auto type = cast<MemRefType>(ref.getType()), all = cast<MemRefType>(whole);
  bool isNumbers =
      isa<StateOp>(resource) && all.getRank() == 1 && type.getRank() == 1;
  if (!isNumbers)
    return type == all && !ref.getFirst();
  return type.getElementType() == all.getElementType() &&
         type.isDynamicDim(0) == ref.getFirst().has_value() &&
         isWithin(rowsOf(ref), pointsOf(ref), 1, all.getDimSize(0));
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
  if (!isFirstOf(*this, wanted, resource)) { // C3, C5
    InFlightDiagnostic diag = emitOpError("expected ")
                              << wanted << " for '" << getResource()
                              << "', got " << type;
    if (CountAttr first = getFirstAttr())
      diag << ", the first " << first.getCount();
    return diag;
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
// AwaitHostOp and OnRequestOp
//===----------------------------------------------------------------------===//

/// Returns whether the program has calls both before and after `op`.
static bool isBetweenCalls(Operation *op) {
  // Ops of other dialects become calls.
  auto isCall = [](Operation &other) {
    return isa<DispatchOp, KernelOpInterface>(other) ||
           !isa<ExecDialect>(other.getDialect());
  };
  Block &body = *op->getBlock();
  return std::any_of(body.begin(), op->getIterator(), isCall) &&
         std::any_of(op->getIterator(), body.end(), isCall);
}

LogicalResult AwaitHostOp::verify() {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  if (program.getKind() == ProgramKind::Decode && isBetweenCalls(*this) &&
      llvm::hasSingleElement(program.getBody().getOps<AwaitHostOp>()))
    return success(); // C1
  return emitOpError("expected once in a decode program, between two calls");
}

LogicalResult OnRequestOp::verify() {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  auto stops = program.getBody().getOps<AwaitHostOp>();
  bool isLast = llvm::all_of(
      stops, [&](AwaitHostOp stop) { return stop->isBeforeInBlock(*this); });
  if (program.getKind() != ProgramKind::Function && isBetweenCalls(*this) &&
      isLast && llvm::hasSingleElement(program.getBody().getOps<OnRequestOp>()))
    return success(); // C1
  return emitOpError("expected once in a decode or prefill program, between "
                     "two calls, after exec.await_host");
}

//===----------------------------------------------------------------------===//
// InputOp and OutputOp
//===----------------------------------------------------------------------===//

/// Returns whether the artifact has a number for the type.
static bool isStoredElement(Type element) {
  return element.isF32() || element.isBF16() || element.isSignlessInteger(8) ||
         element.isSignlessInteger(32) || element.isSignlessInteger(64);
}

static bool isStaticTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() &&
         isStoredElement(tensor.getElementType());
}

/// Returns whether `type` is a tensor or a buffer, which may be a cache's.
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
  bool hasExtents =
      isTensorOrBuffer(type) && (hasCountedShape(cast<ShapedType>(type)) ||
                                 getValue().getDefiningOp<AllocOp>());
  if (!hasExtents) { // C1
    return emitOpError("expected a static tensor or buffer of f32, bf16, i8, "
                       "i32 or i64, got ")
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
  bool isCounted = !type.hasStaticShape();
  std::optional<Count> bytes;
  if (isCounted == getRows().has_value() &&
      !llvm::is_contained(llvm::drop_begin(type.getShape(), isCounted),
                          ShapedType::kDynamic))
    bytes = bufferBytes(getResult());
  Points points = pointsOf(*this);
  points.most = std::max<int64_t>(points.most, 1); // the memory plan's unit
  if (bytes && isWithin(*bytes, points, 0, INT64_MAX))
    return success();
  // C1
  InFlightDiagnostic diag = emitOpError(
      "expected a static buffer, or one with rows, whose bytes fit 63 bits, "
      "got ");
  diag << type;
  if (CountAttr rows = getRowsAttr())
    diag << " with rows " << rows.getCount();
  return diag;
}

llvm::SmallVector<Count> DispatchOp::getCounts() {
  return llvm::map_to_vector(getParams().getAsRange<CountAttr>(),
                             [](CountAttr count) { return count.getCount(); });
}

LogicalResult DispatchOp::verify() {
  if (getOffsets().size() != getBuffers().size()) { // C1
    return emitOpError("expected one offset per buffer, got ")
           << getOffsets().size() << " for " << getBuffers().size();
  }
  for (auto [buffer, offset] : llvm::zip(getBuffers(), getOffsets())) { // C3
    auto type = cast<MemRefType>(buffer.getType());
    std::optional<Count> elements = elementsOf(buffer);
    bool isCache =
        !elements || (!type.hasStaticShape() && *elements == Count());
    int64_t end = isCache ? 1 : elements->at(pointsOf(*this).least);
    if (offset < 0 || offset >= end) {
      return emitOpError("expected an offset below ")
             << end << " into " << type << ", got " << offset;
    }
  }
  return success();
}

/// Returns the factor of n * n in the bytes that a kernel accesses.
static int64_t squareOf(const Extent &extent, llvm::ArrayRef<Count> params) {
  int64_t square = 0;
  for (Extent::Term term : extent.terms())
    if (term.first >= 0 && term.second >= 0)
      square +=
          term.factor * params[term.first].step * params[term.second].step;
  return square;
}

/// Checks that a buffer has the bytes that the kernel accesses. Like the
/// loader, it checks both ends of the program's range. No n between them needs
/// more, unless the bytes grow slower than n.
static LogicalResult verifyTouched(DispatchOp dispatch,
                                   const BufferContract &contract, size_t i) {
  std::optional<Count> bytes = bufferBytes(dispatch.getBuffers()[i]);
  auto type = cast<MemRefType>(dispatch.getBuffers()[i].getType());
  if (!bytes || contract.entries)
    return success();
  llvm::SmallVector<Count> params = dispatch.getCounts();
  Points points = pointsOf(dispatch);
  int64_t offset =
      dispatch.getOffsets()[i] * (type.getElementTypeBitWidth() / 8);
  if (!points.isOne() && squareOf(contract.bytes, params) < 0)
    return dispatch.emitOpError("expected a program of one n: what is touched "
                                "of buffer ")
           << i << " grows slower than n";
  for (int64_t n : {points.least, points.most}) {
    std::optional<int64_t> touched =
        contract.bytes.evaluate(evaluate(params, n));
    if (!touched || *touched > bytes->at(n) - offset)
      return dispatch.emitOpError("expected at least ")
             << touched.value_or(INT64_MAX) << " bytes of buffer " << i
             << " from offset " << offset << " on at n " << n << ", got "
             << bytes->at(n) - offset;
  }
  return success();
}

/// Checks C4.
static LogicalResult verifyContract(DispatchOp dispatch,
                                    const KernelContract &contract) {
  if (!contract.error.empty())
    return success(); // code generation reports it
  for (auto [i, range, param] :
       llvm::enumerate(contract.params, dispatch.getCounts()))
    if (!isWithin(param, pointsOf(dispatch), range.least, range.most))
      return dispatch.emitOpError("expected param ")
             << i << " in [" << range.least << ", " << range.most
             << "] at every n, got " << param;
  for (auto [i, buffer] : llvm::enumerate(contract.buffers))
    if (failed(verifyTouched(dispatch, buffer, i)))
      return failure();
  return success();
}

/// Checks that a kernel's cache parameters match each cache that it gets, and
/// that no other buffer takes the place of a cache.
static LogicalResult verifyCaches(DispatchOp dispatch, KernelOp kernel,
                                  const KernelContract &contract,
                                  SymbolTableCollection &symbols) {
  for (auto [i, buffer, given] :
       llvm::enumerate(contract.buffers, dispatch.getBuffers())) {
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
                     int64_t(cache.getHeads()), cache.getDtype()};
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
  KernelSignature signature = kernelSignature(kernel.getKernel());
  if (int64_t(getBuffers().size()) != signature.buffers ||
      int64_t(getParams().size()) != signature.params ||
      int64_t(getOutputs()) != signature.outputs) {
    return emitOpError("expected the buffers, params and outputs of kind '")
           << kernel.getKind() << "', got " << getBuffers().size()
           << " buffers, " << getParams().size() << " params and "
           << getOutputs() << " outputs";
  }
  std::optional<KernelContract> contract = kernelContract(kernel);
  if (!contract)
    return success(); // a builtin
  if (kernel.hasBody() && failed(verifyBuffers(*this, kernel, getBuffers(),
                                               getCounts().front()))) // C6
    return failure();
  if (failed(verifyCaches(*this, kernel, *contract, symbols)))
    return failure();
  return verifyContract(*this, *contract);
}
