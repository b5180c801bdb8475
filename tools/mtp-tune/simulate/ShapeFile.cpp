//===- ShapeFile.cpp - An artifact whose weights are not read -------------===//

#include "tools/mtp-tune/simulate/ShapeFile.h"
#include "runtime/artifact/MappedFile.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/ArtifactFormat.h"
#include "runtime/schema/WeightlessFormat.h"

#include <cstring>
#include <sys/mman.h>

using namespace mtp;
using namespace mtp::tune;

/// Limit on the size of an artifact whose weights are left out: 16 TiB.
static constexpr uint64_t kMostBytes = uint64_t(1) << 44;

ShapeFile::~ShapeFile() {
  file.reset();
  if (memory)
    ::munmap(memory, bytes);
}

/// Makes the artifact of a file without weights: its front, and zeros. Pages
/// of zeros take no memory until a reader touches them.
Status ShapeFile::fill(std::span<const uint8_t> weightless) {
  WeightlessHeader own;
  std::memcpy(&own, weightless.data(), sizeof(own));
  std::span<const uint8_t> rest = weightless.subspan(sizeof(own));
  FileHeader header;
  if (own.frontBytes < sizeof(header) || own.frontBytes > rest.size())
    return dataLoss(strCat("expected ", own.frontBytes,
                           " bytes of an artifact, got ", rest.size()));
  std::memcpy(&header, rest.data(), sizeof(header));
  if (header.fileSize < own.frontBytes || header.fileSize > kMostBytes)
    return dataLoss(strCat("expected an artifact of ", own.frontBytes, " to ",
                           kMostBytes, " bytes, got ", header.fileSize));
  void *pages =
      ::mmap(nullptr, header.fileSize, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, /*fd=*/-1, 0);
  if (pages == MAP_FAILED)
    return resourceExhausted(strCat("cannot reserve ", header.fileSize,
                                    " bytes of addresses for an artifact"));
  memory = pages;
  bytes = header.fileSize;
  std::memcpy(memory, rest.data(), own.frontBytes);
  const auto *begin = static_cast<const uint8_t *>(memory);
  MTP_ASSIGN_OR_RETURN(
      file, ArtifactFile::fromMemory({begin, bytes}, HashCheck::None));
  return okStatus();
}

Result<std::unique_ptr<ShapeFile>> ShapeFile::open(const std::string &path) {
  std::unique_ptr<ShapeFile> shape(new ShapeFile());
  Result<std::unique_ptr<MappedFile>> mapped = MappedFile::open(path);
  bool isWeightless = mapped && (*mapped)->size() > sizeof(WeightlessHeader) &&
                      std::memcmp((*mapped)->data(), kWeightlessMagic,
                                  sizeof(kWeightlessMagic)) == 0;
  if (!isWeightless) {
    MTP_ASSIGN_OR_RETURN(shape->file,
                         ArtifactFile::open(path, HashCheck::None));
    return shape;
  }
  Status status = shape->fill({(*mapped)->data(), (*mapped)->size()});
  if (!status.isOk())
    return status.withContext(path);
  return shape;
}
