//===- Workload.h - Bytes and operations of programs ------------*- C++ -*-===//
//
// Counts come from the artifact alone: the weights that a command binds, and
// the sizes on which its kernel is specialized.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_BENCH_MEASURE_WORKLOAD_H
#define MTP_TOOLS_MTP_BENCH_MEASURE_WORKLOAD_H

#include "runtime/artifact/Artifact.h"
#include "tools/mtp-bench/measure/Statistics.h"

#include <string>
#include <string_view>

namespace mtp::bench {

/// Read a value of a kernel's printed configuration. Its forms are
/// `#exec.linear< k = 64, format = <int4, group = 32>>` and
/// `{k = 64 : i64}`.
/// configInt() returns the integer of a key, or 0. configText() returns a
/// string, a word, or the first word of an attribute ("int4" here), or "". Keys
/// nested in another key's value are ignored.
int64_t configInt(std::string_view config, std::string_view key);
std::string_view configText(std::string_view config, std::string_view key);

/// Returns the bytes and operations of one command if `batch` slots have
/// `context` tokens each. Every weight counts once. A table counts the rows
/// that are looked up, a stack of experts the expected number of chosen ones.
Work commandWork(const Artifact &artifact, const Plan &plan,
                 const Program &program, const Command &command, uint32_t batch,
                 uint32_t context);

/// Returns the bytes of all weights that a program names, each counted once,
/// with whole stacks and tables. Like the functions below it leaves out calls
/// that only requests need.
uint64_t boundWeightBytes(const Plan &plan, const Program &program);

/// Returns whether a program's time depends on the chosen experts.
bool hasExperts(const Plan &plan, const Program &program);

/// Returns the phase of each command: "draft 1", "draft 2", .., "verify",
/// "accept" in a round, where every pick of tokens but the last ends a draft.
/// In a prefill "target" and, after the pick, "drafter".
std::vector<std::string> phasesOf(const Plan &plan, const Program &program);

std::string_view kindOf(const schema::Kernel &kernel);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_MEASURE_WORKLOAD_H
