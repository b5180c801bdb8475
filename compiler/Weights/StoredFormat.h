//===- StoredFormat.h - Checks of a weight's tensors ------------*- C++ -*-===//
//
// Private to StoredFormats.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_STOREDFORMAT_H
#define MTP_COMPILER_WEIGHTS_STOREDFORMAT_H

#include "compiler/Weights/StoredFormats.h"

namespace mtp {

/// Bound of extents, so that products of them do not overflow.
inline constexpr int64_t kMostExtent = int64_t(1) << 31;
/// Inputs of a group in the formats of 4-bit floats.
inline constexpr int64_t kNVGroup = 16, kMXGroup = 32;

/// Checks the tensors of one weight and makes its StoredTensor.
class StoredFormat {
public:
  StoredFormat(const StoredWeight &weight, const FindPart &find,
               const QuantizationConfig &config)
      : weight(weight), find(find), config(config) {}

  Result<StoredTensor> read();

private:
  Status readPacked();
  Status readPackedIntegers(const StoredPart &codes);
  Status readColumns();
  Status readAwq(const StoredPart &codes, const StoredPart &scales);
  Status readGptq(const StoredPart &codes, const StoredPart &scales);
  Status readGptqZeros(int64_t outputs, int64_t groups);
  Status readBlocks();
  Status readFloat8();
  Status readBytes();
  Status readFloat4(const StoredPart &codes, const std::string &scaleKey,
                    int64_t group);

  Status setShape(std::span<const int64_t> shape, int64_t perByte);
  Status setScales(const std::string &key, int64_t group);
  Status setGroups(const std::string &key, const StoredPart &scales,
                   int64_t count, int64_t group);
  Status setBlocks(const std::string &key, const StoredPart &scales, int64_t r,
                   int64_t c);
  Status setColumnScales(const StoredPart &scales);
  Status setFactor(const std::string &key, bool divides);
  Status setOrder(const std::string &key, int64_t groups);
  Status setPackedZeros(const std::string &key);
  void dropEqualZeros(int64_t groups);
  Result<int64_t> bitsOf(int64_t words) const;

  Result<StoredPart> part(const std::string &key) const;
  bool has(const std::string &key) const { return find(key).has_value(); }
  Status mismatch(const std::string &key, const std::string &expected,
                  const StoredPart &got) const;

  int64_t outputs() const { return out.rows(); }
  int64_t inputs() const { return out.extents.back(); }
  int64_t matrices() const {
    return out.extents.size() == 3 ? out.extents[0] : 1;
  }
  std::string stem() const {
    return weight.codes.substr(0, weight.codes.rfind('.'));
  }

  const StoredWeight &weight;
  const FindPart &find;
  const QuantizationConfig &config;
  StoredTensor out;
  std::string title; ///< Of the format, without its group.
};

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_STOREDFORMAT_H
