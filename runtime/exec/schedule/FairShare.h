//===- FairShare.h - Tokens by who asks for them ----------------*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_FAIRSHARE_H
#define MTP_RUNTIME_EXEC_SCHEDULE_FAIRSHARE_H

#include <cstdint>
#include <map>

namespace mtp {

/// Counts the tokens that the sequences of each group have had of a session.
/// The group with the fewest comes first. These are the virtual token counters
/// of "Fairness in Serving Large Language Models" (Sheng et al., OSDI 2024). A
/// group that comes back cannot make up for the time that it was away.
class FairShare {
public:
  /// Record that a sequence of the group has arrived, and that one has ended.
  void enter(uint64_t group);
  void leave(uint64_t group);

  /// Records that tokens were computed for the group.
  void charge(uint64_t group, uint64_t tokens) { groups[group].had += tokens; }

  /// Returns the tokens of a group in relation to other groups; 0 for a group
  /// without sequences.
  uint64_t had(uint64_t group) const;

private:
  struct Group {
    uint64_t had = 0;
    uint64_t sequences = 0;
  };
  std::map<uint64_t, Group> groups;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_FAIRSHARE_H
