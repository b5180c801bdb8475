//===- ProductParams.h - What all kinds of products say ---------*- C++ -*-===//
//
// Kinds of products differ in where rows come from and where outputs go. What
// they multiply, and the buffers that a projection begins with, is said here
// once for all targets; each target has the matmul.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_PRODUCTPARAMS_H
#define COMPILER_CODEGEN_PRODUCTPARAMS_H

#include "compiler/Codegen/KernelCatalogue.h"

namespace mtp::codegen {

/// One matrix of a product, and what is done to a row before.
struct ProductParams {
  int64_t k, n;
  WeightFormat format;
  /// Whether panels are in the order of tensor cores.
  bool fragments;
  /// Whether x is what `prepare_rows` made of rows.
  bool prepared = false;
  /// Of a projection that norms its rows.
  bool norm = false;
  float eps = 0;
  int64_t normOffset = 0;
  bool bias = false;
  /// Whether the outputs are gates and then ups.
  bool gated = false;
  /// Elements from one row of x to the next.
  int64_t xStride;

  /// `outputs` are those of one matrix.
  template <typename KernelT>
  ProductParams(KernelT kernel, int64_t outputs)
      : k(kernel.getK()), n(outputs), format(kernel.getFormat().getFormat()),
        fragments(kernel.getFragments()), xStride(kernel.getK()) {
    if constexpr (requires { kernel.getNorm(); }) {
      norm = kernel.getNorm();
      eps = valueOf(kernel.getEps());
      normOffset = kernel.getOffset();
      bias = kernel.getBias();
    }
    if constexpr (requires { kernel.getPrepared(); })
      prepared = kernel.getPrepared();
    if constexpr (requires { kernel.isGated(); })
      gated = kernel.isGated();
    if constexpr (requires { kernel.getXStride(); })
      xStride = strideOr(kernel.getXStride(), k);
  }
  template <typename KernelT>
  explicit ProductParams(KernelT kernel)
    requires requires { kernel.getN(); }
      : ProductParams(kernel, kernel.getN()) {}
};

/// The matrix of an expert, and the columns that it gives a pair.
inline ProductParams expertMatrix(exec::MoeGateUpKernelAttr kernel) {
  ProductParams params(kernel, 2 * kernel.getInter());
  params.gated = true;
  return params;
}
inline ProductParams expertMatrix(exec::MoeDownKernelAttr kernel) {
  return ProductParams(kernel);
}
inline int64_t expertColumns(exec::MoeGateUpKernelAttr kernel) {
  return kernel.getInter();
}
inline int64_t expertColumns(exec::MoeDownKernelAttr kernel) {
  return kernel.getN();
}

// Of `count` pairs of a row and an expert, sorted by expert: where an expert's
// begin, the pair that is its row of that number, and what is multiplied for a
// pair.
Value startOfExpert(KernelBuilder &kb, Value starts, Value count, Value expert);
Value pairOfExpert(KernelBuilder &kb, Value pairs, Value count, Value start,
                   Value row);
Value rowOfPair(KernelBuilder &kb, exec::MoeGateUpKernelAttr kernel,
                Value pair);
Value rowOfPair(KernelBuilder &kb, exec::MoeDownKernelAttr kernel, Value pair);

/// Whether somebody reads the logits of a slot.
Value readsLogits(KernelBuilder &kb, Value sampling, Value slot);

/// Copies or turns the columns of a row's head that `kernel` keeps.
void emitKeptColumns(KernelBuilder &kb, exec::HeadLinearKernelAttr kernel,
                     Value from, Value to, Value row);

/// The buffers that a projection begins with: x, [norm weight], W, [bias].
struct ProjectionBuffers {
  Value x, normWeight, weights, bias;
  /// The number of the buffer behind them.
  int64_t next = 0;

  ProjectionBuffers(KernelBuilder &kb, const ProductParams &params) {
    x = kb.buffer(next++);
    if (params.norm)
      normWeight = kb.buffer(next++);
    weights = kb.buffer(next++);
    if (params.bias)
      bias = kb.buffer(next++);
  }
};

/// Where heads of rows lie: f32 elements from a head to the next and from a row
/// to the next.
struct HeadStrides {
  int64_t row;
  int64_t head;

  Value at(KernelBuilder &kb, Value base, Value headIndex,
           Value rowIndex) const {
    return kb.at(kb.at(base, rowIndex, row * 4), headIndex, head * 4);
  }
};

/// Reports unless every one of the kernel's panels has the outputs that code
/// streams.
template <typename KernelT>
mlir::LogicalResult verifyPanels(KernelT kernel, EmitError emitError) {
  if (kernel.getPanel() == exec::formatPanelWidth())
    return mlir::success();
  return emitError() << "expected panels of " << exec::formatPanelWidth()
                     << " outputs, got " << kernel.getPanel();
}

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_PRODUCTPARAMS_H
