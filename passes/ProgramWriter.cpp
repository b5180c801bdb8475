//===- ProgramWriter.cpp - Writes the programs of a round -----------------===//
//
// Notation, for one slot: n is its length (the anchor's position), a the drafts
// that the last round accepted, p0 = n-1-a the position of the first row that
// the last round verified, D the number of drafter modules.
//
//===----------------------------------------------------------------------===//

#include "passes/ProgramWriter.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace mlir::mtp;
using namespace mlir::exec;

Type ProgramWriter::ints(int64_t count) {
  return RankedTensorType::get({count}, builder.getI32Type());
}

Type ProgramWriter::floats(int64_t rows) {
  return RankedTensorType::get({rows, parts.shape.hidden},
                               builder.getF32Type());
}

ValueRange ProgramWriter::invoke(
    llvm::StringRef kind, ValueRange args, llvm::ArrayRef<int64_t> params,
    TypeRange results,
    llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> config) {
  SmallVector<NamedAttribute> entries;
  for (auto [key, value] : config) {
    entries.push_back(
        builder.getNamedAttr(key, builder.getI64IntegerAttr(value)));
  }
  SmallVector<int64_t> offsets(args.size(), 0);
  return InvokeOp::create(builder, loc, results, kind, args, params, offsets,
                          builder.getDictionaryAttr(entries))
      .getResults();
}

ProgramWriter::Rows ProgramWriter::bindRows(ValueRange values) {
  Value rows = MakeRowsOp::create(builder, loc, values[1], values[2]);
  return {values[0], values[1], values[2], rows};
}

SmallVector<Value> ProgramWriter::clone(Block &body, ValueRange args,
                                        int64_t rows) {
  IRMapping mapping;
  mapping.map(body.getArguments(), args);
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    for (Value result : copy->getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type || !type.isDynamicDim(0)) {
        continue;
      }
      SmallVector<int64_t> shape(type.getShape());
      shape[0] = rows;
      result.setType(type.clone(shape));
    }
  }
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value yielded) { return mapping.lookupOrDefault(yielded); });
}

ProgramWriter::Outputs ProgramWriter::runTarget(const Rows &rows,
                                                int64_t count) {
  SmallVector<Value> yielded =
      clone(*parts.target, {rows.tokens, rows.rows}, count);
  return {yielded[0], yielded[1]};
}

ProgramWriter::Outputs ProgramWriter::runModule(int64_t module,
                                                const Rows &rows, Value hidden,
                                                int64_t count) {
  SmallVector<Value> yielded = clone(*parts.modules[module - 1],
                                     {rows.tokens, hidden, rows.rows}, count);
  return {yielded[0], yielded[1]};
}

// A draft is picked as the target's row at its place will pick: by the accept
// op's region, which sees the same slot and the same position, and so the same
// parameters and the same noise. Drafter and target then agree as often as
// their distributions do, at any temperature.
void ProgramWriter::putDraft(int64_t batch, int64_t depth, Value logits) {
  ValueRange bound =
      invoke("draft_rows", {state("active"), state("length")}, {batch, depth},
             {ints(batch), ints(batch)}, {});
  Value rows = MakeRowsOp::create(builder, loc, bound[0], bound[1]);
  Value pick = clone(*parts.pick, {logits, rows}, batch).front();
  invoke("put_drafts", {pick, state("drafts")}, {batch, depth - 1}, {},
         {{"kmax", parts.shape.draftColumns()}});
}

// Step 1, refresh: module d runs over the rows that the last round verified and
// d-1 rows before them, whose tokens were drafts when they were last written.
// The row of the anchor (index a+d-1) gives draft d.
void ProgramWriter::writeRefresh(int64_t batch, int64_t k, int64_t module,
                                 Outputs &last) {
  int64_t perSlot = k + module;
  int64_t count = batch * perSlot;
  ValueRange bound = invoke(
      "refresh_rows",
      {state("active"), state("length"), state("accepted"), state("window"),
       state("drafts")},
      {batch, k, module}, {ints(count), ints(count), ints(count), ints(batch)},
      {{"kmax1", parts.shape.windowRows()}});
  Value hidden;
  if (module == 1) {
    hidden = invoke("refresh_hidden", {state("active"), state("hidden")},
                    {batch, k}, floats(count),
                    {{"width", parts.shape.hidden},
                     {"kmax1", parts.shape.windowRows()}})
                 .front();
  } else {
    std::string carry = ("carry_" + llvm::Twine(module)).str();
    hidden = invoke("shift_hidden",
                    {state("active"), state("accepted"), state(carry),
                     last.hidden},
                    {batch, k, module}, floats(count),
                    {{"width", parts.shape.hidden}})
                 .front();
  }
  last = runModule(module, bindRows(bound), hidden, count);
  auto logitsType = cast<RankedTensorType>(last.logits.getType());
  Value selected = TakeRowsOp::create(
      builder, loc, logitsType.clone({batch, logitsType.getDimSize(1)}),
      last.logits, bound[3]);
  putDraft(batch, module, selected);
  if (module == std::min<int64_t>(k, parts.modules.size())) {
    // The chain goes on from the anchor's row.
    last.hidden =
        TakeRowsOp::create(builder, loc, floats(batch), last.hidden, bound[3]);
  }
}

// Step 2, chain: the last module drafts on, one row per slot, from its own
// hidden state and the draft before.
void ProgramWriter::writeChain(int64_t batch, int64_t depth, Outputs &last) {
  int64_t modules = parts.modules.size();
  ValueRange bound =
      invoke("chain_rows", {state("active"), state("length"), state("drafts")},
             {batch, depth - 2, depth - modules},
             {ints(batch), ints(batch), ints(batch)},
             {{"kmax", parts.shape.draftColumns()}});
  last = runModule(modules, bindRows(bound), last.hidden, batch);
  putDraft(batch, depth, last.logits);
}

// Steps 3 to 5: the target runs over the anchor and the drafts, its picks decide
// how many drafts stay, and the slot moves on.
void ProgramWriter::writeVerify(int64_t batch, int64_t k) {
  int64_t count = batch * (k + 1);
  ValueRange bound =
      invoke("verify_rows",
             {state("active"), state("length"), state("accepted"),
              state("window"), state("drafts")},
             {batch, k}, {ints(count), ints(count), ints(count)},
             {{"kmax1", parts.shape.windowRows()},
              {"kmax", parts.shape.draftColumns()}});
  Rows rows = bindRows(bound);
  Outputs target = runTarget(rows, count);
  Value picks = clone(*parts.pick, {target.logits, rows.rows}, count).front();
  invoke("accept_commit",
         {state("active"), picks, state("drafts"), target.hidden,
          state("length"), state("accepted"), state("window"), state("hidden"),
          state("out_tokens"), state("out_count")},
         {batch, k}, {},
         {{"width", parts.shape.hidden},
          {"kmax1", parts.shape.windowRows()},
          {"kmax", parts.shape.draftColumns()}});
  OutputOp::create(builder, loc, "logits", target.logits);
  OutputOp::create(builder, loc, "picks", picks);
}

void ProgramWriter::writeDecode(int64_t batch, int64_t k) {
  OpBuilder::InsertionGuard guard(builder);
  auto program = ProgramOp::create(
      builder, loc,
      ("decode_b" + llvm::Twine(batch) + "_k" + llvm::Twine(k)).str(), "decode",
      batch, k, /*chunk=*/0);
  builder.setInsertionPointToStart(&program.getBody().front());
  Outputs last;
  int64_t modules = parts.modules.size();
  for (int64_t depth = 1; depth <= k; ++depth) {
    if (depth <= modules) {
      writeRefresh(batch, k, depth, last);
    } else {
      writeChain(batch, depth, last);
    }
  }
  writeVerify(batch, k);
}

// A prefill chunk fills the target's cache, and module d's for the rows whose
// token d places on is part of the prompt. The rows after those are refreshed by
// the first decode round.
void ProgramWriter::writePrefill(int64_t chunk, bool withModules) {
  OpBuilder::InsertionGuard guard(builder);
  auto program = ProgramOp::create(
      builder, loc,
      ("prefill_c" + llvm::Twine(chunk) + (withModules ? "_mtp" : "")).str(),
      "prefill", /*batch=*/1, withModules ? parts.modules.size() : 0, chunk);
  builder.setInsertionPointToStart(&program.getBody().front());
  auto prefillRows = [&](int64_t shift) {
    return invoke("prefill_rows",
                  {state("prefill_info"), state("prefill_tokens")},
                  {chunk, shift},
                  {ints(chunk), ints(chunk), ints(chunk), ints(1)}, {});
  };
  ValueRange bound = prefillRows(0);
  Outputs target = runTarget(bindRows(bound), chunk);
  auto logitsType = cast<RankedTensorType>(target.logits.getType());
  Value logits = TakeRowsOp::create(
      builder, loc, logitsType.clone({1, logitsType.getDimSize(1)}),
      target.logits, bound[3]);
  auto takeInt = [&](Value column) {
    return invoke("take_rows", {column, bound[3]}, {1, chunk}, ints(1),
                  {{"width", 1}})
        .front();
  };
  Value slot = takeInt(bound[1]);
  Value position = takeInt(bound[2]);
  Value lastRow = MakeRowsOp::create(builder, loc, slot, position);
  Value pick = clone(*parts.pick, {logits, lastRow}, 1).front();

  Value hidden = target.hidden;
  for (int64_t module = 1; withModules && module <= int64_t(parts.modules.size());
       ++module) {
    if (module > 1) {
      std::string carry = ("carry_" + llvm::Twine(module)).str();
      invoke("prefill_carry", {state("prefill_info"), hidden, state(carry)},
             {chunk, module}, {}, {{"width", parts.shape.hidden}});
    }
    hidden = runModule(module, bindRows(prefillRows(module)), hidden, chunk)
                 .hidden;
  }
  invoke("prefill_commit",
         {state("prefill_info"), pick, target.hidden, state("length"),
          state("accepted"), state("window"), state("hidden"),
          state("out_tokens"), state("out_count")},
         {chunk}, {},
         {{"width", parts.shape.hidden}, {"kmax1", parts.shape.windowRows()}});
  OutputOp::create(builder, loc, "logits", logits);
  OutputOp::create(builder, loc, "picks", pick);
}

// Scoring a text takes the logits of all rows, where the head of a prefill
// chunk runs over its last row alone. As in a chunk, rows of position -1 are
// padding.
void ProgramWriter::writePromptLogits(int64_t rows) {
  OpBuilder::InsertionGuard guard(builder);
  auto program =
      ProgramOp::create(builder, loc, "prompt_logits", "function", /*batch=*/0,
                        /*k=*/0, /*chunk=*/0);
  builder.setInsertionPointToStart(&program.getBody().front());
  SmallVector<Value> inputs;
  for (llvm::StringRef name : {"tokens", "slots", "positions"}) {
    inputs.push_back(InputOp::create(builder, loc, ints(rows), name));
  }
  OutputOp::create(builder, loc, "logits",
                   runTarget(bindRows(inputs), rows).logits);
}
