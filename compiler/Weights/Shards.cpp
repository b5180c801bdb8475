//===- Shards.cpp - Sets of files -----------------------------------------===//

#include "compiler/Weights/Shards.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <system_error>

namespace mtp {

namespace fs = std::filesystem;

namespace {

std::string inQuotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

} // namespace

std::vector<std::string> listFiles(const std::string &folder,
                                   std::string_view extension) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::directory_iterator it(folder, error), end;
  for (; !error && it != end; it.increment(error))
    if (it->path().extension() == extension)
      paths.push_back(it->path().string());
  std::ranges::sort(paths);
  return paths;
}

std::optional<Shard> parseShard(const std::string &path) {
  std::string name = fs::path(path).stem().string();
  size_t of = name.rfind("-of-");
  size_t dash = of == name.npos ? name.npos : name.rfind('-', of - 1);
  if (dash == name.npos)
    return std::nullopt;
  auto number = [&](size_t begin, size_t end, unsigned &value) {
    auto [last, error] =
        std::from_chars(name.data() + begin, name.data() + end, value);
    return error == std::errc() && last == name.data() + end;
  };
  Shard shard{name.substr(0, dash + 1)};
  if (!number(dash + 1, of, shard.number) ||
      !number(of + 4, name.size(), shard.count) || shard.number < 1 ||
      shard.number > shard.count)
    return std::nullopt;
  return shard;
}

/// Returns the shards of the only set among the files, by number. Fails if one
/// is missing. Empty if no file is a shard.
Result<std::vector<std::string>>
findShards(const std::vector<std::string> &files) {
  std::map<unsigned, std::string> shards;
  std::optional<Shard> first;
  for (const std::string &path : files) {
    std::optional<Shard> shard = parseShard(path);
    if (!shard)
      continue;
    if (!first)
      first = shard;
    bool isOfSet = shard->stem == first->stem && shard->count == first->count;
    if (!isOfSet || !shards.emplace(shard->number, path).second)
      return invalidArgument(
          "expected the shards of one set without an index, got " +
          inQuotes(fs::path(shards.begin()->second).filename().string()) +
          " and " + inQuotes(fs::path(path).filename().string()));
  }
  std::vector<std::string> paths;
  for (const auto &[number, path] : shards)
    if (number == paths.size() + 1)
      paths.push_back(path);
  if (first && paths.size() != first->count)
    return notFound("expected " + std::to_string(first->count) + " shards " +
                    inQuotes(first->stem + "N") +
                    " without an index, got none of the number " +
                    std::to_string(paths.size() + 1));
  return paths;
}

} // namespace mtp
