//===- CacheCommand.cpp - Listing and clearing caches ---------------------===//

#include "tools/start/CacheCommand.h"

#include "runtime/cache/CacheFolder.h"
#include "runtime/cache/EntryCache.h"
#include "runtime/cache/FileCache.h"
#include "runtime/core/StrCat.h"
#include "tools/start/Format.h"

#include <cstdlib>
#include <filesystem>

using namespace mtp;
using namespace mtp::start;

static bool isFolder(const std::string &path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

/// Returns the folder of the kernel cache as mtpc finds it without a flag.
static std::string kernelFolder() {
  const char *variable = std::getenv("MTPC_KERNEL_CACHE");
  std::string folder =
      variable && *variable ? variable : cache::defaultFolder("kernels");
  return folder == "off" ? "" : folder;
}

static std::string counted(uint64_t number, std::string_view noun) {
  return strCat(number, " ", noun, number == 1 ? "" : "s");
}

static std::string listModels(const std::string &folder,
                              const cache::FileCache &models) {
  uint64_t bytes = 0;
  std::string lines;
  std::vector<cache::FileCache::ListedFile> files = models.list();
  for (const cache::FileCache::ListedFile &file : files) {
    bytes += file.description.bytes;
    lines +=
        strCat("  ", sizeText(file.description.bytes), ", compiled ",
               dateText(file.description.made), ", used ", dateText(file.used),
               file.isInUse ? ", in use: " : ": ", file.description.text, "\n");
  }
  return strCat(counted(files.size(), "model"), ", ", sizeText(bytes), " in ",
                folder, "\n", lines);
}

static Result<std::string> models(bool clears) {
  std::string folder = cache::defaultFolder("models");
  if (!isFolder(folder))
    return strCat("0 models in ", folder, "\n");
  MTP_ASSIGN_OR_RETURN(auto models, cache::FileCache::open(folder, 0));
  if (!clears)
    return listModels(folder, *models);
  size_t before = models->list().size(), used = models->clear();
  std::string text =
      strCat("removed ", counted(before - used, "model"), " in ", folder);
  return text + (used ? strCat("; in use and kept: ", used, "\n") : "\n");
}

static Result<std::string> kernels(bool clears) {
  std::string folder = kernelFolder();
  if (!isFolder(folder))
    return strCat("0 kernels in ", folder.empty() ? "no folder" : folder, "\n");
  MTP_ASSIGN_OR_RETURN(auto kernels, cache::EntryCache::open(folder));
  cache::EntryCache::Contents has = kernels->contents();
  if (clears) {
    kernels->clear();
    return strCat("removed ", counted(has.entries, "kernel"), " in ", folder,
                  "\n");
  }
  std::string text = strCat(counted(has.entries, "kernel"), ", ",
                            sizeText(has.bytes), " in ", folder, "\n");
  if (has.entries)
    text += strCat("  used ", dateText(has.oldest), " to ",
                   dateText(has.newest), "\n");
  return text;
}

Result<std::string> start::runCacheCommand(CacheCommand command) {
  bool clears = command == CacheCommand::Clear;
  MTP_ASSIGN_OR_RETURN(std::string text, models(clears));
  MTP_ASSIGN_OR_RETURN(std::string more, kernels(clears));
  return text + more;
}
