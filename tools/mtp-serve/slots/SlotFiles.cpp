//===- SlotFiles.cpp - The folder of saved prefixes -----------------------===//

#include "tools/mtp-serve/slots/SlotFiles.h"
#include "mtp/saved_prefix.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "runtime/saved/PrefixFile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace mtp;
using namespace mtp::serve;

namespace {
/// The numbers of an answer, under the names of its action.
struct SlotAnswer {
  const char *tokensName, *bytesName, *timeName;
  uint64_t tokens = 0, bytes = 0;
};
} // namespace

using Clock = std::chrono::steady_clock;

static double millisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin)
      .count();
}

static std::string answerJson(const SlotRequest &request,
                              const SlotAnswer &answer,
                              Clock::time_point begin) {
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("id_slot", request.slot);
  if (!request.filename.empty())
    json.field("filename", request.filename);
  json.field(answer.tokensName, answer.tokens);
  if (answer.bytesName)
    json.field(answer.bytesName, answer.bytes);
  json.key("timings");
  json.beginObject();
  json.field(answer.timeName, millisecondsSince(begin));
  json.endObject();
  json.endObject();
  return json.text();
}

/// Returns the error for a failure. Clients do not see the folder. Failures of
/// the server are in its log, too.
ApiError SlotFiles::fileError(const Status &status,
                              std::string_view what) const {
  std::string text(status.message());
  for (const std::string &place : {folder + "/", folder})
    for (size_t at; (at = text.find(place)) != text.npos;)
      text.erase(at, place.size());
  ApiError error = errorOf(status, "filename");
  error.message = std::move(text);
  if (status.code() == StatusCode::NotFound)
    error.status = 404;
  if (error.status >= 500)
    std::fprintf(stderr, "mtp-serve: %.*s failed: %s\n", int(what.size()),
                 what.data(), error.message.c_str());
  return error;
}

/// Turns an error into one of the server's disk.
static ApiError diskError(ApiError error) {
  error.status = 507;
  std::fprintf(stderr, "mtp-serve: saving a prefix failed: %s\n",
               error.message.c_str());
  return error;
}

/// Turns an error into one that a later request may not meet.
static ApiError busy(ApiError error) {
  error.status = 503;
  error.retryAfter = 1;
  return error;
}

MaybeError SlotFiles::save(const SlotRequest &request, Session &session,
                           HttpReply &reply) const {
  Clock::time_point begin = Clock::now();
  auto prefix = SavedPrefix::save(session, request.prompt, request.cacheSalt);
  if (!prefix) {
    ApiError error = errorOf(prefix.status(), "prompt");
    if (prefix.status().code() == StatusCode::NotFound)
      error.status = 404;
    if (prefix.status().code() == StatusCode::ResourceExhausted)
      error = busy(error);
    return error;
  }
  Result<uint64_t> used = saved::folderBytes(folder, request.filename);
  if (!used)
    return diskError(fileError(used.status(), "saving a prefix"));
  if (*used > mostBytes || prefix->fileBytes() > mostBytes - *used)
    return diskError(wrongField(
        "filename", strCat("expected at most ", mostBytes,
                           " bytes of saved prefixes (--slot-save-bytes), got ",
                           *used, " and ", prefix->fileBytes(), " more")));
  if (Status status = prefix->write(pathOf(request)); !status.isOk())
    return diskError(fileError(status, "saving a prefix"));
  reply.body = answerJson(request,
                          {"n_saved", "n_written", "save_ms", prefix->length(),
                           prefix->fileBytes()},
                          begin);
  return std::nullopt;
}

MaybeError SlotFiles::restore(const SlotRequest &request, Session &session,
                              HttpReply &reply) const {
  Clock::time_point begin = Clock::now();
  auto prefix = SavedPrefix::read(pathOf(request), mostBytes);
  if (!prefix)
    return fileError(prefix.status(), "restoring a prefix");
  std::span<const int32_t> tokens = prefix->tokens();
  tokens = tokens.first(std::min<uint64_t>(tokens.size(), prefix->length()));
  if (!request.prompt.empty() &&
      !std::ranges::equal(
          tokens.first(std::min(tokens.size(), request.prompt.size())),
          std::span(request.prompt)
              .first(std::min(tokens.size(), request.prompt.size()))))
    return wrongField("prompt", "expected a prompt with the beginning that the "
                                "file has, got another one");
  Result<uint64_t> restored = prefix->restore(session, request.cacheSalt);
  if (!restored) {
    ApiError error = fileError(restored.status(), "restoring a prefix");
    // Sequences may give back pages.
    if (restored.status().code() == StatusCode::ResourceExhausted)
      error = busy(error);
    return error;
  }
  reply.body = answerJson(
      request,
      {"n_restored", "n_read", "restore_ms", *restored, prefix->fileBytes()},
      begin);
  return std::nullopt;
}

MaybeError SlotFiles::erase(const SlotRequest &request, Session &session,
                            HttpReply &reply) const {
  Clock::time_point begin = Clock::now();
  if (!request.filename.empty())
    if (Status status = saved::removeFile(pathOf(request)); !status.isOk())
      return fileError(status, "erasing a prefix");
  uint64_t erased = 0;
  if (!request.prompt.empty())
    erased = SavedPrefix::forget(session, request.prompt, request.cacheSalt);
  reply.body =
      answerJson(request, {"n_erased", nullptr, "erase_ms", erased, 0}, begin);
  return std::nullopt;
}

MaybeError SlotFiles::answer(const SlotRequest &request, Session &session,
                             HttpReply &reply) const {
  reply.ignored = request.ignored;
  switch (request.action) {
  case SlotAction::Save:
    return save(request, session, reply);
  case SlotAction::Restore:
    return restore(request, session, reply);
  case SlotAction::Erase:
    return erase(request, session, reply);
  }
  return std::nullopt;
}
