//===- WholeModels.h - Kernels of whole models ------------------*- C++ -*-===//

#ifndef MTP_TEST_CODEGEN_HARNESS_WHOLEMODELS_H
#define MTP_TEST_CODEGEN_HARNESS_WHOLEMODELS_H

#include "runtime/schema/WeightFormat.h"
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace mtp::codegen::test {

/// A line of Inputs/whole_models.txt.
struct ModelKernel {
  std::string kind, keys;
  /// Values by key.
  std::map<std::string, std::string> values = {};

  bool has(const std::string &key) const { return values.contains(key); }
  bool has(const std::string &key, const std::string &value) const {
    return has(key) && values.at(key) == value;
  }
  int64_t number(const std::string &key) const {
    return std::stoll(values.at(key));
  }
  int64_t number(const std::string &key, int64_t absent) const {
    return has(key) ? number(key) : absent;
  }
  /// Returns the number of rows of its weights.
  int64_t outputs() const {
    return kind == "moe_gate_up" ? 2 * number("inter") : number("n");
  }
  /// Returns the format of its weights.
  WeightFormat format() const;
  bool isGated() const {
    return kind == "moe_gate_up" || has("gated", "true") ||
           has("activation", "swiglu") || has("activation", "geglu_tanh");
  }
  /// Returns the whole line, for the name of a test.
  std::string config() const { return kind + "," + keys; }
  std::string without(const std::set<std::string> &keys) const;
};

/// Returns all kernels.
std::vector<ModelKernel> kernelsOfWholeModels();
/// Returns the kernels of a kind. There is at least one.
std::vector<ModelKernel> kernelsOfWholeModels(const std::string &kind);

} // namespace mtp::codegen::test

#endif // MTP_TEST_CODEGEN_HARNESS_WHOLEMODELS_H
