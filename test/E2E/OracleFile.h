//===- OracleFile.h - The oracle's answers ----------------------*- C++ -*-===//
//
// test/oracle/expected/NAME.json; test/oracle/README.md says what is in it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TEST_E2E_ORACLEFILE_H
#define MTP_TEST_E2E_ORACLEFILE_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::test {

/// How far logits of this row may be off. Our f32 kernels (`exact`) differ from
/// the oracle's binary32 in the order of additions only, our bf16 ones also
/// round activations, keys and values to bf16.
float logitBound(const std::vector<float> &row, bool exact);

/// Logits of some tokens of a row: all of them, or the largest.
using PartialRow = std::map<int32_t, float>;

/// A forward pass over the prompt and the greedy tokens.
struct OracleForward {
  /// Of every row.
  std::vector<int32_t> argmax;
  /// Of some rows.
  std::map<uint32_t, PartialRow> rows;
};

struct OracleResult {
  std::vector<int32_t> prompt;
  std::vector<int32_t> greedy;
  OracleForward target;
  /// Of every drafter module, fed with true tokens.
  std::vector<OracleForward> drafts;
  /// What the modules draft behind the prompt and one token, fed with their own
  /// drafts.
  std::vector<int32_t> chain;
  /// The logits of each of them; none for large vocabularies.
  std::vector<std::vector<float>> chainLogits;
  /// Whether one module drafts at every depth.
  bool chainReuse = false;

  /// Of models with recurrent layers: a long text, another first token, and the
  /// last row's logits with either. The two differ by what layers remember.
  std::vector<int32_t> far;
  int32_t farFirst = 0;
  std::vector<std::vector<float>> farLogits;

  /// Prompt and greedy tokens.
  std::vector<int32_t> tokens() const;
};

/// The name for `readOracle` of an artifact's answers. Variants of an artifact
/// (other options, other processors) have those of the model's own.
std::string oracleName(std::string_view artifact);

/// Reads NAME.json; a test failure and nothing when it cannot.
std::vector<OracleResult> readOracle(const std::string &name);

} // namespace mtp::test

#endif // MTP_TEST_E2E_ORACLEFILE_H
