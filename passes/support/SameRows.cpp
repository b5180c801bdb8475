//===- SameRows.cpp - Check that operands have equal rows -----------------===//
//
// A round has rows of several kinds: one per slot, the rows of a window, the
// rows that a drafter refreshes. If an op mixes two kinds, the error would
// otherwise appear at a later op, or at an op that a pass made.
//
//===----------------------------------------------------------------------===//

#include "passes/support/SameRows.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mtp;
using exec::Count;

Value mlir::mtp::countedRows(Value rows) {
  Operation *made = rows.getDefiningOp();
  if (!made)
    return Value();
  return llvm::TypeSwitch<Operation *, Value>(made)
      .Case([](MakeRowsOp op) { return op.getSlots(); })
      .Case([](MakeTreeRowsOp op) { return op.getSlots(); })
      .Case([](PromptRowsOp op) { return op.getTokens(); })
      .Case([](PackOp op) { return op.getPackedTokens(); })
      .Case([](RunRowsOp op) { return op.getPending(); })
      .Default(Value());
}

namespace {
/// An operand and its name in diagnostics.
struct Part {
  llvm::StringRef name;
  Value value;
};
/// Operands that have equal row counts.
using Parts = SmallVector<Part>;
} // namespace

static Parts partsOf(PerSlotOp op) {
  Parts parts{{"the slots", op.getSlots()}};
  for (Value input : op.getInputs())
    parts.push_back({"an operand", input});
  return parts;
}

/// Returns no operands for a gather from packed rows, whose row counts differ.
static Parts partsOf(GatherOp op) {
  if (op.getPlaces())
    return {};
  return {{"the rows", op.getX()}, {"the columns", op.getColumns()}};
}

static Parts partsOf(WriteStateOp op) {
  if (!op.getIndex())
    return {};
  return {{"the slots", op.getSlots()}, {"the index", op.getIndex()}};
}

static Parts partsOf(ConcatOp op) {
  Parts parts;
  for (Value input : op.getInputs())
    parts.push_back({"an operand", input});
  return parts;
}

/// Returns the operands with equal row counts for ops that read activations and
/// the rows to which the activations belong.
static Parts partsOfRows(Operation *op) {
  return llvm::TypeSwitch<Operation *, Parts>(op)
      .Case<MaskFirstOp, RopeOp, CacheAppendOp, CausalConvOp>([](auto op) {
        return Parts{{"the activations", op.getX()},
                     {"the rows", op.getRows()}};
      })
      .Case([](AttentionOp op) {
        return Parts{{"the rows", op.getRows()},
                     {"the queries", op.getQ()},
                     {"the keys", op.getK()},
                     {"the values", op.getV()}};
      })
      .Case([](MlaAttentionOp op) {
        return Parts{{"the rows", op.getRows()},
                     {"the queries", op.getQ()},
                     {"the latents", op.getC()},
                     {"the rotated keys", op.getKPe()}};
      })
      .Case([](CachedAttentionOp op) {
        return Parts{{"the rows", op.getRows()}, {"the queries", op.getQ()}};
      })
      .Case([](DeltaRuleOp op) {
        return Parts{
            {"the rows", op.getRows()},    {"the queries", op.getQ()},
            {"the keys", op.getK()},       {"the values", op.getV()},
            {"the decays", op.getDecay()}, {"the betas", op.getBeta()}};
      })
      .Case([](MoeExpertsOp op) {
        return Parts{{"the rows", op.getRows()},
                     {"the activations", op.getX()},
                     {"the indices", op.getIndices()},
                     {"the weights", op.getWeights()},
                     {"the shared expert's", op.getShared()},
                     {"the residual", op.getResidual()}};
      })
      .Default(Parts());
}

/// Returns the operands with equal row counts for ops that join activations row
/// by row.
static Parts partsOfJoined(Operation *op) {
  return llvm::TypeSwitch<Operation *, Parts>(op)
      .Case([](AddOp op) {
        return Parts{{"one operand", op.getLhs()}, {"the other", op.getRhs()}};
      })
      .Case<SwigluOp, GegluTanhOp>([](auto op) {
        return Parts{{"the gate", op.getGate()}, {"what it gates", op.getUp()}};
      })
      .Case([](SigmoidGateOp op) {
        return Parts{{"the gates", op.getGate()},
                     {"what they gate", op.getX()}};
      })
      .Case([](FusedLinearOp op) {
        return Parts{{"one part of the sum", op.getX()},
                     {"the other", op.getResidual()}};
      })
      .Case([](ConcatOp op) { return partsOf(op); })
      .Default([](Operation *op) { return partsOfRows(op); });
}

/// Returns the operands with equal row counts for ops that make rows, or work
/// per slot.
static Parts partsOfSlots(Operation *op) {
  return llvm::TypeSwitch<Operation *, Parts>(op)
      .Case([](MakeRowsOp op) {
        return Parts{{"the slots", op.getSlots()},
                     {"the positions", op.getPositions()}};
      })
      .Case([](MakeTreeRowsOp op) {
        return Parts{{"the slots", op.getSlots()},
                     {"the positions", op.getPositions()},
                     {"the roots", op.getRoots()},
                     {"the places", op.getPlaces()},
                     {"the masks", op.getMasks()}};
      })
      .Case([](RunRowsOp op) {
        return Parts{{"the rows", op.getRows()},
                     {"what is pending", op.getPending()},
                     {"what is kept", op.getKeeps()}};
      })
      .Case([](CacheMoveOp op) {
        return Parts{{"the slots", op.getSlots()},
                     {"the positions", op.getFrom()}};
      })
      .Case<PerSlotOp, GatherOp, WriteStateOp>(
          [](auto op) { return partsOf(op); })
      .Default([](Operation *op) { return partsOfJoined(op); });
}

static bool isGroups(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank() > 2;
}

/// Returns the operands with equal row counts for ops that pick, and for all
/// other ops.
static Parts partsOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Parts>(op)
      .Case([](SampleOp op) {
        return Parts{{"the logits", op.getLogits()},
                     {"the rows", op.getRows()},
                     {"the numbers", op.getNumber()}};
      })
      .Case([](TopKOp op) {
        return Parts{
            {"the logits", op.getX()},
            {"the rows", isGroups(op.getX()) ? Value() : op.getNoise()},
            {"the numbers", op.getNumber()}};
      })
      .Case([](MaskTokensOp op) {
        return Parts{{"the logits", op.getLogits()},
                     {"the tokens", op.getExcluded()}};
      })
      .Case([](MaskColumnsOp op) {
        return Parts{{"the logits", op.getX()},
                     {"the slots", op.getSlots()},
                     {"the numbers", op.getAt()}};
      })
      .Case([](ProbabilitiesOp op) {
        return Parts{{"the slots", op.getSlots()},
                     {"the groups", isGroups(op.getX()) ? op.getX() : Value()}};
      })
      .Default([](Operation *op) { return partsOfSlots(op); });
}

static std::optional<Count> countOf(Value value) {
  if (isa<RowsType>(value.getType())) {
    value = countedRows(value);
    if (!value)
      return std::nullopt;
  }
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() == 0)
    return std::nullopt;
  Count rows = exec::rowsOf(value);
  return rows == Count() ? std::nullopt : std::optional(rows);
}

/// Returns whether passes create `op` in place of others. The diagnostic then
/// leaves its name out.
static bool isMade(Operation *op) {
  return isa<FusedLinearOp, AttentionOp, CachedAttentionOp, ConcatOp>(op);
}

LogicalResult mlir::mtp::checkSameRows(Operation *op) {
  const Part *first = nullptr;
  Count wanted;
  Parts parts = partsOf(op);
  for (const Part &part : parts) {
    std::optional<Count> rows = part.value ? countOf(part.value) : std::nullopt;
    if (!rows)
      continue;
    if (!first) {
      first = &part;
      wanted = *rows;
    } else if (*rows != wanted) {
      InFlightDiagnostic diag =
          isMade(op) ? emitError(op->getLoc()) : op->emitOpError();
      diag << "expected " << part.name << " to have the row count of "
           << first->name << ", " << wanted << ", got " << *rows
           << " (n: the slots of a round, or the rows of a prompt)";
      for (const Part *of : {first, &part})
        diag.attachNote(of->value.getLoc()) << of->name << " come from here";
      return diag;
    }
  }
  return success();
}
