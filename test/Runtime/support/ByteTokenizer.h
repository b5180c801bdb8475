//===- ByteTokenizer.h - A tokenizer without the compiler -------*- C++ -*-===//

#ifndef MTP_TEST_RUNTIME_SUPPORT_BYTETOKENIZER_H
#define MTP_TEST_RUNTIME_SUPPORT_BYTETOKENIZER_H

#include "runtime/schema/mtp_tokenizer_generated.h"

namespace mtp::test {

/// Returns a tokenizer whose token i is byte i; token 256 is special.
inline std::vector<uint8_t> byteTokenizer() {
  schema::TokenizerT tables;
  tables.piece_offsets.push_back(0);
  for (uint32_t byte = 0; byte < 256; ++byte) {
    tables.piece_bytes.push_back(uint8_t(byte));
    tables.piece_offsets.push_back(byte + 1);
    tables.byte_ids.push_back(byte);
  }
  for (char c : std::string("<end>"))
    tables.piece_bytes.push_back(uint8_t(c));
  tables.piece_offsets.push_back(uint32_t(tables.piece_bytes.size()));
  auto end = std::make_unique<schema::AddedTokenT>();
  end->content = "<end>";
  end->id = 256;
  end->special = true;
  tables.added_tokens.push_back(std::move(end));
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishTokenizerBuffer(builder,
                                schema::CreateTokenizer(builder, &tables));
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

} // namespace mtp::test

#endif // MTP_TEST_RUNTIME_SUPPORT_BYTETOKENIZER_H
