//===- RawText.cpp - Text that ends in front of a mark --------------------===//
//
// The automaton of A. Aho and M. Corasick, "Efficient String Matching" (1975):
// a state is the longest end of the text that begins a mark. States that
// complete a mark are left out.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/schema/RawText.h"

#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <map>
#include <optional>

using namespace mtp;
using namespace mtp::grammar;

namespace {

std::vector<uint32_t> charactersOf(std::string_view text) {
  std::vector<uint32_t> characters;
  for (size_t pos = 0; pos < text.size(); pos += utf8Length(text, pos))
    characters.push_back(decodeUtf8(text, pos));
  return characters;
}

/// The trie of some marks, with the state of each node.
class Marks {
public:
  explicit Marks(const std::vector<std::string_view> &texts);

  size_t count() const { return nodes.size(); }
  /// Returns the characters that begin or continue a mark.
  const CodePoints &characters() const { return used; }
  /// Returns the node after a character, or nothing if a mark is complete.
  std::optional<size_t> next(size_t node, uint32_t character) const;

private:
  struct Node {
    std::vector<uint32_t> path;
    bool isMark = false;
  };
  std::vector<Node> nodes{1};
  std::map<std::vector<uint32_t>, size_t> byPath;
  CodePoints used;
};

Marks::Marks(const std::vector<std::string_view> &texts) {
  byPath[{}] = 0;
  for (std::string_view text : texts) {
    std::vector<uint32_t> path;
    for (uint32_t character : charactersOf(text)) {
      used.add(character, character);
      path.push_back(character);
      if (byPath.try_emplace(path, nodes.size()).second)
        nodes.push_back({path, false});
    }
    nodes[byPath.at(path)].isMark = true;
  }
}

std::optional<size_t> Marks::next(size_t node, uint32_t character) const {
  std::vector<uint32_t> path = nodes[node].path;
  path.push_back(character);
  size_t found = 0;
  // The marks are short, so each end of the path is looked up.
  for (size_t begin = 0; begin < path.size(); ++begin) {
    auto end = byPath.find({path.begin() + ptrdiff_t(begin), path.end()});
    if (end == byPath.end())
      continue;
    if (nodes[end->second].isMark)
      return std::nullopt;
    if (found == 0)
      found = end->second;
  }
  return found;
}

} // namespace

CodePoints RawText::harmless() const {
  uint32_t first = decodeUtf8(mark, 0);
  return CodePoints{{first, first}}.complement();
}

void mtp::grammar::addTextWithout(AutomatonBuilder &builder,
                                  const std::vector<std::string_view> &texts,
                                  StateId from, StateId to) {
  Marks marks(texts);
  std::vector<StateId> states;
  for (size_t node = 0; node < marks.count(); ++node) {
    states.push_back(builder.addState());
    builder.addEmpty(states.back(), to);
  }
  builder.addEmpty(from, states[0]);
  for (size_t node = 0; node < marks.count(); ++node) {
    builder.addCharacter(states[node], marks.characters().complement(),
                         states[0]);
    for (CodePointRange range : marks.characters().ranges())
      for (uint32_t c = range.first; c <= range.last; ++c)
        if (std::optional<size_t> next = marks.next(node, c))
          builder.addCharacter(states[node], {{c, c}}, states[*next]);
  }
}

void mtp::grammar::addRawText(AutomatonBuilder &builder, const RawText &raw,
                              StateId from, StateId to) {
  if (raw.notFirst.empty())
    return addTextWithout(builder, {raw.mark}, from, to);
  builder.addEmpty(from, to);
  StateId rest = builder.addState();
  CodePoints first = raw.harmless().intersection(raw.notFirst.complement());
  builder.addCharacter(from, first, rest);
  addTextWithout(builder, {raw.mark}, rest, to);
}
