//===- TokenTrie.cpp - Tokens by their bytes ------------------------------===//

#include "runtime/grammar/mask/TokenTrie.h"

#include <algorithm>

using namespace mtp::grammar;

TokenTrie::TokenTrie(std::span<const TokenBytes> tokens, uint32_t noToken)
    : none(noToken) {
  // The nodes of the token before, by depth.
  std::vector<uint32_t> path;
  auto closeFrom = [&](size_t depth) {
    for (; path.size() > depth; path.pop_back())
      preorder[path.back()].skip = static_cast<uint32_t>(preorder.size());
  };
  std::string_view before;
  for (const TokenBytes &token : tokens) {
    auto [a, b] = std::mismatch(before.begin(), before.end(),
                                token.bytes.begin(), token.bytes.end());
    closeFrom(static_cast<size_t>(b - token.bytes.begin()));
    while (path.size() < token.bytes.size()) {
      auto byte = static_cast<uint8_t>(token.bytes[path.size()]);
      auto depth = static_cast<uint16_t>(path.size() + 1);
      path.push_back(static_cast<uint32_t>(preorder.size()));
      preorder.push_back({0, none, depth, byte});
    }
    Node &node = preorder[path.back()];
    if (node.token == none)
      node.token = token.id;
    else
      equalTokens.push_back({node.token, token.id});
    longest = std::max(longest, static_cast<uint32_t>(path.size()));
    before = token.bytes;
  }
  closeFrom(0);
}
