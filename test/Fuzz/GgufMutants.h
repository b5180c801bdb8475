//===- GgufMutants.h - Wrong fields and pieces of GGUF files ----*- C++ -*-===//

#ifndef MTP_TEST_FUZZ_GGUFMUTANTS_H
#define MTP_TEST_FUZZ_GGUFMUTANTS_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace mtp::test {

/// A file with one error.
struct GgufMutant {
  std::string name; ///< The changed field or piece, its place and value.
  std::string bytes;
};

/// Makes mutants of a valid file, one after another: half of them have one
/// wrong field, all kinds of fields in turn, and half have one wrong piece, all
/// kinds of pieces in turn. Equal arguments give equal mutants.
void forEachGgufMutant(const std::string &file, size_t count, uint64_t seed,
                       const std::function<void(const GgufMutant &)> &use);

} // namespace mtp::test

#endif // MTP_TEST_FUZZ_GGUFMUTANTS_H
