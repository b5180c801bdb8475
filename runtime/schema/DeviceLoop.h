//===- DeviceLoop.h - What a GPU runs around rounds -------------*- C++ -*-===//
//
// Two kernels that are no program's, in an image of their own (`device_loop` of
// a plan): one begins every launch with what the host has written since the
// last one, one stands behind each round that may be followed by another.
// FORMAT.md has their arguments.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SCHEMA_DEVICELOOP_H
#define MTP_RUNTIME_SCHEMA_DEVICELOOP_H

#include <cstdint>
#include <string_view>

namespace mtp {

/// Nodes that all graphs of an executable keep together, unless one has more:
/// about 100 MB of a GPU's memory. Others are built again.
inline constexpr uint32_t kMostGraphNodes = 1 << 15;
/// What a node takes of a GPU's memory, as measured on an H100.
inline constexpr uint32_t kGraphNodeBytes = 3 << 10;

/// Nodes of a graph beside those of its program: what delivers the host's
/// writes, and, where rounds follow each other, the loop and what ends a round.
inline constexpr uint32_t kNodesOfGraph = 1, kNodesOfLoop = 3;

/// Copies the records of an inbox to where they belong. Takes the inbox.
inline constexpr std::string_view kDeliverKernel = "mtp_deliver";
inline constexpr uint32_t kDeliverBlocks = 8, kDeliverThreads = 256;

/// An inbox begins with the number of its records, i32; they follow from
/// kInboxRecords on, and their words somewhere behind. No two records name the
/// same bytes.
struct InboxRecord {
  /// The address on the device.
  uint64_t target;
  /// Where the words are, in bytes from the begin of the inbox.
  uint32_t offset;
  /// 32 bits each.
  uint32_t words;
};
inline constexpr uint64_t kInboxRecords = 16;

/// Counts a round, and says whether another one follows. Takes `again`, the
/// control, the number of slots and the handle of the loop's condition.
inline constexpr std::string_view kNextRoundKernel = "mtp_next_round";
inline constexpr uint32_t kNextRoundThreads = 32;

/// Memory that host and device both see while rounds follow each other.
struct LoopControl {
  /// Rounds that are over. Behind its release at system scope the host may read
  /// all that they have left in watched states.
  uint32_t rounds;
  /// Not 0: no other round follows. The host's.
  uint32_t stop;
};

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_DEVICELOOP_H
