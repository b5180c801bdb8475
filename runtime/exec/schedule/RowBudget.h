//===- RowBudget.h - Which rows of a round's slots are verified -*- C++ -*-===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_ROWBUDGET_H
#define MTP_RUNTIME_EXEC_SCHEDULE_ROWBUDGET_H

#include <cstdint>
#include <span>
#include <vector>

namespace mtp {

/// How many rows each of a round's slots may have, of which there are `budget`
/// in all, at least one for each. A slot has as many as it wants, which is one
/// or more, as far as none that wants as many has fewer; what is left over then
/// goes to the first of those. It follows from what slots may draft, and not
/// from what they do, which the tokens say.
std::vector<uint32_t> trimRows(std::span<const uint32_t> wanted,
                               uint64_t budget);

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_ROWBUDGET_H
