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
