//===- GgufMutants.cpp - Wrong fields and pieces of GGUF files ------------===//

#include "test/Fuzz/GgufMutants.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace mtp::test {

namespace {

// Types of values, by the format's numbers.
constexpr uint32_t kU32 = 4, kI32 = 5, kBool = 7, kString = 8, kArray = 9,
                   kU64 = 10;
constexpr uint64_t kValueBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

template <typename T>
std::string packed(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

std::string packedText(const std::string &text) {
  return packed(uint64_t(text.size())) + text;
}

/// A number in the file.
struct Site {
  size_t offset;
  size_t bytes;
};

/// A piece of the file: a key with its value, or a row of the table of tensors.
struct Piece {
  size_t begin, end;
};

/// The places of a valid file.
struct Layout {
  std::map<std::string, std::vector<Site>> sites;
  std::vector<Piece> keys, tensors;
  size_t data = 0; ///< Where the tensors' bytes begin.
};

constexpr size_t kTensorCountAt = 8, kKeyCountAt = 16;

/// Finds the places, with an alignment of 32 bytes.
class Walk {
public:
  explicit Walk(const std::string &file) : file(file) {
    at = 4;
    note("version", 4);
    uint64_t tensors = note("tensor count", 8), keys = note("key count", 8);
    for (uint64_t i = 0; i < keys; ++i) {
      size_t begin = at;
      at += note("key length", 8);
      value();
      layout.keys.push_back({begin, at});
    }
    for (uint64_t i = 0; i < tensors; ++i) {
      size_t begin = at;
      at += note("tensor name length", 8);
      uint64_t dimensions = note("dimensions", 4);
      for (uint64_t j = 0; j < dimensions; ++j)
        note("extent", 8);
      note("tensor type", 4);
      note("tensor offset", 8);
      layout.tensors.push_back({begin, at});
    }
    layout.data = (at + 31) / 32 * 32;
  }

  Layout layout;

private:
  /// Notes the number here, moves past it and returns it.
  uint64_t note(const std::string &kind, size_t bytes) {
    layout.sites[kind].push_back({at, bytes});
    uint64_t number = 0;
    std::memcpy(&number, &file[at], bytes);
    at += bytes;
    return number;
  }

  void value() {
    uint64_t type = note("value type", 4), count = 1;
    bool isArray = type == kArray;
    if (isArray) {
      type = note("element type", 4);
      count = note("element count", 8);
    }
    for (uint64_t i = 0; i < count; ++i) {
      // Long lists have sites in their first elements.
      if (type == kString && i < 3)
        at += note("string length", 8);
      else if (type == kString)
        at += 8 + size_t(load(at));
      else if (i < 3)
        note(isArray ? "element" : "value", kValueBytes[type]);
      else
        at += kValueBytes[type];
    }
  }

  uint64_t load(size_t offset) const {
    uint64_t number = 0;
    std::memcpy(&number, &file[offset], sizeof(number));
    return number;
  }

  const std::string &file;
  size_t at = 0;
};

/// Makes mutants of one file.
class Maker {
public:
  Maker(const std::string &file, uint64_t seed)
      : file(file), layout(Walk(file).layout), random(seed) {}

  /// Makes a mutant with a wrong number of the kind `turn`, which counts kinds
  /// cyclically.
  GgufMutant makeField(size_t turn) {
    auto kind = layout.sites.begin();
    std::advance(kind, turn % layout.sites.size());
    Site site = kind->second[below(kind->second.size())];
    uint64_t number = 0;
    std::memcpy(&number, &file[site.offset], site.bytes);
    uint64_t mask = ~uint64_t(0) >> (64 - 8 * site.bytes);
    uint64_t wrong = number;
    while (wrong == number)
      wrong = chooseNumber(number, site) & mask;
    GgufMutant mutant{kind->first + " at " + std::to_string(site.offset) +
                          ": " + std::to_string(number) + " -> " +
                          std::to_string(wrong),
                      file};
    std::memcpy(&mutant.bytes[site.offset], &wrong, site.bytes);
    return mutant;
  }

  /// Makes a mutant with a wrong piece of the kind `turn`.
  GgufMutant makePiece(size_t turn) {
    using Make = GgufMutant (Maker::*)();
    constexpr Make kKinds[] = {
        &Maker::truncate,    &Maker::nest,       &Maker::align,
        &Maker::split,       &Maker::repeatKey,  &Maker::dropKey,
        &Maker::repeatTable, &Maker::swapTensor, &Maker::dropTensor,
        &Maker::append,      &Maker::addStack,   &Maker::addList};
    return (this->*kKinds[turn % std::size(kKinds)])();
  }

private:
  size_t below(size_t end) { return size_t(random() % end); }

  template <typename T>
  T any(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

  /// Returns a number that is likely to break a reader.
  uint64_t chooseNumber(uint64_t number, const Site &site) {
    uint64_t left = file.size() - site.offset - site.bytes;
    constexpr uint64_t kOne = 1;
    return any<uint64_t>({0,
                          1,
                          2,
                          7,
                          8,
                          9,
                          13,
                          30,
                          39,
                          255,
                          number + 1,
                          number - 1,
                          number * 2,
                          number / 2,
                          number + 32,
                          number + 31,
                          left,
                          left + 1,
                          left / 8,
                          left / 8 + 1,
                          left / 24,
                          kOne << 16,
                          kOne << 17,
                          kOne << 20,
                          kOne << 24,
                          (kOne << 31) - 1,
                          kOne << 31,
                          kOne << 32,
                          kOne << 61,
                          kOne << 62,
                          (kOne << 63) - 1,
                          kOne << 63,
                          ~uint64_t(0),
                          ~uint64_t(7),
                          ~uint64_t(31),
                          random()});
  }

  /// Replaces bytes of the header, and pads the header again.
  GgufMutant replace(std::string name, Piece piece, const std::string &with) {
    std::string header = file.substr(0, layout.data);
    if (!layout.tensors.empty())
      header.resize(layout.tensors.back().end);
    header.replace(piece.begin, piece.end - piece.begin, with);
    header.resize((header.size() + 31) / 32 * 32);
    return {std::move(name) + " at " + std::to_string(piece.begin),
            header + file.substr(layout.data)};
  }

  static void addTo(std::string &bytes, size_t offset, int64_t change) {
    uint64_t number = 0;
    std::memcpy(&number, &bytes[offset], sizeof(number));
    number += uint64_t(change);
    std::memcpy(&bytes[offset], &number, sizeof(number));
  }

  std::string text(Piece piece) const {
    return file.substr(piece.begin, piece.end - piece.begin);
  }
  Piece anyKey() { return layout.keys[below(layout.keys.size())]; }
  Piece anyTensor() { return layout.tensors[below(layout.tensors.size())]; }

  /// Adds a key before all others.
  GgufMutant addKey(const std::string &name, uint32_t type,
                    const std::string &value) {
    size_t first = layout.keys.front().begin;
    GgufMutant mutant = replace("added key " + name, {first, first},
                                packedText(name) + packed(type) + value);
    addTo(mutant.bytes, kKeyCountAt, 1);
    return mutant;
  }

  GgufMutant truncate() {
    size_t end = any({below(file.size()), below(layout.data), layout.data,
                      layout.data + below(64), file.size() - 1});
    return {"truncated at " + std::to_string(end), file.substr(0, end)};
  }

  GgufMutant nest() {
    uint64_t depth = any<uint64_t>({1, 2, 1000, 100000});
    std::string value;
    for (uint64_t i = 0; i < depth; ++i)
      value += packed(kArray) + packed(any<uint64_t>({1, 2, 1u << 31}));
    value += packed(kU32) + packed(uint64_t(1)) + packed(uint32_t(7));
    return addKey("nested." + std::to_string(depth), kArray, value);
  }

  GgufMutant align() {
    uint64_t alignment =
        any<uint64_t>({0, 1, 2, 3, 8, 16, 64, 4096, 1u << 20, 1u << 21,
                       1u << 31, uint64_t(1) << 63, ~uint64_t(0)});
    std::string name = "general.alignment";
    switch (below(4)) {
    case 0:
      return addKey(name, kU64, packed(alignment));
    case 1:
      return addKey(name, kI32, packed(int32_t(alignment)));
    case 2:
      return addKey(name, kArray,
                    packed(kU32) + packed(uint64_t(2)) + packed(alignment));
    default:
      return addKey(name, kU32, packed(uint32_t(alignment)));
    }
  }

  /// Adds keys of sets of files. The keys of a set's file occur twice then.
  GgufMutant split() {
    std::string name =
        any<const char *>({"split.no", "split.count", "split.tensors.count"});
    uint64_t number =
        any<uint64_t>({0, 1, 2, 3, 65535, 1u << 31, ~uint64_t(0)});
    switch (below(3)) {
    case 0:
      return addKey(name, kU64, packed(number));
    case 1:
      return addKey(name, kString, packedText(std::to_string(number)));
    default:
      return addKey(name, kI32, packed(int32_t(number)));
    }
  }

  GgufMutant repeatKey() {
    Piece piece = anyKey();
    GgufMutant mutant =
        replace("repeated key", {piece.end, piece.end}, text(piece));
    if (below(2))
      addTo(mutant.bytes, kKeyCountAt, 1);
    return mutant;
  }

  GgufMutant dropKey() {
    GgufMutant mutant = replace("dropped key", anyKey(), "");
    addTo(mutant.bytes, kKeyCountAt, -1);
    return mutant;
  }

  /// Repeats a tensor's row under the old or a new name.
  GgufMutant repeatTable() {
    Piece piece = anyTensor();
    std::string row = text(piece);
    if (below(2))
      row[8] = 'x';
    GgufMutant mutant = replace("repeated tensor", {piece.end, piece.end}, row);
    addTo(mutant.bytes, kTensorCountAt, 1);
    return mutant;
  }

  GgufMutant swapTensor() {
    Piece first = anyTensor(), second = anyTensor();
    if (first.begin > second.begin)
      std::swap(first, second);
    std::string between = first.end < second.begin
                              ? file.substr(first.end, second.begin - first.end)
                              : std::string();
    if (first.begin == second.begin)
      return dropTensor();
    return replace("exchanged tensors", {first.begin, second.end},
                   text(second) + between + text(first));
  }

  GgufMutant dropTensor() {
    GgufMutant mutant = replace("dropped tensor", anyTensor(), "");
    if (below(4))
      addTo(mutant.bytes, kTensorCountAt, -1);
    return mutant;
  }

  GgufMutant append() {
    size_t count = any<size_t>({1, 31, 32, 4096});
    return {"appended bytes", file + std::string(count, '\1')};
  }

  /// Adds a stack of experts without elements, or with one per matrix.
  GgufMutant addStack() {
    uint64_t columns = any<uint64_t>({0, 0, 32, 1}),
             rows = any<uint64_t>({0, 1});
    uint64_t count = any<uint64_t>(
        {0, 1, 1u << 10, 1u << 16, 1u << 17, 1u << 18, uint64_t(1) << 62});
    std::string leaf = any<const char *>(
        {"ffn_up_exps.weight", "ffn_gate_exps.weight", "ffn_down_exps.scale",
         "attn_k_b.weight", "attn_qkv.weight"});
    uint32_t type = any<uint32_t>({0, 1, 8});
    std::string row = packedText("blk.0." + leaf) + packed(uint32_t(3)) +
                      packed(columns) + packed(rows) + packed(count) +
                      packed(type) + packed(uint64_t(0));
    size_t begin = layout.tensors.front().begin;
    GgufMutant mutant =
        replace("added stack of " + std::to_string(count), {begin, begin}, row);
    addTo(mutant.bytes, kTensorCountAt, 1);
    return mutant;
  }

  /// Replaces the value of a key by a list of zeros, or of empty strings.
  GgufMutant addList() {
    Piece piece = anyKey();
    uint64_t length = 0;
    std::memcpy(&length, &file[piece.begin], sizeof(length));
    std::string key = file.substr(piece.begin, 8 + size_t(length));
    uint64_t count = any<uint64_t>({0, 1, 100, 1u << 13});
    uint32_t type = any<uint32_t>({kU32, kBool, kString, kU64});
    uint64_t bytes = count * (type == kString ? 8 : kValueBytes[type]);
    return replace("list of " + std::to_string(count) + " of type " +
                       std::to_string(type) + " as a value",
                   piece,
                   key + packed(kArray) + packed(type) + packed(count) +
                       std::string(size_t(bytes), '\0'));
  }

  const std::string &file;
  Layout layout;
  std::mt19937_64 random;
};

} // namespace

void forEachGgufMutant(const std::string &file, size_t count, uint64_t seed,
                       const std::function<void(const GgufMutant &)> &use) {
  Maker maker(file, seed);
  for (size_t i = 0; i < count; ++i)
    use(i % 2 ? maker.makePiece(i / 2) : maker.makeField(i / 2));
}

} // namespace mtp::test
