//===- stored_fuzz.cpp - Any tensors as quantised weights -----------------===//
//
// The input is a config, a zero byte, and a safetensors file.
//
//===----------------------------------------------------------------------===//

#include "compiler/Weights/Safetensors.h"
#include "compiler/Weights/StoredFormats.h"

#include <algorithm>
#include <cstdlib>

using namespace mtp;

namespace {

/// Reads the ends of the first and the last row, and the codes of the last one.
void exercise(const StoredTensor &tensor) {
  constexpr int64_t kMost = 300;
  const std::vector<int64_t> &shape = tensor.shape();
  int64_t rows = shape[shape.size() - 2], cols = shape.back();
  if (shape.size() == 3)
    rows *= shape[0];
  int64_t count = std::min(cols, kMost);
  std::vector<float> values(static_cast<size_t>(count));
  tensor.read(0, 0, count, values.data());
  tensor.read(rows - 1, cols - count, count, values.data());
  std::optional<GroupForm> form = tensor.groupForm();
  if (!form)
    return;
  if (form->group < 1 || form->bits < 2 || form->bits > 8)
    std::abort();
  std::vector<int16_t> q(values.size());
  std::vector<GroupCodes> groups(values.size());
  tensor.readCodes(rows - 1, 0, count, form->group, groups.data(), q.data());
}

} // namespace

/// Checks that every weight is read within its bytes or refused.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint8_t *zero = std::find(data, data + size, 0);
  std::string_view text(reinterpret_cast<const char *>(data),
                        size_t(zero - data));
  if (zero == data + size)
    return 0;
  Result<QuantizationConfig> config =
      parseQuantizationConfig(text, "config.json");
  std::span<const uint8_t> bytes(zero + 1, data + size);
  Result<TensorMap> tensors = parseSafetensors(bytes);
  if (!config || !tensors)
    return 0;
  FindPart find = [&](const std::string &key) -> std::optional<StoredPart> {
    auto found = tensors->find(key);
    if (found == tensors->end())
      return std::nullopt;
    const TensorEntry &entry = found->second;
    return StoredPart{entry.type, entry.shape,
                      bytes.subspan(entry.offset, entry.size)};
  };
  for (const auto &[key, entry] : *tensors)
    if (std::optional<StoredWeight> weight = findStoredWeight(key, find))
      if (Result<StoredTensor> tensor =
              readStoredWeight(*weight, find, *config))
        exercise(*tensor);
  return 0;
}
