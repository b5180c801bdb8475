//===- RowBudget.h - Which rows of a round's slots are verified -*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_ROWBUDGET_H
#define MTP_RUNTIME_EXEC_SCHEDULE_ROWBUDGET_H

#include <cstdint>
#include <span>
#include <vector>

namespace mtp {

/// Shares `budget` rows among the slots of a round, at least one for each. A
/// slot gets the rows that it wants, at least one, unless a slot that wants the
/// same number would get fewer. Rows that are left over go to the first of
/// those slots. The result depends on what slots may draft, and not on what
/// they do draft.
std::vector<uint32_t> trimRows(std::span<const uint32_t> wanted,
                               uint64_t budget);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_ROWBUDGET_H
