//===- QuantizationConfig.h - A folder's quantization config ----*- C++ -*-===//

#ifndef MTP_COMPILER_WEIGHTS_QUANTIZATIONCONFIG_H
#define MTP_COMPILER_WEIGHTS_QUANTIZATIONCONFIG_H

#include "runtime/core/Result.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// Facts about quantised weights in a folder's config. Stored tensors decide
/// which weights are quantised and how. The config only adds what tensors do
/// not say.
struct QuantizationConfig {
  /// The method's name in the config, e.g. "gptq". Empty: no config.
  std::string method;
  /// Numbers of bits, group sizes (-1: all inputs) and blocks of rows and
  /// columns, from anywhere in the config.
  std::vector<int64_t> bits, groups;
  std::vector<std::array<int64_t, 2>> blocks;
  /// True if GPTQ stores zeros as they are; else it stores them less one.
  bool hasPlainZeros = false;
  /// False if weights have zeros.
  bool isSymmetric = true;

  /// Returns true if all quantised weights are FP8.
  bool isFloat8() const;
};

/// Parses a file's text. `file` is its name: config.json, whose key
/// "quantization_config" may also be within "text_config";
/// hf_quant_config.json, quantize_config.json (GPTQ) or quant_config.json
/// (AWQ). Methods that are not supported are errors with the next step.
Result<QuantizationConfig> parseQuantizationConfig(std::string_view text,
                                                   std::string_view file);

/// Reads the first of these files in a folder that describes a quantization.
Result<QuantizationConfig> readQuantizationConfig(const std::string &folder);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_QUANTIZATIONCONFIG_H
