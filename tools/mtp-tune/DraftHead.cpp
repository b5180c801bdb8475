//===- DraftHead.cpp - The head that a drafter reads ----------------------===//

#include "tools/mtp-tune/DraftHead.h"
#include "tools/mtp-bench/measure/Workload.h"

using namespace mtp;
using namespace mtp::tune;

/// Returns the program of one slot with the most drafts; null if none drafts.
static const Program *findDrafting(const Plan &plan) {
  const Program *found = nullptr;
  for (const Program &program : plan.programs)
    if (program.kind == schema::ProgramKind::Decode && program.prompts == 0 &&
        program.covers(1) && program.k > (found ? found->k : 0))
      found = &program;
  return found;
}

profile::DraftHead tune::findDraftHead(const Artifact &artifact,
                                       const Plan &plan) {
  const Program *program = artifact.envelope ? findDrafting(plan) : nullptr;
  if (!program)
    return {};
  std::vector<std::string> phases = bench::phasesOf(plan, *program);
  std::span<const Command> commands = program->ownCommands();
  double all = 0, head = 0;
  for (size_t i = 0; i < commands.size() && i < phases.size(); ++i) {
    const schema::Kernel &kernel = plan.kernelOf(commands[i]);
    if (!phases[i].starts_with("draft") || kernel.for_rules())
      continue;
    double bytes = bench::commandWork(artifact, plan, *program, commands[i],
                                      /*batch=*/1, /*context=*/1)
                       .weightBytes;
    all += bytes;
    if (kernel.config() && bench::configInt(kernel.config()->string_view(),
                                            "n") == artifact.envelope->vocab())
      head += bytes;
  }
  if (head == 0)
    return {};
  return {artifact.envelope->vocab(), head / all};
}
