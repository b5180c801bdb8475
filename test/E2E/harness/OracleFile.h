//===- OracleFile.h - The oracle's results ----------------------*- C++ -*-===//
//
// Reads test/oracle/expected/NAME.json; test/oracle/EXPECTED.md describes its
// contents.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TEST_E2E_HARNESS_ORACLEFILE_H
#define MTP_TEST_E2E_HARNESS_ORACLEFILE_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::test {

/// Returns the bound for the difference of a row's logits. The f32 kernels
/// (`exact`) differ from the oracle's binary32 only in the order of additions.
/// The bf16 kernels also round activations, keys and values to bf16.
float logitBound(const std::vector<float> &row, bool exact);

/// Logits of some tokens of a row: all tokens, or the largest logits.
using PartialRow = std::map<int32_t, float>;

/// A forward pass over the prompt and the greedy tokens.
struct OracleForward {
  /// For each row.
  std::vector<int32_t> argmax;
  /// For some rows.
  std::map<uint32_t, PartialRow> rows;
};

struct OracleResult {
  std::vector<int32_t> prompt;
  std::vector<int32_t> greedy;
  OracleForward target;
  /// For each drafter module, with true tokens as input.
  std::vector<OracleForward> drafts;
  /// The modules' drafts after the prompt and one token, with their own drafts
  /// as input.
  std::vector<int32_t> chain;
  /// The logits of each draft; empty for large vocabularies.
  std::vector<std::vector<float>> chainLogits;
  /// True if one module drafts at each depth.
  bool chainReuse = false;

  /// For models with recurrent layers: a long text, another first token, and
  /// the last row's logits with either. They differ by what the layers
  /// remember.
  std::vector<int32_t> far;
  int32_t farFirst = 0;
  std::vector<std::vector<float>> farLogits;

  /// Returns prompt and greedy tokens.
  std::vector<int32_t> tokens() const;
};

/// Returns the name for readOracle() of an artifact's results. Variants of an
/// artifact (other options, other processors) use the model's results.
std::string oracleName(std::string_view artifact);

/// Reads NAME.json. On failure the test fails and nothing is returned.
std::vector<OracleResult> readOracle(const std::string &name);

} // namespace mtp::test

#endif // MTP_TEST_E2E_HARNESS_ORACLEFILE_H
