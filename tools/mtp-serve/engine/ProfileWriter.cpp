//===- ProfileWriter.cpp - Records a profile while serving ----------------===//

#include "tools/mtp-serve/engine/ProfileWriter.h"
#include "runtime/core/StrCat.h"
#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/ProfileKeys.h"
#include "tools/support/Output.h"

#include <chrono>
#include <cstdio>
#include <filesystem>

using namespace mtp;
using namespace mtp::serve;

/// Opens the file and writes nothing.
static Status checkWritable(const std::string &path) {
  return OutputFile::create(path, /*input=*/"").status();
}

Result<std::unique_ptr<ProfileWriter>>
ProfileWriter::create(const std::string &path, Take take, double seconds) {
  profile::Profile base;
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    MTP_ASSIGN_OR_RETURN(base, profile::loadProfile(path));
    Status status = profile::checkModel(take().model, base.model);
    if (!status.isOk())
      return status.withContext(path);
  }
  MTP_RETURN_IF_ERROR(checkWritable(path));
  std::unique_ptr<ProfileWriter> writer(
      new ProfileWriter(path, std::move(take), std::move(base)));
  writer->thread = std::thread([&of = *writer, seconds] { of.run(seconds); });
  return writer;
}

ProfileWriter::~ProfileWriter() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    ends = true;
  }
  changed.notify_one();
  thread.join();
  write();
}

void ProfileWriter::run(double seconds) {
  std::unique_lock lock(mutex);
  auto pause = std::chrono::duration<double>(seconds);
  while (!changed.wait_for(lock, pause, [this] { return ends; })) {
    lock.unlock();
    write();
    lock.lock();
  }
}

void ProfileWriter::write() {
  profile::Profile merged = base, recorded = take();
  merged.model = recorded.model;
  profile::merge(merged, recorded);
  std::vector<uint8_t> bytes = profile::writeProfile(merged);
  if (bytes == written)
    return;
  Result<std::unique_ptr<OutputFile>> file = OutputFile::create(path, "");
  Status status =
      file ? (*file)->commit(
                 {reinterpret_cast<const char *>(bytes.data()), bytes.size()})
           : file.status();
  if (status.isOk())
    written = std::move(bytes);
  else
    std::fprintf(stderr, "mtp-serve: warning: --record: %s\n",
                 std::string(status.message()).c_str());
}
