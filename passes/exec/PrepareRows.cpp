//===- PrepareRows.cpp - Rows prepared once for all blocks ----------------===//
//
// Blocks of a product on tensor cores norm and round rows for themselves: each
// of the product's hundreds does it again, and what that costs grows with the
// rows. With few of them it hides behind the weights. With more one small call
// in front costs less:
//
//   linear   becomes   prepare_rows -> linear
//
// How many that is, is up to the target; the default is where an H100 showed
// the first loss in bf16, and has to be measured for integers.
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

  /// What rows of the program at hand are prepared.
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

/// Whether the product has so many rows at n that one call in front is better.
template <typename OpT>
bool PrepareRowsPass::isWorthIt(OpT op, int64_t n) const {
  // Beside four bits that are widened, and in groups of 32 of which more are on
  // the way, ptxas spills what it loads of the rows.
  ::mtp::WeightFormat format = op.getFormat().getFormat();
  if (!isInFragments(op.getWeight()) || op.getPrepared() ||
      (format.isQuantized() && (format.bits() == 4 || format.group == 32)))
    return false;
  // More than a call's parameters count are left as they are, at every n.
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

/// Two operands that are one, where neither needs to be there.
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
    // What memory holds may be other rows by now.
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
    // A prompt's chunk of few rows is rare.
    if (first > points.least && program.getKind() == ProgramKind::Decode)
      program = mlir::mtp::splitProgram(program, first, symbols);
    prepare(program);
  }
}
