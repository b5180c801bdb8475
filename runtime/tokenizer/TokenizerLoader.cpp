//===- TokenizerLoader.cpp - Verifies a tokenizer's tables ----------------===//
//
// Tables are verified here, once. No later code checks them again.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/tokenizer/TokenizerImpl.h"
#include "runtime/utf8/Utf8.h"

#include <cstdint>

using namespace mtp;

static constexpr size_t kAlignment = 8;
static constexpr size_t kMaxTableBytes = size_t(1) << 30;
static constexpr uint32_t kMaxAffixIds = 64;

static std::string_view viewOf(const flatbuffers::Vector<uint8_t> *bytes) {
  if (!bytes)
    return {};
  return {reinterpret_cast<const char *>(bytes->data()), bytes->size()};
}

static Status verifyStructure(std::span<const uint8_t> bytes) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment != 0)
    return invalidArgument(
        strCat("expected tokenizer tables aligned to ", kAlignment, " bytes"));
  if (bytes.size() < kAlignment || bytes.size() > kMaxTableBytes)
    return dataLoss(strCat("expected tokenizer tables of ", kAlignment, " to ",
                           kMaxTableBytes, " bytes, got ", bytes.size()));
  if (!schema::TokenizerBufferHasIdentifier(bytes.data()))
    return dataLoss(strCat("expected tokenizer tables with identifier '",
                           schema::TokenizerIdentifier(), "'"));
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (!schema::VerifyTokenizerBuffer(verifier))
    return dataLoss("expected tokenizer tables, got a malformed FlatBuffer");
  return okStatus();
}

static Status verifyId(std::string_view field, int64_t id, uint32_t vocabSize) {
  if (id < vocabSize)
    return okStatus();
  return outOfRange(
      strCat("expected ", field, " below ", vocabSize, ", got ", id));
}

/// Checks an id that may be absent. -1 means absent.
static Status verifyOptionalId(std::string_view field, int64_t id,
                               uint32_t vocabSize) {
  if (id < -1)
    return outOfRange(strCat("expected an id or -1, got ", id));
  return verifyId(field, id, vocabSize);
}

static Status verifyAffix(std::string_view field,
                          const flatbuffers::Vector<uint32_t> *ids,
                          uint32_t vocabSize) {
  uint32_t count = ids ? ids->size() : 0;
  if (count > kMaxAffixIds)
    return outOfRange(
        strCat("expected at most ", kMaxAffixIds, " ", field, ", got ", count));
  for (uint32_t i = 0; i < count; ++i)
    MTP_RETURN_IF_ERROR(verifyId(field, ids->Get(i), vocabSize));
  return okStatus();
}

static TextPipeline::StepTables stepsOf(
    const flatbuffers::Vector<flatbuffers::Offset<schema::TextStep>> *tables) {
  TextPipeline::StepTables steps;
  if (tables)
    steps.assign(tables->begin(), tables->end());
  return steps;
}

Result<std::unique_ptr<Tokenizer>>
Tokenizer::load(std::span<const uint8_t> bytes) {
  MTP_RETURN_IF_ERROR(verifyStructure(bytes));
  auto impl = std::make_unique<Impl>();
  MTP_RETURN_IF_ERROR(impl->load(*schema::GetTokenizer(bytes.data())));
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(impl)));
}

Status Tokenizer::Impl::load(const schema::Tokenizer &verifiedTables) {
  tables = &verifiedTables;
  MTP_RETURN_IF_ERROR(verifyPieces(*tables));
  MTP_RETURN_IF_ERROR(verifyIds());
  MTP_RETURN_IF_ERROR(loadModel());
  MTP_RETURN_IF_ERROR(loadPipelines());
  return loadAddedTokens();
}

Status Tokenizer::Impl::verifyIds() const {
  uint32_t vocabSize = vocabSizeOf(*tables);
  MTP_RETURN_IF_ERROR(verifyOptionalId("bos_id", tables->bos_id(), vocabSize));
  MTP_RETURN_IF_ERROR(verifyOptionalId("eos_id", tables->eos_id(), vocabSize));
  MTP_RETURN_IF_ERROR(verifyOptionalId("unk_id", tables->unk_id(), vocabSize));
  MTP_RETURN_IF_ERROR(
      verifyAffix("prefix_ids", tables->prefix_ids(), vocabSize));
  return verifyAffix("suffix_ids", tables->suffix_ids(), vocabSize);
}

Status Tokenizer::Impl::loadModel() {
  switch (tables->kind()) {
  case schema::TokenizerKind::ByteLevelBpe:
  case schema::TokenizerKind::CharacterBpe: {
    MTP_ASSIGN_OR_RETURN(bpe, Bpe::create(*tables));
    return okStatus();
  }
  case schema::TokenizerKind::SentencePiece: {
    MTP_ASSIGN_OR_RETURN(sentencePiece, SentencePieceEncoder::create(
                                            viewOf(tables->sentencepiece()),
                                            vocabSizeOf(*tables)));
    return okStatus();
  }
  }
  return outOfRange(strCat("expected a known kind, got ", int(tables->kind())));
}

Status Tokenizer::Impl::loadPipelines() {
  TextPipeline::StepTables steps = stepsOf(tables->normalizer());
  for (const schema::TextStep *step : steps)
    if (step->kind() == schema::TextStepKind::Split)
      return invalidArgument("expected a normalizer that does not split");
  Result<TextPipeline> pipeline = TextPipeline::create(steps);
  if (!pipeline.isOk())
    return pipeline.status().withContext("normalizer");
  if (pipeline->splitsCharacters())
    return invalidArgument("expected a normalizer that yields text");
  normalizer = std::move(*pipeline);

  pipeline = TextPipeline::create(stepsOf(tables->pre_tokenizer()));
  if (!pipeline.isOk())
    return pipeline.status().withContext("pre_tokenizer");
  if (pipeline->splitsCharacters() &&
      tables->kind() != schema::TokenizerKind::ByteLevelBpe)
    return invalidArgument("expected a pre_tokenizer that yields text for a "
                           "model of characters");
  preTokenizer = std::move(*pipeline);
  return okStatus();
}

/// Returns the token of a table. Its content is not normalized yet.
static Result<AddedToken> readAddedToken(const schema::AddedToken &table,
                                         const std::string &where,
                                         uint32_t vocabSize) {
  MTP_RETURN_IF_ERROR(verifyId(where + ".id", table.id(), vocabSize));
  AddedToken token;
  token.content = table.content()->str();
  token.id = TokenId(table.id());
  token.special = table.special();
  token.lstrip = table.lstrip();
  token.rstrip = table.rstrip();
  token.singleWord = table.single_word();
  if (!isValidUtf8(token.content))
    return invalidArgument("expected UTF-8 as content of " + where);
  return token;
}

Status Tokenizer::Impl::loadAddedTokens() {
  uint32_t vocabSize = vocabSizeOf(*tables);
  std::vector<AddedToken> raw, normalized;
  MatchScratch scratch;
  special.assign(vocabSize, false);
  uint32_t count = tables->added_tokens() ? tables->added_tokens()->size() : 0;
  for (uint32_t i = 0; i < count; ++i) {
    const schema::AddedToken &table = *tables->added_tokens()->Get(i);
    std::string where = strCat("added_tokens[", i, "]");
    MTP_ASSIGN_OR_RETURN(AddedToken token,
                         readAddedToken(table, where, vocabSize));
    special[token.id] = token.special;
    if (!addedIds.emplace(token.content, token.id).second)
      return invalidArgument("expected distinct added tokens, got '" +
                             token.content + "' twice");
    if (!table.normalized()) {
      raw.push_back(std::move(token));
      continue;
    }
    // The token is found in normalized text, so it must be normalized.
    PieceList list{token.content, {{0, token.content.size()}}};
    MTP_RETURN_IF_ERROR(
        normalizer.apply(list, /*atStart=*/true, scratch).withContext(where));
    token.content = std::move(list.text);
    normalized.push_back(std::move(token));
  }
  MTP_ASSIGN_OR_RETURN(rawAdded, AddedTokens::create(std::move(raw)));
  MTP_ASSIGN_OR_RETURN(normalizedAdded,
                       AddedTokens::create(std::move(normalized)));
  return okStatus();
}
