//===- saved_prefix.h - Prefixes of prompts in files ------------*- C++ -*-===//
//
// The prefix cache of a session ends with the session. A saved prefix keeps
// what the cache has of a prompt: KV pages of the model and of its drafters,
// and snapshots of recurrent states. A later session of the same artifact takes
// it back, and its requests then continue with the same tokens as if the prompt
// had been computed.
//
// Units: lengths are in tokens, memory and files in bytes.
//
// Shapes: token ids are in order, those of the prompt.
//
// Ownership: arguments are copied or used only during the call. A returned span
// belongs to the object.
//
// Threads: any thread may call any function, also while another one steps the
// session: the call then waits for the end of the step(). An object may be used
// by several threads if none of them moves or destroys it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_SAVED_PREFIX_H
#define MTP_RUNTIME_INCLUDE_MTP_SAVED_PREFIX_H

#include "mtp/session.h"

namespace mtp {

/// A prefix in host memory, which is reserved as long as the object exists. It
/// is independent of the session that it was saved from.
class SavedPrefix {
public:
  /// Takes the prefix of another object, which may then only be destroyed.
  SavedPrefix(SavedPrefix &&) noexcept;
  SavedPrefix &operator=(SavedPrefix &&) noexcept;
  ~SavedPrefix();

  /// Copies what the prefix cache of a session has of the first tokens of
  /// `tokens`, for requests with this `Request::cacheSalt` and without inputs.
  /// Rounds that run on a GPU end first. A page depends on the tokens after it
  /// that drafters read ahead, so the last page of a prompt may be missing.
  ///
  /// Errors: NotFound if the cache has nothing of the tokens.
  /// FailedPrecondition if the session has no prefix cache, if it stands
  /// between the halves of a round, or if a step() has failed.
  /// ResourceExhausted if memory is short. And errors of the device.
  static Result<SavedPrefix> save(Session &session,
                                  std::span<const int32_t> tokens,
                                  const std::string &cacheSalt = {});

  /// Puts the prefix into the prefix cache of a session, for requests with this
  /// `Request::cacheSalt`, which must be the salt of save(). Returns the number
  /// of tokens with which such a request can begin. Pages that the cache has
  /// already stay.
  ///
  /// Errors: InvalidArgument for another artifact, a plan for another device, a
  /// session that drafts if the saved one did not (or the reverse), or another
  /// salt. ResourceExhausted if fewer KV pages are free. Else as save().
  Result<uint64_t> restore(Session &session,
                           const std::string &cacheSalt = {}) const;

  /// Drops what the prefix cache has of the first tokens of `tokens`, except
  /// pages of sequences that have a slot. Returns the number of tokens.
  static uint64_t forget(Session &session, std::span<const int32_t> tokens,
                         const std::string &cacheSalt = {});

  /// Writes a file that only its user may read. A file of that path is replaced
  /// as a whole. ResourceExhausted if the disk is full, NotFound if the folder
  /// is missing, else FailedPrecondition. No error leaves a file.
  Status write(const std::string &path) const;

  /// Reads a file of at most `mostBytes` bytes. Errors: NotFound.
  /// ResourceExhausted for a larger file, or if memory is short. DataLoss if
  /// the file is cut or changed. InvalidArgument for a file of another kind.
  static Result<SavedPrefix> read(const std::string &path,
                                  uint64_t mostBytes = UINT64_MAX);

  /// Returns the tokens of the prefix: those of its pages and snapshots, and
  /// the tokens after them that drafters have read ahead. Valid as long as the
  /// object.
  std::span<const int32_t> tokens() const;
  /// Returns the number of tokens with which a request can begin.
  uint64_t length() const;
  /// Returns the bytes of a file of the prefix.
  uint64_t fileBytes() const;

private:
  struct Impl;
  explicit SavedPrefix(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace mtp

#endif // MTP_RUNTIME_INCLUDE_MTP_SAVED_PREFIX_H
