//===- result_layout.h - Sizes of results, without checks -------*- C++ -*-===//

#ifndef MTP_TEST_RUNTIME_SUPPORT_RESULT_LAYOUT_H
#define MTP_TEST_RUNTIME_SUPPORT_RESULT_LAYOUT_H

#include <cstddef>

/// Sizes of results of a char, an int64_t, a string and a pointer, in a file
/// that is compiled without MTP_CHECK_RESULTS.
extern const size_t sizesWithoutChecks[4];

#endif // MTP_TEST_RUNTIME_SUPPORT_RESULT_LAYOUT_H
