//===- ExecRowKernels.cpp - Kinds that work row by row --------------------===//

#include "dialects/Exec/IR/KernelFamily.h"

using namespace mlir;
using namespace mlir::exec;

void EmbedKernelAttr::describe(ContractWriter &w) const {
  if (getPanels()) // table
    w.weight(getFormat(), formatPanelWidth(), getWidth(), getVocab(), 1, false);
  else
    w.bytes(Extent(getFormat().getFormat().rowBytes(getWidth())) * getVocab());
  w.words(w.p0);                       // tokens
  w.words(w.p0 * getWidth()).result(); // y
}

/// Describes rows, a number for each, and the results made of both.
static void describeNumbered(ContractWriter &w, int64_t width) {
  w.words(w.p0 * width);          // x
  w.words(w.p0);                  // positions or tokens
  w.words(w.p0 * width).result(); // y
}

void MaskFirstKernelAttr::describe(ContractWriter &w) const {
  describeNumbered(w, getWidth());
}

void MaskTokensKernelAttr::describe(ContractWriter &w) const {
  describeNumbered(w, getWidth());
}

void RmsNormKernelAttr::describe(ContractWriter &w) const {
  w.rows(w.p0, getXStride(), getColumns());          // x
  w.words(getWidth());                               // weight
  w.rows(w.p0, getYStride(), getColumns()).result(); // y
}

void RoundRowsKernelAttr::describe(ContractWriter &w) const {
  w.rows(w.p0, getXStride(), getWidth()); // x
  if (getNorm())
    w.words(getWidth());                     // the norm's weight
  w.bytes(w.p0 * (2 * getWidth())).result(); // y
}

void AddBiasKernelAttr::describe(ContractWriter &w) const {
  w.rows(w.p0, getXStride(), getWidth());          // x
  w.words(getWidth());                             // bias
  w.rows(w.p0, getYStride(), getWidth()).result(); // y
}

template <typename KernelT>
static void describePair(ContractWriter &w, KernelT kernel) {
  int64_t width = kernel.getWidth();
  w.rows(w.p0, kernel.getAStride(), width);          // a
  w.rows(w.p0, kernel.getBStride(), width);          // b
  w.rows(w.p0, kernel.getYStride(), width).result(); // y
}

void AddKernelAttr::describe(ContractWriter &w) const {
  describePair(w, *this);
}

void SwigluKernelAttr::describe(ContractWriter &w) const {
  describePair(w, *this);
}

void GegluTanhKernelAttr::describe(ContractWriter &w) const {
  describePair(w, *this);
}

void SiluKernelAttr::describe(ContractWriter &w) const {
  w.rows(w.p0, getXStride(), getWidth());          // x
  w.rows(w.p0, getYStride(), getWidth()).result(); // y
}

void ConcatKernelAttr::describe(ContractWriter &w) const {
  int64_t a = getAWidth(), b = getBWidth();
  w.rows(w.p0, getAStride(), a);              // a
  w.rows(w.p0, getBStride(), b);              // b
  w.rows(w.p0, getYStride(), a + b).result(); // y
}

void CopyColsKernelAttr::describe(ContractWriter &w) const {
  w.rows(w.p0, getXStride(), getWidth(), getXOffset());          // x
  w.rows(w.p0, getYStride(), getWidth(), getYOffset()).result(); // y
}

void GatherRowsKernelAttr::describe(ContractWriter &w) const {
  w.rows(w.p1, getXStride(), getWidth()); // x
  w.words(w.p0);                          // index
  w.words(w.p0 * getWidth()).result();    // y
  w.limit(1, 1, kMostParam);
}

/// Describes the positions of `rows` rows, and their numbers and masks.
static void describeRows(ContractWriter &w, const Extent &rows, int64_t numbers,
                         int64_t masks, bool areResults) {
  for (int64_t i = 0; i <= numbers + masks; ++i) {
    bool isMask = i > numbers;
    BufferContract &buffer = w.bytes(rows * (isMask ? 8 : 4));
    buffer.alignment = isMask ? 8 : 4;
    buffer.isWritten = buffer.isResult = areResults;
  }
}

void PackRowsKernelAttr::describe(ContractWriter &w) const {
  int64_t numbers = getNumbers(), masks = getMasks();
  describeRows(w, w.p0, numbers, masks, /*areResults=*/false);
  describeRows(w, w.p1, numbers, masks, /*areResults=*/true);
  w.words(w.p0).result(); // places
  w.words(1).result();    // live
  w.limit(1, 1, kMostParam);
}

TaskShape PackRowsKernelAttr::getTasks() const { return {0, 1}; }

void PackPromptsKernelAttr::describe(ContractWriter &w) const {
  int64_t numbers = getNumbers(), masks = getMasks();
  describeRows(w, w.p0, numbers, masks, /*areResults=*/false);
  describeRows(w, w.p1, numbers, masks, /*areResults=*/false);
  describeRows(w, w.p1 + w.p2, numbers, masks, /*areResults=*/true);
  w.words(w.p0).result(); // places
  w.words(w.p1).result(); // places of prompts
  w.words(1).result();    // live
  w.limit(1, 1, kMostParam);
  w.limit(2, 1, kMostParam);
}

TaskShape PackPromptsKernelAttr::getTasks() const { return {0, 1}; }

void UnpackRowsKernelAttr::describe(ContractWriter &w) const {
  w.words(w.p1 * getWidth());          // x
  w.words(w.p0);                       // places
  w.words(w.p0 * getWidth()).result(); // y
  w.limit(1, 1, kMostParam);
}

void ArgmaxKernelAttr::describe(ContractWriter &w) const {
  w.rows(w.p0, getXStride(), getWidth()); // x
  w.words(w.p0).result();                 // picks
}

void ArgmaxPartsKernelAttr::describe(ContractWriter &w) const {
  w.words(w.p0 * getParts()); // best values
  w.words(w.p0 * getParts()); // their columns
  w.words(w.p0).result();     // picks
}
