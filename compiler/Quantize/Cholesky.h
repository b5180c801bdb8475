//===- Cholesky.h - Factors of a symmetric matrix ---------------*- C++ -*-===//

#ifndef MTP_COMPILER_QUANTIZE_CHOLESKY_H
#define MTP_COMPILER_QUANTIZE_CHOLESKY_H

#include <cstdint>
#include <vector>

namespace mtp {

/// Replaces the lower triangle of the n x n matrix, in rows, by the lower
/// triangular L with L L' = matrix. The upper triangle is not read and its
/// content is unspecified afterwards. Returns false if the matrix is not
/// positive definite. The result does not depend on the number of threads.
bool factorLower(std::vector<double> &matrix, int64_t n, unsigned threads);

} // namespace mtp

#endif // MTP_COMPILER_QUANTIZE_CHOLESKY_H
