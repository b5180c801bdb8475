//===- TokenizerTestUtil.h - Tokenizers for tests ---------------*- C++ -*-===//

#ifndef MTP_TEST_TOKENIZER_TOKENIZERTESTUTIL_H
#define MTP_TEST_TOKENIZER_TOKENIZERTESTUTIL_H

#include "compiler/Tokenizer/TokenizerFiles.h"
#include "compiler/Tokenizer/TokenizerTables.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace mtp::test {

/// A tokenizer with its tables, which are aligned like a loaded artifact's.
struct LoadedTokenizer {
  std::vector<uint64_t> storage;
  std::unique_ptr<Tokenizer> tokenizer;

  const Tokenizer *operator->() const { return tokenizer.get(); }
  const Tokenizer &operator*() const { return *tokenizer; }
};

inline Result<LoadedTokenizer> loadTables(std::string_view bytes) {
  LoadedTokenizer loaded;
  loaded.storage.resize((bytes.size() + 7) / 8);
  if (!bytes.empty())
    std::memcpy(loaded.storage.data(), bytes.data(), bytes.size());
  MTP_ASSIGN_OR_RETURN(
      loaded.tokenizer,
      Tokenizer::load({reinterpret_cast<const uint8_t *>(loaded.storage.data()),
                       bytes.size()}));
  return loaded;
}

inline Result<LoadedTokenizer> loadJson(std::string_view json,
                                        std::string_view config = {}) {
  MTP_ASSIGN_OR_RETURN(std::string tables, tablesFromHuggingFace(json, config));
  return loadTables(tables);
}

inline std::string readFile(const std::filesystem::path &path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Returns the text of a gzipped file, or an empty string if there is no file.
std::string readGzip(const std::filesystem::path &path);

/// Returns the folder of data outside of the project. A test that needs it is
/// skipped if the folder is absent.
inline std::filesystem::path sharedData() {
  if (const char *path = std::getenv("MTP_SHARED_DATA"))
    return path;
  return std::filesystem::path(MTP_SOURCE_DIR) / ".." / "shared" / "data";
}

#define MTP_REQUIRE_SHARED_DATA()                                              \
  if (!std::filesystem::is_directory(::mtp::test::sharedData()))               \
  GTEST_SKIP() << "no data folder, set MTP_SHARED_DATA"

#define MTP_ASSERT_OK(result)                                                  \
  ASSERT_TRUE((result).isOk()) << (result).status().toString()

using Ids = std::vector<TokenId>;

/// Returns a small byte-level tokenizer.json with all 256 bytes (the id of a
/// byte is the byte), a few merges and added tokens. `edit` replaces text in
/// it. An edit that finds nothing fails.
struct JsonEdit {
  std::string from, to;
};
std::string byteLevelJson(const std::vector<JsonEdit> &edits = {});

/// Returns a tokenizer.json of Llama's older kind: characters with byte
/// fallback. The ids are 0 <unk>, 1 <s>, 2 </s>, then <0x00> to <0xFF>, then
/// pieces.
std::string characterJson(const std::vector<JsonEdit> &edits = {});

} // namespace mtp::test

#endif // MTP_TEST_TOKENIZER_TOKENIZERTESTUTIL_H
