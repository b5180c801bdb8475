//===- ModelFiles.cpp - The files that a model is made of -----------------===//

#include "tools/start/ModelFiles.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

using namespace mtp;
using namespace mtp::start;
namespace fs = std::filesystem;

/// Formats beside a model that mtp-import reads nothing of. A file of another
/// name counts, also if it turns out to be unused.
static constexpr std::array<std::string_view, 14> kUnread = {
    ".bin", ".pt", ".pth", ".ckpt", ".h5",  ".msgpack", ".onnx",
    ".ot",  ".md", ".pdf", ".png",  ".jpg", ".gif",     ".lock"};

static bool isUnread(const fs::path &path) {
  std::string name = path.filename().string();
  return name.starts_with('.') ||
         std::ranges::find(kUnread, path.extension().string()) != kUnread.end();
}

/// Appends the files below a folder. Folders are entered to a fixed depth, so
/// that a link to a folder above ends.
static void appendFolder(const fs::path &folder, const std::string &prefix,
                         unsigned depth, std::vector<ModelFile> &files) {
  std::error_code error;
  fs::directory_iterator it(folder, error), end;
  for (; !error && it != end; it.increment(error)) {
    const fs::path &path = it->path();
    if (isUnread(path))
      continue;
    std::string name = prefix + path.filename().string();
    std::error_code unknown;
    if (fs::is_regular_file(path, unknown))
      files.push_back({path.string(), name});
    else if (depth > 0 && fs::is_directory(path, unknown))
      appendFolder(path, name + "/", depth - 1, files);
  }
}

static constexpr unsigned kDepth = 4;

/// Returns the length of "-00001-of-00003.gguf" at the end of a name, if the
/// name has it.
static std::optional<size_t> shardEnding(std::string_view name) {
  constexpr std::string_view kPattern = "-00000-of-00000.gguf";
  if (name.size() < kPattern.size())
    return std::nullopt;
  std::string_view end = name.substr(name.size() - kPattern.size());
  for (size_t i = 0; i < end.size(); ++i) {
    bool isDigit = end[i] >= '0' && end[i] <= '9';
    if (kPattern[i] == '0' ? !isDigit : end[i] != kPattern[i])
      return std::nullopt;
  }
  return kPattern.size();
}

/// Returns the files of the set that a GGUF file belongs to.
static std::vector<ModelFile> listSet(const fs::path &path) {
  std::string name = path.filename().string();
  std::optional<size_t> ending = shardEnding(name);
  if (!ending)
    return {{path.string(), ""}};
  std::string_view stem =
      std::string_view(name).substr(0, name.size() - *ending);
  std::vector<ModelFile> files;
  fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code error;
  fs::directory_iterator it(folder, error), end;
  for (; !error && it != end; it.increment(error)) {
    std::string other = it->path().filename().string();
    if (shardEnding(other) && other.size() == name.size() &&
        other.starts_with(stem))
      files.push_back({it->path().string(), other});
  }
  std::ranges::sort(files, {}, &ModelFile::name);
  return files;
}

std::vector<ModelFile> start::listModelFiles(const std::string &path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return listSet(path);
  std::vector<ModelFile> files;
  appendFolder(path, "", kDepth, files);
  std::ranges::sort(files, {}, &ModelFile::name);
  return files;
}

/// Returns the part of `text` before a comma, if it is the path of a file or a
/// folder; else an empty text.
static std::string pathIn(std::string_view text) {
  std::error_code error;
  for (size_t comma = text.size(); comma != text.npos && comma > 0;
       comma = text.rfind(',', comma - 1)) {
    std::string path(text.substr(0, comma));
    if (fs::is_regular_file(path, error) || fs::is_directory(path, error))
      return path;
  }
  return "";
}

void start::appendNamedFiles(const std::vector<std::string> &words,
                             std::vector<ModelFile> &files) {
  for (const std::string &word : words) {
    size_t equals = word.starts_with('-') ? word.find('=') : word.npos;
    std::string path = pathIn(
        std::string_view(word).substr(equals == word.npos ? 0 : equals + 1));
    if (path.empty())
      continue;
    std::vector<ModelFile> named = listModelFiles(path);
    files.insert(files.end(), named.begin(), named.end());
  }
}

std::vector<cache::FileStamp>
start::stampsOf(const std::vector<ModelFile> &files) {
  std::vector<cache::FileStamp> stamps;
  for (const ModelFile &file : files) {
    struct stat info = {};
    if (::stat(file.path.c_str(), &info) != 0)
      info = {};
    stamps.emplace_back(info);
  }
  return stamps;
}
