//===- TokenizerTestUtil.cpp - Tokenizers for tests -----------------------===//

#include "test/Tokenizer/TokenizerTestUtil.h"

#include "runtime/tokenizer/ByteAlphabet.h"

#include <zlib.h>

using namespace mtp;
using namespace mtp::test;

namespace {

std::string quote(const std::string &text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted.push_back('\\');
    quoted.push_back(c);
  }
  return quoted + "\"";
}

std::string applyEdits(std::string json, const std::vector<JsonEdit> &edits) {
  for (const JsonEdit &edit : edits) {
    size_t pos = json.find(edit.from);
    EXPECT_NE(pos, std::string::npos) << "nothing to edit: " << edit.from;
    if (pos != std::string::npos)
      json.replace(pos, edit.from.size(), edit.to);
  }
  return json;
}

std::string vocabJson(const std::vector<std::string> &pieces) {
  std::string json = "{";
  for (size_t id = 0; id < pieces.size(); ++id)
    json += (id ? ", " : "") + quote(pieces[id]) + ": " + std::to_string(id);
  return json + "}";
}

} // namespace

std::string mtp::test::readGzip(const std::filesystem::path &path) {
  std::string text;
  gzFile file = gzopen(path.string().c_str(), "rb");
  if (!file)
    return text;
  char buffer[1 << 16];
  for (int count; (count = gzread(file, buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  gzclose(file);
  return text;
}

std::string mtp::test::byteLevelJson(const std::vector<JsonEdit> &edits) {
  std::vector<std::string> pieces;
  for (int byte = 0; byte < 256; ++byte)
    pieces.push_back(characterOfByte(static_cast<uint8_t>(byte)));
  // 256: he, 257: ll, 258: hell, 259: hello, 260: _w, 261: aa, 262: aaaa
  for (const char *piece :
       {"he", "ll", "hell", "hello", "\xC4\xA0w", "aa", "aaaa"})
    pieces.push_back(piece);
  return applyEdits(R"({
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
      {"id": 263, "content": "<|end|>", "single_word": false, "lstrip": false,
       "rstrip": false, "normalized": false, "special": true},
      {"id": 264, "content": "[tool]", "single_word": false, "lstrip": false,
       "rstrip": false, "normalized": false, "special": false}
    ],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false,
                      "trim_offsets": true, "use_regex": true},
    "post_processor": null,
    "decoder": {"type": "ByteLevel", "add_prefix_space": true,
                "trim_offsets": true, "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null,
      "continuing_subword_prefix": null, "end_of_word_suffix": null,
      "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
      "vocab": )" + vocabJson(pieces) +
                        R"(,
      "merges": ["h e", "l l", "he ll", "hell o", "Ġ w", "a a", "aa aa"]}
  })",
                    edits);
}

std::string mtp::test::characterJson(const std::vector<JsonEdit> &edits) {
  std::vector<std::string> pieces = {"<unk>", "<s>", "</s>"};
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", byte);
    pieces.push_back(name);
  }
  // 259: _, 260: a, 261: b, 262: é, 263: ab, 264: _ab
  for (const char *piece : {"▁", "a", "b", "é", "ab", "▁ab"})
    pieces.push_back(piece);
  return applyEdits(R"({
    "added_tokens": [
      {"id": 0, "content": "<unk>", "normalized": false, "special": true},
      {"id": 1, "content": "<s>", "normalized": false, "special": true},
      {"id": 2, "content": "</s>", "normalized": false, "special": true}
    ],
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Prepend", "prepend": "▁"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
    "pre_tokenizer": null,
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
    "decoder": {"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
      {"type": "ByteFallback"}, {"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>",
      "continuing_subword_prefix": null, "end_of_word_suffix": null,
      "fuse_unk": true, "byte_fallback": true,
      "vocab": )" + vocabJson(pieces) +
                        R"(,
      "merges": [["a", "b"], ["▁", "ab"]]}
  })",
                    edits);
}
