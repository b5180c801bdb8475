//===- PrepareRows.cpp - Prepare rows once for all blocks -----------------===//
//
// Blocks of a product on tensor cores norm and round rows themselves. Each of a
// product's hundreds of blocks repeats it, at a cost that grows with the rows.
// With few rows loading the weights hides the cost. With more rows one small
// call before the product costs less:
//
//   linear   becomes   prepare_rows -> linear
//
// The number of rows depends on the target. The default for bf16 is where an
// H100 showed the first loss. Integers are always prepared once: on an H200 one
// row in int4 takes 0.83 of the time, and one row in int8 takes equal time.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/PreparedRows.h"
#include "passes/Passes.h"
#include "passes/exec/SplitProgram.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_PREPAREROWSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {
struct PrepareRowsPass
    : public mlir::mtp::impl::PrepareRowsPassBase<PrepareRowsPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  template <typename OpT>
  bool isWorthIt(OpT op, int64_t n) const;
  bool isWorthIt(Operation *op, int64_t n) const;
  void prepare(ProgramOp program);
  template <typename OpT>
  void prepare(OpT op);

  /// The prepared rows of the current program.
  struct Prepared {
    Value x, norm;
    FloatAttr eps;
    int64_t offset;
    FormatAttr format;
    Value result;
  };
  SmallVector<Prepared> made;
};
} // namespace

/// Returns whether the product has enough rows at n for a preparing call to
/// pay.
template <typename OpT>
bool PrepareRowsPass::isWorthIt(OpT op, int64_t n) const {
  // Groups of 32 have more loads in flight, and ptxas would spill the rows.
  ::mtp::WeightFormat format = op.getFormat().getFormat();
  if (!isInFragments(op.getWeight()) || op.getPrepared() ||
      (format.isQuantized() && format.group == 32))
    return false;
  // Rows beyond the range of a call's parameters are not prepared, at any n.
  PreparedRows prepared{PreparedRows::rowFormat(format), columnsOf(op.getX())};
  int64_t most = op->template getParentOfType<ProgramOp>().getPoints().most;
  if (rowsOf(op.getX()).at(most) > INT32_MAX / prepared.rowBytes())
    return false;
  int64_t few = op.getFormat().isQuantized() ? integerRows : rows;
  return rowsOf(op.getX()).at(n) > few;
}

bool PrepareRowsPass::isWorthIt(Operation *op, int64_t n) const {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<LinearOp, LinearArgmaxOp>(
          [&](auto product) { return isWorthIt(product, n); })
      .Default(false);
}

/// Returns whether both operands are the same buffer or both are absent.
static bool isSame(Value a, Value b) {
  return a == b || (a && b && isSameBuffer(a, b));
}

template <typename OpT>
void PrepareRowsPass::prepare(OpT op) {
  FormatAttr format = FormatAttr::get(
      op.getContext(), PreparedRows::rowFormat(op.getFormat().getFormat()));
  Prepared wanted{op.getX(),       op.getNorm(),
                  op.getEpsAttr(), int64_t(op.getOffset()),
                  format,          Value()};
  auto found = llvm::find_if(made, [&](const Prepared &other) {
    // Memory may hold other rows by now, so only tensors are shared.
    return isa<TensorType>(other.x.getType()) && other.x == wanted.x &&
           isSame(other.norm, wanted.norm) && other.eps == wanted.eps &&
           other.offset == wanted.offset && other.format == wanted.format;
  });
  if (found == made.end()) {
    OpBuilder builder(op);
    wanted.result = PrepareRowsOp::create(
        builder, op.getLoc(), PrepareRowsOp::typeFor(wanted.x, format),
        wanted.x, wanted.norm, format, wanted.eps, wanted.offset);
    found = made.insert(made.end(), wanted);
    ++numPrepared;
  }
  op.setPrepared(columnsOf(wanted.x));
  op.getXMutable().assign(found->result);
  op.getNormMutable().clear();
  op.removeEpsAttr();
  op.setOffset(0);
  ++numProducts;
}

void PrepareRowsPass::prepare(ProgramOp program) {
  int64_t most = program.getPoints().most;
  made.clear();
  for (Operation &op : llvm::make_early_inc_range(program.getBody().front()))
    if (isWorthIt(&op, most))
      llvm::TypeSwitch<Operation *>(&op).Case<LinearOp, LinearArgmaxOp>(
          [&](auto product) { prepare(product); });
}

void PrepareRowsPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  for (auto program : llvm::to_vector(getOperation().getOps<ProgramOp>())) {
    auto hasMany = [&](int64_t n) {
      return llvm::any_of(program.getBody().getOps(),
                          [&](Operation &op) { return isWorthIt(&op, n); });
    };
    Points points = program.getPoints();
    int64_t first = points.least;
    while (first <= points.most && !hasMany(first))
      ++first;
    if (first > points.most)
      continue;
    // Chunks with few rows of a prompt are rare, so prefills are not split.
    if (first > points.least && program.getKind() == ProgramKind::Decode)
      program = mlir::mtp::splitProgram(program, first, symbols);
    prepare(program);
  }
}
