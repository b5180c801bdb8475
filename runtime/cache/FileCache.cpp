//===- FileCache.cpp - Large files on disk --------------------------------===//

#include "runtime/cache/FileCache.h"

#include "runtime/cache/CacheFolder.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <set>

using namespace mtp;
using namespace mtp::cache;
namespace fs = std::filesystem;

static constexpr std::string_view kFile = ".bin", kText = ".txt",
                                  kLock = ".lock", kWork = ".work";
/// First line of a description.
static constexpr std::string_view kVersion = "mtpc file 1\n";
static constexpr uint64_t kMostText = 64 << 10;

static std::string with(const std::string &name, std::string_view extension) {
  return strCat(name, extension);
}

Result<std::unique_ptr<FileCache>> FileCache::open(const std::string &path,
                                                   uint64_t mostBytes) {
  MTP_ASSIGN_OR_RETURN(Descriptor folder, openPrivateFolder(path));
  return std::unique_ptr<FileCache>(
      new FileCache(path, std::move(folder), mostBytes));
}

/// Removes "NAME VALUE\n" from the front of `text` and returns the value.
static std::optional<std::string_view> takeLine(std::string_view &text,
                                                std::string_view name) {
  size_t end = text.find('\n');
  if (end == text.npos || !text.starts_with(name) || text[name.size()] != ' ')
    return std::nullopt;
  std::string_view value = text.substr(name.size() + 1, end - name.size() - 1);
  text.remove_prefix(end + 1);
  return value;
}

template <typename T>
static bool parseWhole(std::optional<std::string_view> text, T &number) {
  if (!text)
    return false;
  const char *first = text->data(), *last = first + text->size();
  auto end = std::from_chars(first, last, number);
  return end.ec == std::errc() && end.ptr == last;
}

static std::optional<FileDescription> parseDescription(std::string_view text) {
  FileDescription description;
  if (!text.starts_with(kVersion))
    return std::nullopt;
  text.remove_prefix(kVersion.size());
  if (!parseWhole(takeLine(text, "bytes"), description.bytes) ||
      !parseWhole(takeLine(text, "made"), description.made))
    return std::nullopt;
  std::optional<std::string_view> line = takeLine(text, "of");
  if (!line || !text.empty())
    return std::nullopt;
  description.text = *line;
  return description;
}

static std::string printDescription(const FileDescription &description) {
  std::string text = description.text;
  // One line, without control characters: terminals obey some of them.
  std::ranges::replace_if(
      text, [](char c) { return uint8_t(c) < 0x20 || c == 0x7f; }, '?');
  return strCat(kVersion, "bytes ", description.bytes, "\nmade ",
                description.made, "\nof ", text, "\n");
}

std::optional<FileDescription>
FileCache::describe(const std::string &name) const {
  struct stat info;
  Descriptor file = openPrivateFile(folder.get(), with(name, kText), info);
  if (!file.isOpen() || uint64_t(info.st_size) > kMostText)
    return std::nullopt;
  std::string text(size_t(info.st_size), '\0');
  if (!readAll(file.get(), text.data(), text.size()))
    return std::nullopt;
  return parseDescription(text);
}

std::optional<UsedFile> FileCache::find(const Digest &key) {
  std::string name = toHex(key), binary = with(name, kFile);
  struct stat info, named;
  UsedFile used;
  used.file = openPrivateFile(folder.get(), binary, info);
  // Another process may remove or replace the file before it is locked.
  if (!used.file.isOpen() || !lockShared(used.file.get()) ||
      ::fstatat(folder.get(), binary.c_str(), &named, AT_SYMLINK_NOFOLLOW) ||
      named.st_dev != info.st_dev || named.st_ino != info.st_ino)
    return std::nullopt;
  std::optional<FileDescription> description = describe(name);
  if (!description || description->bytes != uint64_t(named.st_size))
    return std::nullopt;
  used.description = std::move(*description);
  used.path = strCat(path, "/", binary);
  // Sets the time of the last use, by which `trim` selects files.
  (void)::futimens(used.file.get(), nullptr);
  return used;
}

Result<FileMaker> FileCache::make(const Digest &key,
                                  const std::function<void()> &onWait) {
  std::string name = toHex(key);
  MTP_ASSIGN_OR_RETURN(
      FileLock lock,
      FileLock::acquire(folder.get(), with(name, kLock), onWait));
  FileMaker maker(name, strCat(path, "/", name, kWork), std::move(lock));
  // Removes what a killed process left.
  std::error_code ignored;
  fs::remove_all(maker.folder(), ignored);
  if (::mkdirat(folder.get(), with(name, kWork).c_str(), S_IRWXU) != 0)
    return failedPrecondition(
        strCat("cannot create '", maker.folder(), "': ", std::strerror(errno)));
  return maker;
}

FileMaker::~FileMaker() {
  std::error_code ignored;
  if (!work.empty())
    fs::remove_all(work, ignored);
}

Result<UsedFile> FileCache::commit(const FileMaker &maker,
                                   const std::string &made,
                                   const std::string &text) {
  auto failed = [&](const char *what) {
    return failedPrecondition(
        strCat("cannot ", what, " '", made, "': ", std::strerror(errno)));
  };
  UsedFile used;
  used.file = Descriptor(
      ::open(made.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (!used.file.isOpen() || ::fstat(used.file.get(), &info) != 0)
    return failed("open");
  if (!S_ISREG(info.st_mode))
    return failedPrecondition(strCat("expected a file at '", made, "'"));
  if (::fchmod(used.file.get(), S_IRUSR | S_IWUSR) != 0 ||
      !lockShared(used.file.get()))
    return failed("lock");
  (void)::futimens(used.file.get(), nullptr);
  used.description = {uint64_t(info.st_size), ::time(nullptr), text};
  MTP_RETURN_IF_ERROR(writeWhole(folder.get(), with(maker.name, kText),
                                 {printDescription(used.description)}));
  if (::renameat(AT_FDCWD, made.c_str(), folder.get(),
                 with(maker.name, kFile).c_str()) != 0)
    return failed("store");
  used.path = strCat(path, "/", maker.name, kFile);
  return used;
}

/// Removes an entry unless it is in use. Returns whether it is removed.
bool FileCache::remove(const std::string &name) {
  std::string binary = with(name, kFile);
  // Excludes a process that replaces the file.
  std::optional<FileLock> lock =
      FileLock::tryAcquire(folder.get(), with(name, kLock));
  if (!lock)
    return false;
  Descriptor file(::openat(folder.get(), binary.c_str(),
                           O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  // A file that cannot be opened is not a file of this cache, and is removed.
  if (file.isOpen() && !lockUnused(file.get()))
    return false;
  ::unlinkat(folder.get(), binary.c_str(), 0);
  ::unlinkat(folder.get(), with(name, kText).c_str(), 0);
  return true;
}

/// Removes work folders, locks and descriptions of killed processes.
void FileCache::removeLeftovers() {
  std::set<std::string> names;
  std::error_code error;
  fs::directory_iterator it(path, error), end;
  for (; !error && it != end; it.increment(error)) {
    std::string extension = it->path().extension().string();
    std::string stem = it->path().stem().string();
    bool isLeft = extension == kWork || extension == kLock ||
                  (extension == kText &&
                   !fs::exists(strCat(path, "/", stem, kFile), error));
    if (isLeft && parseDigest(stem))
      names.insert(stem);
  }
  for (const std::string &name : names) {
    std::optional<FileLock> lock =
        FileLock::tryAcquire(folder.get(), with(name, kLock));
    if (!lock)
      continue;
    fs::remove_all(strCat(path, "/", name, kWork), error);
    if (!fs::exists(strCat(path, "/", name, kFile), error))
      ::unlinkat(folder.get(), with(name, kText).c_str(), 0);
  }
}

/// Returns the files of the cache, without their descriptions.
static std::vector<StoredFile> listBinaries(int folder) {
  std::vector<StoredFile> files = listFiles(folder);
  std::erase_if(files, [](const StoredFile &file) {
    return !file.name.ends_with(kFile);
  });
  for (StoredFile &file : files)
    file.name.resize(file.name.size() - kFile.size());
  return files;
}

void FileCache::trim() {
  removeLeftovers();
  removeBeyond(listBinaries(folder.get()), mostBytes,
               [this](const StoredFile &file) { remove(file.name); });
}

std::vector<FileCache::ListedFile> FileCache::list() const {
  std::vector<ListedFile> listed;
  for (const StoredFile &file : listBinaries(folder.get())) {
    std::string binary = with(file.name, kFile);
    Descriptor opened(::openat(folder.get(), binary.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    FileDescription description = describe(file.name).value_or(
        FileDescription{0, 0, "unknown; not used"});
    description.bytes = file.bytes;
    listed.push_back({strCat(path, "/", binary), std::move(description),
                      file.used.tv_sec,
                      opened.isOpen() && !lockUnused(opened.get())});
  }
  return listed;
}

size_t FileCache::clear() {
  removeLeftovers();
  size_t used = 0;
  for (const StoredFile &file : listBinaries(folder.get()))
    used += !remove(file.name);
  return used;
}
