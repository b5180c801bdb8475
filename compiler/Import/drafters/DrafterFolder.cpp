//===- DrafterFolder.cpp - A drafter in a folder of its own ---------------===//

#include "compiler/Import/drafters/DrafterFolder.h"

#include <iterator>

namespace mtp::importer {

namespace {

struct MethodName {
  std::string_view name;
  FolderMethod method;
};

constexpr MethodName kMethods[] = {
    {"dflash", FolderMethod::DFlash}, {"dspark", FolderMethod::DSpark},
    {"eagle", FolderMethod::Eagle},   {"hass", FolderMethod::Eagle},
    {"eagle3", FolderMethod::Eagle3}, {"medusa", FolderMethod::Medusa},
    {"model", FolderMethod::Model},   {"pard", FolderMethod::Pard},
    {"heads", FolderMethod::Heads},   {"p-eagle", FolderMethod::PEagle},
};

} // namespace

std::string_view toString(FolderMethod method) {
  for (const MethodName &entry : kMethods)
    if (entry.method == method)
      return entry.name;
  return "";
}

std::optional<FolderMethod> parseFolderMethod(std::string_view name) {
  for (const MethodName &entry : kMethods)
    if (entry.name == name)
      return entry.method;
  return std::nullopt;
}

std::string listFolderMethods() {
  std::string text;
  for (size_t i = 0; i < std::size(kMethods); ++i) {
    const char *separator = i + 1 == std::size(kMethods) ? " or " : ", ";
    text += (i == 0 ? "" : separator) + std::string(kMethods[i].name);
  }
  return text;
}

} // namespace mtp::importer
