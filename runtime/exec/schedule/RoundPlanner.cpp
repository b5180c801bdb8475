//===- RoundPlanner.cpp - The sequences and drafts of a round -------------===//

#include "runtime/exec/schedule/RoundPlanner.h"
#include "runtime/exec/schedule/RowBudget.h"

#include <algorithm>
#include <utility>

using namespace mtp;

static std::vector<uint32_t> rowsByK(const ProgramTable &programs, uint32_t k) {
  std::vector<uint32_t> rows;
  for (uint32_t of = 0; of <= k; ++of)
    rows.push_back(programs.nodes(of));
  return rows;
}

RoundPlanner::RoundPlanner(const ProgramTable &programs, const Config &config,
                           DraftPolicy::LearnedCosts learned)
    : programs(programs), config(config),
      policy(rowsByK(programs, config.k), config.maxRows, config.padding) {
  policy.begin(std::move(learned));
}

/// Plans a round for the sequences of a single k. k cycles upwards: the
/// smallest k above the last round's, or the smallest of all.
RoundPlan RoundPlanner::planOfOneK(std::span<const RoundCandidate> running) {
  auto isAbove = [&](const RoundCandidate &of) { return of.k > lastK; };
  bool isAnyAbove = std::ranges::any_of(running, isAbove);
  RoundPlan plan;
  plan.k = UINT32_MAX;
  for (const RoundCandidate &candidate : running)
    if (!isAnyAbove || isAbove(candidate))
      plan.k = std::min(plan.k, candidate.k);
  lastK = plan.k;
  for (const RoundCandidate &candidate : running)
    if (candidate.k == plan.k)
      plan.rows.push_back({candidate.id, plan.k});
  // The other sequences wait for the end of the launch.
  if (plan.rows.size() < running.size())
    plan.rounds = 1;
  return plan;
}

RoundPlan RoundPlanner::plan(std::span<const RoundCandidate> running) {
  if (running.empty())
    return {};
  if (!config.hasDraftLimit)
    return planOfOneK(running);
  std::vector<DraftPolicy::Slot> slots;
  for (const RoundCandidate &candidate : running)
    slots.push_back(
        {candidate.history, candidate.k, candidate.length, candidate.forced});
  DraftPolicy::Choice choice = policy.choose(slots);
  RoundPlan plan;
  plan.k = choice.k;
  plan.rounds = choice.rounds;
  for (size_t i = 0; i < running.size(); ++i) {
    uint32_t drafts = choice.drafts[i];
    plan.rows.push_back({running[i].id, drafts});
    // A drafter refreshes what the last round accepted, in the rows of the next
    // round. So k falls one round later than the limit on drafts.
    if (drafts > 0 && running[i].accepted > plan.k) {
      plan.k = running[i].accepted;
      plan.rounds = 1;
    }
  }
  return plan;
}

std::vector<uint32_t> RoundPlanner::rowsOf(const RoundPlan &plan) const {
  std::vector<uint32_t> wanted;
  for (const RoundPlan::Row &row : plan.rows)
    wanted.push_back(programs.nodes(row.drafts));
  return trimRows(wanted, config.maxRows);
}

uint64_t RoundPlanner::allRowsOf(const RoundPlan &plan) const {
  uint64_t rows = 0;
  for (const RoundPlan::Row &row : plan.rows)
    rows += programs.nodes(row.drafts);
  return std::min<uint64_t>(rows, config.maxRows);
}

RoundCostModel::Work RoundPlanner::workOf(std::span<const uint32_t> drafts,
                                          uint32_t k,
                                          uint64_t positions) const {
  RoundCostModel::Work work{uint32_t(drafts.size()), k, 0, positions};
  for (uint32_t of : drafts)
    work.rows += programs.nodes(of);
  work.rows = std::min(work.rows, config.maxRows);
  return work;
}
