//===- DeviceLoop.h - A GPU's kernels around rounds -------------*- C++ -*-===//
//
// Two kernels that belong to no program, in an image of their own
// (`device_loop` of a plan). One begins every launch and delivers what the host
// has written since the last launch. The other follows each round that may be
// followed by another round. FORMAT.md lists their arguments.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_DEVICELOOP_H
#define MTP_RUNTIME_SCHEMA_DEVICELOOP_H

#include <cstdint>
#include <string_view>

namespace mtp {

/// Maximum number of nodes that all graphs of an executable keep together,
/// unless a single graph has more: about 100 MB of a GPU's memory. Other graphs
/// are built again.
inline constexpr uint32_t kMostGraphNodes = 1 << 15;
/// The part of this limit for graphs of rounds if a session chooses which ones
/// there are. The rest is for passes over prompts and rounds with rules.
inline constexpr uint32_t kMostRoundNodes = kMostGraphNodes / 4 * 3;
/// GPU memory per node, as measured on an H100.
inline constexpr uint32_t kGraphNodeBytes = 3 << 10;

/// Nodes of a graph in addition to its program's nodes. One node delivers the
/// host's writes. A graph of several rounds also has the loop and the end of a
/// round.
inline constexpr uint32_t kNodesOfGraph = 1, kNodesOfLoop = 3;

/// Copies the records of a mailbox to their targets. Takes the mailbox.
inline constexpr std::string_view kDeliverKernel = "mtp_deliver";
inline constexpr uint32_t kDeliverBlocks = 8, kDeliverThreads = 256;

/// A write of the host. A mailbox begins with the number of its records, i32.
/// The records start at kMailboxRecords, and their words follow. No two records
/// write the same bytes.
struct MailboxRecord {
  /// Target address on the device.
  uint64_t target;
  /// Offset of the words from the start of the mailbox, in bytes.
  uint32_t offset;
  /// Number of 32-bit words.
  uint32_t words;
};
inline constexpr uint64_t kMailboxRecords = 16;

/// Counts a round and decides whether another one follows. Takes `again`, the
/// control, the number of slots and the handle of the loop's condition.
inline constexpr std::string_view kNextRoundKernel = "mtp_next_round";
inline constexpr uint32_t kNextRoundThreads = 32;

/// Memory that host and device share during a launch of several rounds.
struct LoopControl {
  /// Number of completed rounds. After the counter's release at system scope,
  /// the host may read everything that these rounds wrote to watched states.
  uint32_t rounds;
  /// Written by the host. Not 0: no further round follows.
  uint32_t stop;
};

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_DEVICELOOP_H
