//===- Workload.h - What programs must read and compute ---------*- C++ -*-===//
//
// Counted from the artifact alone: the weights that a command binds, and the
// sizes that its kernel is specialised on.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_BENCH_WORKLOAD_H
#define MTP_TOOLS_MTP_BENCH_WORKLOAD_H

#include "runtime/artifact/Artifact.h"
#include "tools/mtp-bench/measure/Statistics.h"

#include <string>
#include <string_view>

namespace mtp::bench {

/// A value of a kernel's configuration as the artifact prints it,
/// "#exec.linear< k = 64, format = <int4, group = 32>>" or "{k = 64 : i64}":
/// the integer of that key, or 0; the text of a string, a word, or the first of
/// an attribute, "int4" here, or "". A key within another's value is none of
/// these.
int64_t configInt(std::string_view config, std::string_view key);
std::string_view configText(std::string_view config, std::string_view key);

/// What one command of a program must read and compute when `batch` slots have
/// `context` tokens each. Every weight counts once, a table by its rows that
/// are looked up, a stack of experts by the number that is expected to be
/// chosen.
Work commandWork(const Artifact &artifact, const Plan &plan,
                 const Program &program, const Command &command, uint32_t batch,
                 uint32_t context);

/// Bytes of all the weights that a program names, each counted once, whole
/// stacks and tables included. Here and below what only requests ask for is
/// left out.
uint64_t boundWeightBytes(const Plan &plan, const Program &program);

/// Whether a program's time depends on which experts are chosen.
bool hasExperts(const Plan &plan, const Program &program);

/// The part of a round that each command belongs to: "draft 1", "draft 2", ..,
/// "verify", "accept", where every pick of tokens but the last ends a draft; of
/// a prefill, "target" and, behind the pick, "drafter".
std::vector<std::string> phasesOf(const Plan &plan, const Program &program);

std::string_view kindOf(const schema::Kernel &kernel);

} // namespace mtp::bench

#endif // MTP_TOOLS_MTP_BENCH_WORKLOAD_H
