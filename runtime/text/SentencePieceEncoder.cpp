//===- SentencePieceEncoder.cpp - Text to ids by SentencePiece ------------===//

#include "runtime/text/SentencePieceEncoder.h"

#include "runtime/text/SentencePieceModel.h"

#include <sentencepiece_processor.h>
#include <string>

using namespace mtp;

SentencePieceEncoder::SentencePieceEncoder() = default;
SentencePieceEncoder::SentencePieceEncoder(SentencePieceEncoder &&) noexcept =
    default;
SentencePieceEncoder &
SentencePieceEncoder::operator=(SentencePieceEncoder &&) noexcept = default;
SentencePieceEncoder::~SentencePieceEncoder() = default;

Result<SentencePieceEncoder>
SentencePieceEncoder::create(std::string_view model, uint32_t vocabSize) {
  MTP_ASSIGN_OR_RETURN(SentencePieceModel fields,
                       SentencePieceModel::read(model));
  if (fields.pieces.size() > vocabSize)
    return outOfRange("expected at most " + std::to_string(vocabSize) +
                      " SentencePiece pieces, got " +
                      std::to_string(fields.pieces.size()));
  SentencePieceEncoder encoder;
  encoder.processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  auto status = encoder.processor->LoadFromSerializedProto(model);
  if (!status.ok())
    return dataLoss("expected a SentencePiece model, got '" +
                    status.ToString() + "'");
  return encoder;
}

Status SentencePieceEncoder::encode(std::string_view text,
                                    std::vector<int32_t> &ids) const {
  std::vector<int> encoded;
  auto status = processor->Encode(text, &encoded);
  if (!status.ok())
    return internalError("expected SentencePiece to encode, got '" +
                         status.ToString() + "'");
  ids.insert(ids.end(), encoded.begin(), encoded.end());
  return okStatus();
}
