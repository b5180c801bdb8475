//===- QuantizeWeights.cpp - Quantize weights to integers -----------------===//
//
// A weight is quantized if every call that reads it belongs to a family whose
// kernels support integers (`PackedWeightOpInterface`): products by panels, and
// look-ups in a table. The weight, its references and the calls change
// together. A fused weight has one format. Projections and tables have separate
// formats, even if both hold the same tensor. Two kinds of projection are
// marked by a `role`:
//
// - a router stays unchanged: its few rows decide which experts see a token;
// - the head may have a format of its own.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/QuantizeWeights.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/InputNorm.h"
#include "runtime/schema/QuantizedPanel.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/GlobPattern.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_QUANTIZEWEIGHTSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

#define DEBUG_TYPE "exec-quantize-weights"

namespace {

/// The new format of a weight; none: it stays unchanged.
using Format = std::optional<::mtp::WeightFormat>;

/// The readers of a weight.
struct Readers {
  SmallVector<RefOp> refs;
  llvm::SetVector<PackedWeightOpInterface> calls;
  /// True if a reader's kernel does not support integers.
  bool others = false;
  /// The tensor of the norm that a product applies to its inputs, and the
  /// number that is added to it; null if there is none.
  SourceAttr norm;
  int64_t normOffset = 0;
};

/// The new formats of a module's weights.
struct Formats {
  Format body, head, table;
};

struct QuantizeWeightsPass
    : public mlir::mtp::impl::QuantizeWeightsPassBase<QuantizeWeightsPass> {
  using Base::Base;

  QuantizeWeightsPass(const mlir::mtp::QuantizeWeightsPassOptions &options,
                      mlir::mtp::KeptFormatFn keptFormat,
                      mlir::mtp::ChooseFormatsFn chooseFormats)
      : Base(options), keptFormat(std::move(keptFormat)),
        chooseFormats(std::move(chooseFormats)) {}

  void runOnOperation() override;

private:
  FailureOr<Format> parseFormat(llvm::StringRef name, int64_t group);
  FailureOr<Formats> parseFormats();
  FailureOr<std::vector<llvm::GlobPattern>> parsePatterns();
  LogicalResult checkPatterns(ArrayRef<llvm::GlobPattern> patterns);
  void quantize(exec::WeightOp weight, const Readers &readers,
                const ::mtp::WeightFormat &format, bool isKept);
  /// Gives the weights of `mixed` the formats that chooseFormats() returns.
  LogicalResult
  quantizeMixed(const llvm::MapVector<exec::WeightOp, Readers> &readers,
                ArrayRef<mlir::mtp::WeightToQuantize> mixed);
  LogicalResult checkFound(const Formats &formats, bool isProjectionFound,
                           bool isTableFound);
  void tieTables();

  mlir::mtp::KeptFormatFn keptFormat;
  mlir::mtp::ChooseFormatsFn chooseFormats;
};

} // namespace

FailureOr<Format> QuantizeWeightsPass::parseFormat(llvm::StringRef name,
                                                   int64_t group) {
  if (name == "none")
    return Format();
  if (name == llvm::StringRef(mlir::mtp::kSixBits.name()))
    return Format(mlir::mtp::kSixBits);
  if (name == llvm::StringRef(mlir::mtp::kEightBits.name()) && group == 0)
    return Format(mlir::mtp::kEightBits);
  ::mtp::WeightFormat format;
  if (auto elements = ::mtp::findWeightElements(name))
    format = {*elements, group};
  auto isOffered = [](const ::mtp::WeightElementsInfo &info) {
    return info.isQuantized && info.isPlain();
  };
  if (!isOffered(format.info())) {
    std::string names;
    for (const ::mtp::WeightElementsInfo &info : ::mtp::kWeightFormats)
      if (isOffered(info))
        names += (names.empty() ? "" : ", ") + std::string(info.name);
    return getOperation().emitError("expected a format of ")
           << names << " or none for weights, got '" << name << "'";
  }
  if (!format.isValid() || !format.isPlain()) {
    return getOperation().emitError("expected a group of a multiple of 32 up "
                                    "to 128 for weights, got ")
           << group;
  }
  return Format(format);
}

FailureOr<Formats> QuantizeWeightsPass::parseFormats() {
  FailureOr<Format> body = parseFormat(format, group);
  FailureOr<Format> head =
      headFormat.empty() ? body : parseFormat(headFormat, headGroup);
  FailureOr<Format> table = parseFormat(embeddingFormat, embeddingGroup);
  if (failed(body) || failed(head) || failed(table))
    return failure();
  if (*table && !(*table)->isPlain())
    return getOperation().emitError("expected f32 scales for embedding tables, "
                                    "got ")
           << (*table)->text();
  return Formats{*body, *head, *table};
}

FailureOr<std::vector<llvm::GlobPattern>> QuantizeWeightsPass::parsePatterns() {
  std::vector<llvm::GlobPattern> patterns;
  for (const std::string &text : keep) {
    llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(text);
    if (!pattern) {
      return getOperation().emitError("expected a pattern of weights to keep, "
                                      "got '")
             << text << "': " << llvm::toString(pattern.takeError());
    }
    patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

/// Returns whether the key of one of the weight's tensors matches.
static bool matches(exec::WeightOp weight, const llvm::GlobPattern &pattern) {
  return llvm::any_of(
      weight.getSources().getAsRange<SourceAttr>(),
      [&](SourceAttr source) { return pattern.match(source.getTensor()); });
}

/// Checks that each pattern matches a weight: one without a match is misspelt.
LogicalResult
QuantizeWeightsPass::checkPatterns(ArrayRef<llvm::GlobPattern> patterns) {
  auto weights = getOperation().getOps<exec::WeightOp>();
  for (auto [text, pattern] : llvm::zip(keep, patterns)) {
    if (llvm::none_of(weights, [&](exec::WeightOp weight) {
          return matches(weight, pattern);
        })) {
      return getOperation().emitError("expected keep patterns that match a "
                                      "weight's key, got '")
             << text << "', which matches none";
    }
  }
  return success();
}

/// Returns whether rows are stored one by one, not in panels.
static bool isRaw(exec::WeightOp weight) {
  return isa<RawLayoutAttr>(weight.getLayout());
}

/// Finds the norm that a product applies to its inputs.
static void findNorm(Operation *call, const SymbolTable &symbols,
                     Readers &readers) {
  auto linear = dyn_cast<LinearOp>(call);
  auto ref = linear && linear.getNorm()
                 ? linear.getNorm().getDefiningOp<RefOp>()
                 : RefOp();
  auto norm = ref ? symbols.lookup<exec::WeightOp>(ref.getResource())
                  : exec::WeightOp();
  if (readers.norm || !norm || norm.getSources().size() != 1)
    return;
  readers.norm = cast<SourceAttr>(norm.getSources()[0]);
  readers.normOffset = linear.getOffset();
}

/// Collects the readers of each weight.
static llvm::MapVector<exec::WeightOp, Readers> findReaders(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::MapVector<exec::WeightOp, Readers> readers;
  module.walk([&](RefOp ref) {
    auto weight = symbols.lookup<exec::WeightOp>(ref.getResource());
    if (!weight || weight.isQuantized())
      return;
    Readers &ofWeight = readers[weight];
    ofWeight.refs.push_back(ref);
    for (Operation *user : ref->getUsers()) {
      auto call = dyn_cast<PackedWeightOpInterface>(user);
      if (call && call.getPackedWeight() == ref) {
        ofWeight.calls.insert(call);
        findNorm(call, symbols, ofWeight);
      } else {
        ofWeight.others = true;
      }
    }
  });
  return readers;
}

/// Returns whether a projection by the weight has this role.
static bool isRead(const Readers &readers, mlir::mtp::ProjectionRole role) {
  return llvm::any_of(readers.calls, [&](Operation *call) {
    auto linear = dyn_cast<LinearOp>(call);
    return linear && linear.getRole() == role;
  });
}

static bool isRouter(const Readers &readers) {
  return isRead(readers, mlir::mtp::ProjectionRole::Router);
}

static bool isHead(const Readers &readers) {
  return isRead(readers, mlir::mtp::ProjectionRole::Head);
}

/// Records what the quantiser's search for scales must know of a weight.
static void recordInputs(exec::WeightOp weight, const Readers &readers) {
  Builder builder(weight.getContext());
  if (readers.norm) {
    weight->setAttr(kInputNormAttr,
                    builder.getStringAttr(readers.norm.getTensor()));
    weight->setAttr(kNormOffsetAttr,
                    builder.getI64IntegerAttr(readers.normOffset));
  }
  if (isHead(readers))
    weight->setAttr(kHeadAttr, builder.getUnitAttr());
}

void QuantizeWeightsPass::quantize(exec::WeightOp weight,
                                   const Readers &readers,
                                   const ::mtp::WeightFormat &format,
                                   bool isKept) {
  auto attr = FormatAttr::get(&getContext(), format);
  weight.setFormatAttr(attr);
  if (isRaw(weight) && isKept) {
    weight.setLayoutAttr(
        PanelsAttr::get(&getContext(), formatPanelWidth(), false));
    for (PackedWeightOpInterface call : readers.calls)
      cast<EmbedOp>(call.getOperation()).setPanelRows(weight.getN());
  }
  for (RefOp ref : readers.refs)
    ref.getResult().setType(weight.getPackedType());
  for (PackedWeightOpInterface call : readers.calls)
    call.setFormatAttr(attr);
  ++numQuantized;
}

LogicalResult QuantizeWeightsPass::quantizeMixed(
    const llvm::MapVector<exec::WeightOp, Readers> &readers,
    ArrayRef<mlir::mtp::WeightToQuantize> mixed) {
  for (const mlir::mtp::WeightToQuantize &one : mixed)
    recordInputs(one.weight, readers.find(one.weight)->second);
  FailureOr<std::vector<::mtp::WeightFormat>> formats = chooseFormats(mixed);
  if (failed(formats))
    return failure();
  for (auto [one, format] : llvm::zip(mixed, *formats))
    quantize(one.weight, readers.find(one.weight)->second, format,
             /*isKept=*/false);
  return success();
}

/// Returns whether a head's panels of integers have the rows of a table.
static bool hasRowsOf(exec::WeightOp head, exec::WeightOp table) {
  auto panels = dyn_cast<PanelsAttr>(head.getLayout());
  return panels && !panels.getFragments() && head.isQuantized() &&
         head.getSources() == table.getSources() && !head.getPicks() &&
         head.getStack() == 1 && head.getK() == table.getK() &&
         head.getN() == table.getN();
}

/// Replaces tables that have the tensor of a head in integers by the head.
void QuantizeWeightsPass::tieTables() {
  SmallVector<exec::WeightOp> weights(getOperation().getOps<exec::WeightOp>());
  SymbolTableCollection symbols;
  SymbolUserMap users(symbols, getOperation());
  for (exec::WeightOp table : weights) {
    ArrayRef<Operation *> uses = users.getUsers(table);
    if (table.getPicks() || table.getStack() != 1 || uses.empty())
      continue;
    SmallVector<RefOp> refs;
    bool isTable = true;
    for (Operation *use : uses) {
      auto ref = dyn_cast<RefOp>(use);
      isTable &= ref && llvm::all_of(ref->getUsers(), [](Operation *user) {
                   return isa<EmbedOp>(user);
                 });
      refs.push_back(ref);
    }
    auto head = llvm::find_if(weights, [&](exec::WeightOp other) {
      return other && other != table && hasRowsOf(other, table) &&
             (tieFragments || !other.canBeInFragments());
    });
    if (!isTable || head == weights.end())
      continue;
    for (RefOp ref : refs) {
      ref.setResource(head->getSymName());
      ref.getResult().setType(head->getPackedType());
      for (Operation *user : ref->getUsers()) {
        cast<EmbedOp>(user).setFormatAttr(head->getFormat());
        cast<EmbedOp>(user).setPanelRows(head->getN());
      }
    }
    *llvm::find(weights, table) = {};
    table.erase();
    ++numTied;
  }
}

/// Checks that each requested format was used.
LogicalResult QuantizeWeightsPass::checkFound(const Formats &formats,
                                              bool isProjectionFound,
                                              bool isTableFound) {
  bool wantsProjection = formats.body || formats.head;
  if (wantsProjection && !isProjectionFound) {
    return getOperation().emitError("expected a projection whose weight can be "
                                    "quantized, found none");
  }
  if (formats.table && !isTableFound) {
    return getOperation().emitError("expected an embedding table that can be "
                                    "quantized, found none");
  }
  return success();
}

void QuantizeWeightsPass::runOnOperation() {
  FailureOr<Formats> formats = parseFormats();
  FailureOr<std::vector<llvm::GlobPattern>> patterns = parsePatterns();
  if (failed(formats) || failed(patterns) || failed(checkPatterns(*patterns)))
    return signalPassFailure();
  bool isProjectionFound = false, isTableFound = false;
  llvm::MapVector<exec::WeightOp, Readers> all = findReaders(getOperation());
  SmallVector<mlir::mtp::WeightToQuantize> mixed;
  for (auto &[weight, readers] : all) {
    if (readers.others || readers.calls.empty() || isRouter(readers)) {
      LDBG() << "stays, as a router or a call without integers reads it: "
             << weight.getSymName();
      continue;
    }
    Format wanted = isRaw(weight)     ? formats->table
                    : isHead(readers) ? formats->head
                                      : formats->body;
    if (wanted && llvm::any_of(*patterns, [&, weight = weight](const auto &p) {
          return matches(weight, p);
        })) {
      LDBG() << "stays, as a pattern says so: " << weight.getSymName();
      ++numKept;
      wanted = {};
    } else if (wanted) {
      (isRaw(weight) ? isTableFound : isProjectionFound) = true;
    }
    if (wanted && chooseFormats && !isRaw(weight) &&
        (!isHead(readers) || headFormat.empty())) {
      mixed.push_back({weight, isHead(readers)});
      continue;
    }
    bool isKept = !wanted && keptFormat;
    if (isKept)
      wanted = keptFormat(weight);
    if (wanted && !isKept && wanted->panel(1).hasTwoLevels())
      recordInputs(weight, readers);
    if (wanted)
      quantize(weight, readers, *wanted, isKept);
  }
  if (!mixed.empty() && failed(quantizeMixed(all, mixed)))
    return signalPassFailure();
  if (tie)
    tieTables();
  if (failed(checkFound(*formats, isProjectionFound, isTableFound)))
    signalPassFailure();
}

std::unique_ptr<Pass>
mlir::mtp::createQuantizeWeightsPass(const QuantizeWeightsPassOptions &options,
                                     KeptFormatFn keptFormat,
                                     ChooseFormatsFn chooseFormats) {
  return std::make_unique<QuantizeWeightsPass>(options, std::move(keptFormat),
                                               std::move(chooseFormats));
}
