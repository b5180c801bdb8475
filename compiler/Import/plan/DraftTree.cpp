//===- DraftTree.cpp - The arrangement of drafts --------------------------===//

#include "compiler/Import/plan/DraftTree.h"

#include "compiler/Import/plan/AcceptSpec.h"
#include "compiler/Weights/InputFile.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace mtp::importer {

namespace {

using Path = std::vector<int64_t>;

constexpr size_t kMaxTreeBytes = 1 << 20;
constexpr int64_t kMostRank = 1 << 20;

std::string show(const Path &path) {
  std::string text;
  for (int64_t rank : path)
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return "[" + text + "]";
}

/// Reads lists of lists of numbers, in square or round brackets.
class ChoiceParser {
public:
  explicit ChoiceParser(std::string_view text) : text(text) {}

  Result<std::vector<Path>> parse() {
    // Python files begin with a name: `mc_sim_7b_63 = `.
    size_t equals = text.find('='), bracket = text.find_first_of("[(");
    if (equals != text.npos && equals < bracket)
      at = equals + 1;
    std::vector<Path> paths;
    MTP_RETURN_IF_ERROR(list([&] {
      paths.emplace_back();
      return list([&] { return number(paths.back()); });
    }));
    skipSpace();
    if (at != text.size())
      return unexpected("the end");
    return paths;
  }

private:
  void skipSpace() {
    at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
  }
  bool take(char c) {
    skipSpace();
    bool isThere = at < text.size() && text[at] == c;
    at += isThere;
    return isThere;
  }
  Status unexpected(const std::string &what) {
    size_t line = size_t(std::count(text.begin(), text.begin() + at, '\n')) + 1;
    std::string got = at < text.size() ? "'" + std::string(1, text[at]) + "'"
                                       : std::string("the end");
    return invalidArgument("line " + std::to_string(line) + ": expected " +
                           what + ", got " + got);
  }

  /// Reads items separated by commas. A trailing comma is allowed.
  template <typename Item>
  Status list(Item item) {
    bool isSquare = take('[');
    if (!isSquare && !take('('))
      return unexpected("'['");
    char end = isSquare ? ']' : ')';
    while (!take(end)) {
      MTP_RETURN_IF_ERROR(item());
      if (take(','))
        continue;
      return take(end) ? okStatus()
                       : unexpected("',' or '" + std::string(1, end) + "'");
    }
    return okStatus();
  }

  Status number(Path &path) {
    skipSpace();
    int64_t value = 0;
    auto [next, error] =
        std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc() || value < 0 || value > kMostRank)
      return unexpected("a rank, 0 or more");
    at = size_t(next - text.data());
    path.push_back(value);
    return okStatus();
  }

  std::string_view text;
  size_t at = 0;
};

Status checkSizes(const std::vector<Path> &paths) {
  if (paths.empty())
    return invalidArgument("expected a path at least, got none");
  if (int64_t(paths.size()) >= kMostNodes)
    return outOfRange("expected at most " + std::to_string(kMostNodes - 1) +
                      " paths, got " + std::to_string(paths.size()));
  for (const Path &path : paths)
    if (path.empty() || int64_t(path.size()) > kMostDepth)
      return outOfRange("expected paths of 1 to " + std::to_string(kMostDepth) +
                        " ranks, got " + show(path));
  return okStatus();
}

/// Reads exactly three numbers, separated by commas.
std::optional<std::vector<int64_t>> parseThree(std::string_view text) {
  std::vector<int64_t> numbers;
  const char *at = text.data(), *end = at + text.size();
  while (numbers.size() < 3) {
    int64_t number = 0;
    auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc())
      return std::nullopt;
    numbers.push_back(number);
    bool isLast = numbers.size() == 3;
    if (isLast ? next != end : next == end || *next != ',')
      return std::nullopt;
    at = next + 1;
  }
  return numbers;
}

Status outOf(std::string_view text, const std::string &what) {
  return outOfRange("--draft-tree: expected " + what + ", got '" +
                    std::string(text) + "'");
}

/// Reads one option after the numbers. Returns false if it is unknown or a
/// repetition.
bool readOption(std::string_view text, DraftTree &tree) {
  constexpr std::string_view kSharp = "sharp=";
  if (text == "raw" && tree.rank == TreeRank::Coupled) {
    tree.rank = TreeRank::Raw;
    return true;
  }
  if (!text.starts_with(kSharp) || tree.sharp)
    return false;
  text.remove_prefix(kSharp.size());
  double value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return false;
  tree.sharp = value;
  return true;
}

/// Removes the options that change the ranking from the end of the text.
std::string_view takeOptions(std::string_view text, DraftTree &tree) {
  size_t comma = text.rfind(',');
  while (comma != text.npos && readOption(text.substr(comma + 1), tree)) {
    text = text.substr(0, comma);
    comma = text.rfind(',');
  }
  return text;
}

Status checkSharp(std::string_view text, const DraftTree &tree) {
  if (tree.sharp && !(*tree.sharp >= 1 && *tree.sharp <= kMostSharp))
    return outOf(text, "sharp of 1 to " + std::to_string(int(kMostSharp)));
  return okStatus();
}

Result<DraftTree> parseDynamic(std::string_view text) {
  std::string_view given = text.substr(text.find(':') + 1);
  DraftTree tree;
  std::optional<std::vector<int64_t>> numbers =
      parseThree(takeOptions(given, tree));
  if (!numbers)
    return outOf(text, "dynamic:depth,width,nodes, and perhaps ,raw and "
                       ",sharp=N after it");
  MTP_RETURN_IF_ERROR(checkSharp(text, tree));
  tree.kind = DraftTreeKind::Dynamic;
  tree.depth = (*numbers)[0];
  tree.width = (*numbers)[1];
  tree.nodes = (*numbers)[2];
  if (tree.depth < 1 || tree.depth > kMostDepth)
    return outOf(text, "a depth of 1 to " + std::to_string(kMostDepth));
  if (tree.width < kLeastWidth || tree.width > kMostWidth)
    return outOf(text, "a width of " + std::to_string(kLeastWidth) + " to " +
                           std::to_string(kMostWidth));
  int64_t most = 1 + tree.width + (tree.depth - 1) * tree.width * tree.width;
  most = std::min(most, kMostNodes);
  if (tree.nodes <= tree.depth || tree.nodes > most)
    return outOf(text, std::to_string(tree.depth + 1) + " to " +
                           std::to_string(most) +
                           " nodes, the anchor among them");
  return tree;
}

} // namespace

Result<DraftTree> parseChoices(std::string_view text) {
  MTP_ASSIGN_OR_RETURN(std::vector<Path> paths, ChoiceParser(text).parse());
  MTP_RETURN_IF_ERROR(checkSizes(paths));
  std::sort(paths.begin(), paths.end(), [](const Path &a, const Path &b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  DraftTree tree;
  tree.kind = DraftTreeKind::Static;
  tree.parents = {-1};
  std::map<Path, int64_t> nodes = {{Path(), 0}};
  for (const Path &path : paths) {
    int64_t node = int64_t(tree.parents.size());
    if (!nodes.emplace(path, node).second)
      return invalidArgument("expected every path once, got " + show(path) +
                             " again");
    Path parent(path.begin(), path.end() - 1), better = path;
    if (!nodes.contains(parent))
      return invalidArgument("expected the path " + show(parent) + ", which " +
                             show(path) + " continues, got none");
    better.back() -= 1;
    if (path.back() > 0 && !nodes.contains(better))
      return invalidArgument("expected the path " + show(better) +
                             " beside the next rank's " + show(path) +
                             ", got none");
    tree.parents.push_back(nodes.at(parent));
    tree.depth = int64_t(path.size());
  }
  tree.nodes = int64_t(tree.parents.size());
  return tree;
}

Result<DraftTree> parseDraftTree(std::string_view text) {
  if (text == "chain")
    return DraftTree();
  if (text.starts_with("dynamic:"))
    return parseDynamic(text);
  std::string path(text);
  Result<std::string> file = readTextFile(path, kMaxTreeBytes);
  if (!file)
    return file.status().withContext(
        "--draft-tree: expected chain, dynamic:depth,width,nodes or a file");
  Result<DraftTree> tree = parseChoices(*file);
  if (!tree)
    return tree.status().withContext("--draft-tree: \"" + path + "\"");
  return tree;
}

std::string describeTree(const DraftTree &tree) {
  switch (tree.kind) {
  case DraftTreeKind::Chain:
    return "chain";
  case DraftTreeKind::Static:
    return "tree:" + std::to_string(tree.nodes);
  case DraftTreeKind::Dynamic:
    return "dynamic:" + std::to_string(tree.depth) + "," +
           std::to_string(tree.width) + "," + std::to_string(tree.nodes) +
           (tree.sharp ? ",sharp=" + shortest(*tree.sharp) : "") +
           (tree.rank == TreeRank::Raw ? ",raw" : "");
  }
  return "";
}

} // namespace mtp::importer
