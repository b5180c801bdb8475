//===- gguf_fuzz.cpp - Any bytes as a GGUF file ---------------------------===//

#include "compiler/Import/config/ConfigReader.h"
#include "compiler/Import/config/GgufConfig.h"
#include "compiler/Tokenizer/GgufReader.h"
#include "compiler/Weights/GgufBlocks.h"
#include "compiler/Weights/GgufNames.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

using namespace mtp;

namespace {

void require(bool condition) {
  if (!condition)
    std::abort();
}

/// Decodes the first and the last elements of a tensor.
void exercise(const TensorEntry &entry, std::span<const uint8_t> bytes) {
  uint64_t elements =
      entry.size / blockBytes(entry.type) * blockElements(entry.type);
  int64_t run = int64_t(std::min<uint64_t>(elements, 300));
  std::vector<float> values(static_cast<size_t>(run));
  const uint8_t *begin = bytes.data() + entry.offset;
  decodeRun(entry.type, begin, 0, run, values.data());
  decodeRun(entry.type, begin, int64_t(elements) - run, run, values.data());
}

/// Checks that the last row and column of a tensor lie in it.
void requirePlaces(const TensorEntry &entry) {
  if (entry.shape.empty() || entry.size == 0)
    return;
  for (const auto &[order, extent] :
       {std::pair(entry.tiledRows, entry.shape.front()),
        std::pair(entry.tiledColumns, entry.shape.back())}) {
    int64_t place = order.place(extent - 1);
    require(place >= 0 && place < extent);
  }
}

/// Checks that the last row of a joined tensor lies in its part.
void requireJoin(const GgufNames &names, const TensorMap &tensors,
                 const std::string &key) {
  std::optional<GgufPair> pair = names.findPair(key);
  if (!pair)
    return;
  auto first = tensors.find(pair->first), second = tensors.find(pair->second);
  if (first == tensors.end() || second == tensors.end())
    return;
  Result<TensorJoin> join =
      names.join(*pair, first->second.shape, second->second.shape);
  if (!join)
    return;
  TensorJoin::Place place = join->place(join->shape[0] - 1);
  int64_t rows = 1;
  const TensorMap::value_type &part = place.part == 0 ? *first : *second;
  for (size_t i = 0; i + 1 < part.second.shape.size(); ++i)
    rows *= part.second.shape[i];
  require(place.row >= 0 && place.row < rows);
}

} // namespace

/// Checks that every tensor is inside the bytes, and that config, tokenizer and
/// templates are read or refused.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::span<const uint8_t> bytes(data, size);
  Result<GgufHeader> header = parseGguf(bytes);
  if (!header)
    return 0;
  if (Result<GgufNames> names = GgufNames::read(*header, std::nullopt))
    if (Result<TensorMap> tensors = names->translate(*header, bytes))
      for (const auto &[key, entry] : *tensors) {
        require(entry.offset <= size && entry.size <= size - entry.offset);
        requirePlaces(entry);
        requireJoin(*names, *tensors, key);
        if (isReadable(entry.type))
          exercise(entry, bytes);
      }
  importer::GgufPart part{*header, bytes};
  if (Result<std::string> config = importer::translateGgufConfig({&part, 1}))
    (void)importer::parseModelConfig(*config, "").isOk();
  (void)tablesFromGguf(*header).isOk();
  (void)chatFromGguf(*header).isOk();
  return 0;
}
