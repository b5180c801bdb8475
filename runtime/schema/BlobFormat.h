//===- BlobFormat.h - A weight's format in an artifact ----------*- C++ -*-===//
//
// The one place where a WeightFormat becomes what a blob of the file says, and
// where that becomes a WeightFormat again. Elements that are not quantised are
// the blob's type; those that are have an enumerator for panels and another for
// a table, whose rows are looked up.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_BLOBFORMAT_H
#define MTP_RUNTIME_SCHEMA_BLOBFORMAT_H

#include "runtime/schema/WeightFormat.h"
#include "runtime/schema/mtp_artifact_generated.h"

namespace mtp {

/// What an enumerator of BlobFormat that is not Elements stands for.
struct QuantizedBlob {
  schema::BlobFormat format;
  WeightElements elements;
  bool isTable;
};

inline constexpr QuantizedBlob kQuantizedBlobs[] = {
    {schema::BlobFormat::Int8, WeightElements::Int8, false},
    {schema::BlobFormat::Int4, WeightElements::Int4, false},
    {schema::BlobFormat::Int8Rows, WeightElements::Int8, true},
    {schema::BlobFormat::Int4Rows, WeightElements::Int4, true},
};

/// What `format` stands for; null for Elements and what is unknown.
constexpr const QuantizedBlob *findQuantizedBlob(schema::BlobFormat format) {
  for (const QuantizedBlob &blob : kQuantizedBlobs)
    if (blob.format == format)
      return &blob;
  return nullptr;
}

/// For reading: none of elements that no weight has.
inline std::optional<WeightFormat> weightFormatOf(const schema::Blob &blob) {
  if (const QuantizedBlob *known = findQuantizedBlob(blob.format()))
    return WeightFormat{known->elements, blob.group()};
  if (blob.format() == schema::BlobFormat::Elements &&
      blob.dtype() == schema::DType::F32)
    return WeightFormat{WeightElements::F32};
  if (blob.format() == schema::BlobFormat::Elements &&
      blob.dtype() == schema::DType::BF16)
    return WeightFormat{WeightElements::BF16};
  return std::nullopt;
}

/// For writing: the blob's format and type.
struct StoredFormat {
  schema::BlobFormat format;
  schema::DType dtype;
};
constexpr StoredFormat storedFormatOf(WeightElements elements, bool isTable) {
  for (const QuantizedBlob &blob : kQuantizedBlobs)
    if (blob.elements == elements && blob.isTable == isTable)
      return {blob.format, schema::DType::I8};
  return {schema::BlobFormat::Elements, elements == WeightElements::BF16
                                            ? schema::DType::BF16
                                            : schema::DType::F32};
}

// Both ways, every quantised format in panels and as a table, and nothing else.
static_assert([] {
  size_t quantized = 0;
  for (const WeightElementsInfo &info : kWeightFormats)
    for (bool isTable : {false, true}) {
      schema::BlobFormat format = storedFormatOf(info.elements, isTable).format;
      const QuantizedBlob *blob = findQuantizedBlob(format);
      if (info.isQuantized != (blob != nullptr))
        return false;
      if (blob && (blob->elements != info.elements || blob->isTable != isTable))
        return false;
      quantized += info.isQuantized;
    }
  return quantized == std::size(kQuantizedBlobs) &&
         quantized == size_t(schema::BlobFormat::MAX);
}());

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_BLOBFORMAT_H
