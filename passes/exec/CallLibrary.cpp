//===- CallLibrary.cpp - Prefills with a library's products ---------------===//
//
// A library's result for a row depends on the number of rows. So its programs
// are for one number of rows, in addition to the programs with own kernels. The
// session decides which rows go through which program (runtime/exec/README.md).
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/MTPAttrs.h"
#include "passes/Passes.h"
#include "runtime/schema/Limits.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_CALLLIBRARYPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {

struct CallLibraryPass
    : public mlir::mtp::impl::CallLibraryPassBase<CallLibraryPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  void addProgram(ProgramOp program, int64_t most, SymbolTable &symbols);
  void replace(LinearOp linear);
};

/// Creates the calls that replace an `exec.linear`.
class LinearRewriter {
public:
  LinearRewriter(LinearOp linear, int64_t workspace)
      : linear(linear), workspace(workspace), builder(linear),
        loc(linear.getLoc()) {}

  Value write();

private:
  RankedTensorType rowsType(int64_t width, Type element) {
    auto y = cast<RankedTensorType>(linear.getY().getType());
    return RankedTensorType::get({y.getDimSize(0), width}, element,
                                 y.getEncoding());
  }
  Value columns(Value rows, int64_t begin, int64_t end) {
    return ColumnsOp::create(builder, loc, rows, begin, end);
  }

  LinearOp linear;
  int64_t workspace;
  OpBuilder builder;
  Location loc;
};

} // namespace

/// Returns the number of outputs of the product, gates and ups included.
static int64_t outputsOf(LinearOp linear) {
  return columnsOf(linear.getY()) * (linear.isGated() ? 2 : 1);
}

Value LinearRewriter::write() {
  Type bf16 = builder.getBF16Type();
  int64_t k = columnsOf(linear.getX()), n = outputsOf(linear);
  Value rows = RoundRowsOp::create(builder, loc, rowsType(k, bf16),
                                   linear.getX(), linear.getNorm(),
                                   linear.getEpsAttr(), linear.getOffset());
  Value matrix =
      UnpackOp::create(builder, loc, RankedTensorType::get({n, k}, bf16),
                       linear.getWeight(), linear.isGated());
  Value y =
      GemmOp::create(builder, loc, rowsType(n, builder.getF32Type()),
                     RankedTensorType::get({workspace}, builder.getI8Type()),
                     rows, matrix)
          .getY();
  Type type = linear.getY().getType();
  if (linear.isGated()) {
    Value gate = columns(y, 0, n / 2), up = columns(y, n / 2, n);
    if (linear.getActivation() == mlir::mtp::ActivationKind::GegluTanh)
      return GegluTanhOp::create(builder, loc, type, gate, up);
    return SwigluOp::create(builder, loc, type, gate, up);
  }
  if (linear.getBias())
    y = AddBiasOp::create(builder, loc, type, y, linear.getBias());
  if (linear.getResidual())
    y = AddOp::create(builder, loc, type, y, linear.getResidual());
  return y;
}

/// Returns whether a library may compute the product for every row of the
/// chunk.
static bool isForLibrary(LinearOp linear, int64_t rows) {
  return linear.getFormat().isBF16() && isInFragments(linear.getWeight()) &&
         !linear.getPrepared() &&
         outputsOf(linear) % ::mtp::kGemmMultiple == 0 &&
         rowsOf(linear.getY()).at(rows) == rows;
}

void CallLibraryPass::addProgram(ProgramOp program, int64_t most,
                                 SymbolTable &symbols) {
  OpBuilder builder(program->getContext());
  builder.setInsertionPointAfter(program);
  auto copy = cast<ProgramOp>(builder.clone(*program));
  copy.setSymName((program.getSymName() + "_library").str());
  copy.setPoints({most, most});
  symbols.insert(copy);
  for (auto linear : llvm::to_vector(copy.getBody().getOps<LinearOp>())) {
    if (!isForLibrary(linear, most))
      continue;
    linear.getY().replaceAllUsesWith(LinearRewriter(linear, workspace).write());
    linear.erase();
    ++numGemms;
  }
  ++numPrograms;
}

void CallLibraryPass::runOnOperation() {
  ModuleOp module = getOperation();
  if (workspace < 16) {
    module.emitError("expected 16 or more for the option workspace, got ")
        << static_cast<int64_t>(workspace);
    return signalPassFailure();
  }
  auto envelope =
      module->getAttrOfType<mlir::mtp::EnvelopeAttr>(mlir::mtp::kEnvelopeAttr);
  if (!envelope || rows == 0)
    return;
  int64_t page = envelope.getPage();
  int64_t most = int64_t(envelope.getPrefillChunk()) / page * page;
  if (most == 0 || most < rows)
    return;
  SmallVector<ProgramOp> programs;
  bool isUseful = false;
  for (auto program : module.getOps<ProgramOp>()) {
    Points points = program.getPoints();
    if (program.getKind() != ProgramKind::Prefill ||
        program.getSequences() != 1 || program.getCatchUp() ||
        points.least > most || points.most < most)
      continue;
    programs.push_back(program);
    isUseful |= llvm::any_of(
        program.getBody().getOps<LinearOp>(),
        [&](LinearOp linear) { return isForLibrary(linear, most); });
  }
  // If one prefill gets a second program, all prefills do: sessions choose
  // programs by the number of rows.
  if (!isUseful)
    return;
  SymbolTable symbols(module);
  for (ProgramOp program : programs)
    addProgram(program, most, symbols);
}
