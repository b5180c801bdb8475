//===- ExecProductKernels.cpp - Kinds of products -------------------------===//

#include "dialects/Exec/IR/KernelFamily.h"
#include "dialects/Exec/IR/PreparedRows.h"
#include "runtime/schema/Limits.h"
#include "runtime/schema/SamplingLayout.h"

using namespace mlir;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// Projections
//===----------------------------------------------------------------------===//

/// Describes prepared rows, whose bytes fit 31 bits.
static BufferContract &describePrepared(ContractWriter &w, FormatAttr format,
                                        int64_t k) {
  int64_t rowBytes = PreparedRows{format.getFormat(), k}.rowBytes();
  w.limit(0, 1, std::clamp<int64_t>(INT32_MAX / rowBytes, 1, kMostParam));
  BufferContract &buffer = w.bytes(w.p0 * rowBytes);
  buffer.alignment = kPieceBytes;
  return buffer;
}

/// Describes the inputs of a projection.
template <typename KernelT>
static void describeInputs(ContractWriter &w, KernelT kernel, bool gated) {
  int64_t k = kernel.getK(), n = kernel.getN();
  bool fragments = kernel.getFragments();
  if (kernel.getPrepared())
    describePrepared(w, kernel.getFormat(), k); // x
  else
    w.multiplied(w.p0, kernel.getXStride(), k, fragments); // x
  if (kernel.getNorm())
    w.multiplied(1, k, k, fragments); // the norm's weight
  w.weight(kernel.getFormat(), kernel.getPanel(), k, n, /*stack=*/1, gated);
  if (kernel.getBias())
    w.words(n); // bias
}

/// Reports parameters of a projection that do not go together.
template <typename KernelT>
static LogicalResult verifyInputs(KernelT kernel, KernelErrorFn emitError) {
  if (failed(verifyFragments(emitError, kernel.getFormat(), kernel.getK(),
                             kernel.getFragments())))
    return failure();
  if (!kernel.getPrepared())
    return success();
  if (!kernel.getFragments())
    return emitError() << "expected fragments where rows are prepared";
  if (kernel.getNorm() || kernel.getXStride() != 0)
    return emitError() << "expected neither norm nor x_stride where rows are "
                          "prepared";
  return success();
}

void LinearKernelAttr::describe(ContractWriter &w) const {
  int64_t outputs = getOutputs();
  describeInputs(w, *this, isGated());
  if (getResidual())
    w.rows(w.p0, getResidualStride(), outputs); // residual
  w.rows(w.p0, getYStride(), outputs).result(); // y
}

TaskShape LinearKernelAttr::getTasks() const {
  return {0, panelCount(getOutputs(), getPanel())};
}

LogicalResult LinearKernelAttr::verifyRules(KernelErrorFn emitError) const {
  if (failed(verifyInputs(*this, emitError)))
    return failure();
  if (!isGated())
    return success();
  StringRef activation = mtp::stringifyActivationKind(getActivation());
  if (getN() % 2 != 0)
    return emitError() << "expected an even n for " << activation << ", got "
                       << getN();
  if (getBias() || getResidual())
    return emitError() << "expected neither bias nor residual with "
                       << activation;
  return success();
}

void LinearArgmaxKernelAttr::describe(ContractWriter &w) const {
  int64_t parts = panelCount(getN(), getPanel());
  describeInputs(w, *this, /*gated=*/false);
  // A head that keeps its logits for some slots reads their sampling words.
  if (getLogits()) {
    w.words(w.p0); // slots
    w.words(Extent(w.limitOf("slots", getSlots())) *
            ::mtp::kSamplingWords); // sampling
  }
  w.words(w.p0 * parts).result(); // best values
  w.words(w.p0 * parts).result(); // their columns
  if (getLogits())
    w.words(w.p0 * getN()).result(); // logits
}

TaskShape LinearArgmaxKernelAttr::getTasks() const {
  return {0, panelCount(getN(), getPanel())};
}

LogicalResult
LinearArgmaxKernelAttr::verifyRules(KernelErrorFn emitError) const {
  return verifyInputs(*this, emitError);
}

//===----------------------------------------------------------------------===//
// PrepareRowsKernelAttr
//===----------------------------------------------------------------------===//

void PrepareRowsKernelAttr::describe(ContractWriter &w) const {
  int64_t k = getK();
  w.multiplied(w.p0, getXStride(), k, /*fragments=*/true); // x
  if (getNorm())
    w.multiplied(1, k, k, /*fragments=*/true);  // the norm's weight
  describePrepared(w, getFormat(), k).result(); // y
}

LogicalResult
PrepareRowsKernelAttr::verifyRules(KernelErrorFn emitError) const {
  ::mtp::WeightFormat format = getFormat().getFormat();
  if (!PreparedRows::isFormat(format))
    return emitError() << "expected a format of bf16 or int8, got "
                       << getFormat();
  return verifyFragments(emitError, getFormat(), getK(), /*fragments=*/true);
}

//===----------------------------------------------------------------------===//
// HeadLinearKernelAttr
//===----------------------------------------------------------------------===//

void HeadLinearKernelAttr::describe(ContractWriter &w) const {
  int64_t heads = getHeads(), kept = getKeepWidth();
  int64_t width =
      std::max(getXOffset() + getK(), kept ? getKeepOffset() + kept : 0);
  w.multiplied(w.p0, getXRow(), (heads - 1) * getXHead() + width,
               getFragments()); // x
  w.weight(getFormat(), getPanel(), getK(), getN(), heads);
  if (getRotation())
    w.angles(getRotation(), getPositions());
  w.rows(w.p0, getYRow(), (heads - 1) * getYHead() + getN() + kept,
         getYOffset())
      .result(); // y
}

TaskShape HeadLinearKernelAttr::getTasks() const {
  return {0, getHeads() * panelCount(getN(), getPanel())};
}

LogicalResult HeadLinearKernelAttr::verifyRules(KernelErrorFn emitError) const {
  if (getFormat().isQuantized())
    return emitError() << "expected a format of f32 or bf16, got "
                       << getFormat();
  if (failed(verifyFragments(emitError, getFormat(), getK(), getFragments())))
    return failure();
  return getRotation() ? verifyRotated(emitError, getRotation(), getKeepWidth(),
                                       "keep_width")
                       : success();
}

//===----------------------------------------------------------------------===//
// Products of a library
//===----------------------------------------------------------------------===//

/// Describes the contract of a library product. `verifyGemmContract` of
/// runtime/artifact checks it again for every file.
void GemmKernelAttr::describe(ContractWriter &w) const {
  int64_t k = getK(), n = getN();
  w.bytes(w.p0 * (2 * k)).alignment = ::mtp::kGemmAlignment;    // x
  w.bytes(Extent(2 * k) * n).alignment = ::mtp::kGemmAlignment; // weight
  BufferContract &y = w.words(w.p0 * n);                        // y
  y.alignment = ::mtp::kGemmAlignment;
  y.result();
  BufferContract &workspace = w.bytes(getWorkspace());
  workspace.alignment = ::mtp::kGemmAlignment;
  workspace.result();
}

TaskShape GemmKernelAttr::getTasks() const { return {0, 1}; }

void UnpackKernelAttr::describe(ContractWriter &w) const {
  w.weight(getFormat(), getPanel(), getK(), getN(), /*stack=*/1, getGated());
  w.bytes(Extent(2 * getK()) * getN()).result(); // matrix
}

TaskShape UnpackKernelAttr::getTasks() const {
  int64_t halves = getGated() ? 2 : 1;
  return {0, halves * panelCount(getN() / halves, getPanel())};
}

LogicalResult UnpackKernelAttr::verifyRules(KernelErrorFn emitError) const {
  if (!getFormat().isBF16() || !getFragments())
    return emitError() << "expected a weight of bf16 in fragments";
  if (getGated() && getN() % 2 != 0)
    return emitError() << "expected an even n of a gated weight, got "
                       << getN();
  return verifyFragments(emitError, getFormat(), getK(), getFragments());
}
