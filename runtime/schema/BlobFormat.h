//===- BlobFormat.h - A weight's format in an artifact ----------*- C++ -*-===//
//
// The one place that converts between a WeightFormat and the fields of a blob
// in the file. Elements that are not quantised have the blob's type. Quantised
// elements have one enumerator for panels and another for a table, whose rows
// are looked up.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_BLOBFORMAT_H
#define MTP_RUNTIME_SCHEMA_BLOBFORMAT_H

#include "runtime/schema/WeightFormat.h"
#include "runtime/schema/mtp_artifact_generated.h"

namespace mtp {

/// Meaning of an enumerator of BlobFormat other than Elements.
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
    {schema::BlobFormat::Int5, WeightElements::Int5, false},
    {schema::BlobFormat::Int6, WeightElements::Int6, false},
    {schema::BlobFormat::E2M1, WeightElements::E2M1, false},
    {schema::BlobFormat::NL4, WeightElements::NL4, false},
};

/// Returns the meaning of `format`; null for Elements and unknown values.
constexpr const QuantizedBlob *findQuantizedBlob(schema::BlobFormat format) {
  for (const QuantizedBlob &blob : kQuantizedBlobs)
    if (blob.format == format)
      return &blob;
  return nullptr;
}

/// Returns a blob's weight format, for readers; nothing if no weight has such
/// elements.
inline std::optional<WeightFormat> weightFormatOf(const schema::Blob &blob) {
  if (const QuantizedBlob *known = findQuantizedBlob(blob.format()))
    return WeightFormat{known->elements, blob.group(),
                        WeightScales(blob.scales()), blob.has_offset()};
  if (blob.format() == schema::BlobFormat::Elements &&
      blob.dtype() == schema::DType::F32)
    return WeightFormat{WeightElements::F32};
  if (blob.format() == schema::BlobFormat::Elements &&
      blob.dtype() == schema::DType::BF16)
    return WeightFormat{WeightElements::BF16};
  return std::nullopt;
}

/// A blob's format and type, for writers.
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

// Checks that both directions agree, and that every quantised format has
// panels.
static_assert([] {
  size_t quantized = 0;
  for (const WeightElementsInfo &info : kWeightFormats)
    for (bool isTable : {false, true}) {
      schema::BlobFormat format = storedFormatOf(info.elements, isTable).format;
      const QuantizedBlob *blob = findQuantizedBlob(format);
      if (info.isQuantized && !isTable && !blob)
        return false;
      if (blob && (blob->elements != info.elements || blob->isTable != isTable))
        return false;
      quantized += blob != nullptr;
    }
  return quantized == std::size(kQuantizedBlobs) &&
         quantized == size_t(schema::BlobFormat::MAX) &&
         std::size(kWeightScales) == size_t(schema::BlobScales::MAX) + 1;
}());

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_BLOBFORMAT_H
