//===- SentencePieceEncoder.cpp - Encodes with SentencePiece --------------===//
//
// This is the only file of the runtime that is built with exceptions. The
// library throws, mostly for malformed models. No exception leaves this file.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/SentencePieceEncoder.h"

#include "runtime/tokenizer/SentencePieceModel.h"

#include <exception>
#include <sentencepiece_processor.h>
#include <string>

using namespace mtp;

SentencePieceEncoder::SentencePieceEncoder() = default;
SentencePieceEncoder::SentencePieceEncoder(SentencePieceEncoder &&) noexcept =
    default;
SentencePieceEncoder &
SentencePieceEncoder::operator=(SentencePieceEncoder &&) noexcept = default;
SentencePieceEncoder::~SentencePieceEncoder() = default;

/// Calls a function that returns the library's status.
template <typename Function>
static Status callLibrary(StatusCode code, const char *what,
                          Function function) {
  std::string got;
  try {
    auto status = function();
    if (status.ok())
      return okStatus();
    got = status.ToString();
  } catch (const std::exception &exception) {
    got = exception.what();
  }
  return Status(code, std::string(what) + ", got '" + got + "'");
}

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
  MTP_RETURN_IF_ERROR(
      callLibrary(StatusCode::DataLoss, "expected a SentencePiece model", [&] {
        return encoder.processor->LoadFromSerializedProto(model);
      }));
  return encoder;
}

Status SentencePieceEncoder::encode(std::string_view text,
                                    std::vector<int32_t> &ids) const {
  std::vector<int> encoded;
  MTP_RETURN_IF_ERROR(
      callLibrary(StatusCode::Internal, "expected SentencePiece to encode",
                  [&] { return processor->Encode(text, &encoded); }));
  ids.insert(ids.end(), encoded.begin(), encoded.end());
  return okStatus();
}
