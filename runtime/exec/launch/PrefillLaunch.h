//===- PrefillLaunch.h - A pass over prompts on the device ------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_LAUNCH_PREFILLLAUNCH_H
#define MTP_RUNTIME_EXEC_LAUNCH_PREFILLLAUNCH_H

#include "runtime/exec/launch/HostState.h"
#include "runtime/exec/launch/SlotResults.h"

namespace mtp {

/// A pass: the rows of prompts, and the shape of its program.
struct PrefillWork {
  std::vector<PromptPart> parts;
  uint32_t chunk = 0;
  /// Sequences of the program; if more than `parts`, `freeSlot` stands for the
  /// missing ones.
  uint32_t sequences = 1;
  uint32_t freeSlot = 0;
  bool byLibrary = false;
  /// Whether a request of these prompts asks for outputs.
  bool isAsked = false;
  /// Whether a request of these prompts has rules for logits.
  bool hasRules = false;
};

class PrefillLaunch {
public:
  /// All references must outlive the launch. `drafts`: whether drafters read
  /// prompts, too.
  PrefillLaunch(const ProgramTable &programs, HostState &host,
                Executable &executable, const KvCacheManager &pages,
                bool drafts)
      : programs(programs), host(host), executable(executable), pages(pages),
        drafts(drafts) {}

  /// Runs a pass. Returns the results of each part. The device has the page
  /// tables of all parts.
  Result<std::vector<SlotResults>> run(PrefillWork work);

  /// Adds parts without rows until there are `sequences`. They have no tokens
  /// that a program could take for a whole prompt, and name a slot without
  /// pages of others.
  Status fill(std::vector<PromptPart> &parts, uint32_t sequences,
              uint32_t freeSlot);

private:
  const ProgramTable &programs;
  HostState &host;
  Executable &executable;
  const KvCacheManager &pages;
  bool drafts;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_LAUNCH_PREFILLLAUNCH_H
