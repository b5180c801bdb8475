//===- ArtifactFile.cpp - A verified artifact -----------------------------===//
//
// Checks go from the outside in: sizes before the seal, the seal before the
// structure, the structure before the meaning. Each check relies only on the
// checks before it.
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/PathKind.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/KvPage.h"

#include <cstring>
#include <new>

using namespace mtp;

static constexpr uint64_t kSmallSegment = 16 << 20;

/// Explains a failure: if the file is no artifact, names the kind of file.
static Status explain(const Status &status, const std::string &path) {
  Status kind = checkPath(path, PathUse::Run);
  return kind.isOk() ? status.withContext(path) : kind;
}

Result<std::shared_ptr<const ArtifactFile>>
ArtifactFile::open(const std::string &path, HashCheck hashes,
                   FileMemory memory) {
  Result<std::unique_ptr<MappedFile>> file = memory == FileMemory::Copied
                                                 ? MappedFile::copy(path)
                                                 : MappedFile::open(path);
  if (!file)
    return explain(file.status(), path);
  std::shared_ptr<ArtifactFile> artifact(new ArtifactFile());
  artifact->file = std::move(*file);
  artifact->bytes = {artifact->file->data(), artifact->file->size()};
  if (Status status = artifact->check(hashes); !status.isOk())
    return explain(status, path);
  return std::shared_ptr<const ArtifactFile>(std::move(artifact));
}

Result<std::shared_ptr<const ArtifactFile>>
ArtifactFile::fromMemory(std::span<const uint8_t> bytes, HashCheck hashes) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kBufferAlignment)
    return invalidArgument(
        strCat("expected bytes at a multiple of ", kBufferAlignment));
  std::shared_ptr<ArtifactFile> artifact(new ArtifactFile());
  artifact->bytes = bytes;
  MTP_RETURN_IF_ERROR(artifact->check(hashes));
  return std::shared_ptr<const ArtifactFile>(std::move(artifact));
}

Status ArtifactFile::check(HashCheck hashes) {
  MTP_RETURN_IF_ERROR(checkHeader());
  MTP_RETURN_IF_ERROR(copyFront());
  MTP_RETURN_IF_ERROR(checkStructure());
  MTP_RETURN_IF_ERROR(checkZeros());
  for (size_t i = 0; i < contents.plans.size(); ++i)
    if (Status status = checkPageTables(contents.plans[i]); !status.isOk())
      return withPath(status, strCat("plans[", i, "]"));
  if (hashes == HashCheck::None)
    return okStatus();
  for (uint32_t i = 0; i < vectorSize(contents.segments); ++i)
    if (hashes == HashCheck::All || segment(i).size() <= kSmallSegment)
      MTP_RETURN_IF_ERROR(checkHash(i));
  return okStatus();
}

/// Returns a version as text, "1.4".
static std::string versionName(uint32_t version) {
  return strCat(version >> 16, ".", version & 0xffff);
}

static Status checkVersion(const FileHeader &header) {
  if (header.version != kFormatVersion)
    return failedPrecondition(strCat(
        "expected format version ", versionName(kFormatVersion), ", got ",
        versionName(header.version), "; compile the model again"));
  if (std::memcmp(header.schemaHash, kSchemaHash, sizeof(kSchemaHash)) != 0)
    return failedPrecondition(
        "written with another schema of the same format version; compile the "
        "model again");
  return okStatus();
}

Status ArtifactFile::checkHeader() {
  if (bytes.size() < sizeof(FileHeader))
    return dataLoss(strCat("expected at least ", sizeof(FileHeader),
                           " bytes of header, got ", bytes.size()));
  std::memcpy(&fileHeader, bytes.data(), sizeof(fileHeader));
  if (std::memcmp(fileHeader.magic, kFileMagic, sizeof(kFileMagic)) != 0)
    return dataLoss("not an mtpc artifact: expected the file to start with "
                    "'MTPC'");
  MTP_RETURN_IF_ERROR(checkVersion(fileHeader));
  if (fileHeader.fileSize != bytes.size())
    return dataLoss(strCat("expected ", fileHeader.fileSize,
                           " bytes as its header says, got ", bytes.size()));
  uint64_t offset = fileHeader.programOffset, size = fileHeader.programSize;
  if (offset < sizeof(FileHeader) || offset % 16)
    return dataLoss(strCat("expected the program at a multiple of 16 from 64 "
                           "on, got ",
                           offset));
  if (size < 16 || size >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return dataLoss(
        strCat("expected a program of 16 to 2^31 bytes, got ", size));
  // The seal must fit, too. The segment base is then at most a page further.
  if (!inRange(offset, size, bytes.size()) ||
      !inRange(offset + size, 8, bytes.size()))
    return dataLoss(strCat("program: offset ", offset, " + ", size,
                           " bytes is past the file's ", bytes.size()));
  base = segmentBase(offset, size);
  if (base > bytes.size())
    return dataLoss(strCat("expected segments from byte ", base,
                           " on, got a file of ", bytes.size()));
  return okStatus();
}

Status ArtifactFile::copyFront() {
  uint64_t size = fileHeader.programOffset + fileHeader.programSize + 8;
  front.reset(new (std::nothrow) uint8_t[size]);
  if (!front)
    return resourceExhausted(
        strCat("cannot allocate ", size, " bytes for a file's tables"));
  std::memcpy(front.get(), bytes.data(), size);
  // Ensures that the copy has the header that was checked.
  std::memcpy(front.get(), &fileHeader, sizeof(fileHeader));
  return okStatus();
}

Status ArtifactFile::checkStructure() {
  uint64_t offset = fileHeader.programOffset, size = fileHeader.programSize;
  uint64_t seal;
  std::memcpy(&seal, front.get() + offset + size, sizeof(seal));
  if (hashBytes(front.get(), offset + size) != seal)
    return dataLoss("the bytes of header and program do not match their seal");
  const uint8_t *tables = front.get() + offset;
  MTP_ASSIGN_OR_RETURN(contents,
                       readTables({tables, size}, bytes.size() - base));
  return okStatus();
}

/// Checks that the bytes between tables and segments, and between segments, are
/// zero.
Status ArtifactFile::checkZeros() const {
  auto check = [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i)
      if (bytes[i] != 0)
        return dataLoss(strCat("expected zeros between tables and segments, "
                               "got ",
                               unsigned(bytes[i]), " at byte ", i));
    return okStatus();
  };
  uint64_t end = fileHeader.programOffset + fileHeader.programSize + 8;
  uint64_t first = base;
  for (uint32_t i = 0; i < vectorSize(contents.segments); ++i) {
    const schema::Segment *segment = contents.segments->Get(i);
    MTP_RETURN_IF_ERROR(check(end, base + segment->offset()));
    first = end = base + segment->offset() + segment->size();
  }
  return check(end, first);
}

/// Checks the constants that functions use as page tables. Their page numbers
/// must exist when a function runs: the pages of all slots, after the dummy
/// page.
Status ArtifactFile::checkPageTables(const Plan &plan) const {
  const schema::Envelope *e = contents.envelope;
  std::vector<bool> isTable(vectorSize(plan.constants), false);
  forPageTables(plan, [&](uint32_t constant) { isTable[constant] = true; });
  for (uint32_t i = 0; i < isTable.size(); ++i) {
    if (!isTable[i])
      continue;
    uint64_t width = pagesPerSlot(e->max_context(), e->page_tokens());
    std::span<const uint8_t> data = blob(*plan.constants->Get(i));
    for (size_t at = 0; at + 4 <= data.size(); at += 4) {
      int32_t page;
      std::memcpy(&page, data.data() + at, sizeof(page));
      if (page < 0 || uint64_t(page) > e->max_batch() * width)
        return dataLoss(strCat("constants[", i,
                               "]: expected numbers of pages "
                               "up to ",
                               e->max_batch() * width, ", got ", page));
    }
  }
  return okStatus();
}

std::span<const uint8_t> ArtifactFile::segment(uint32_t index) const {
  const schema::Segment *segment = contents.segments->Get(index);
  return bytes.subspan(base + segment->offset(), segment->size());
}

std::span<const uint8_t> ArtifactFile::blob(const schema::Blob &blob) const {
  return segment(blob.segment()).subspan(blob.offset(), blob.size());
}

Status ArtifactFile::checkHash(uint32_t index) const {
  std::span<const uint8_t> data = segment(index);
  if (hashBytes(data.data(), data.size()) ==
      contents.segments->Get(index)->hash())
    return okStatus();
  return dataLoss(
      strCat("segments[", index, "]: its bytes do not match their hash"));
}
