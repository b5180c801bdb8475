//===- MachineFile.h - A machine to predict rounds on -----------*- C++ -*-===//
//
// The file of `mtp-tune --simulate`: rates and times of a machine, as JSON.
// Keys:
//
//   name                    text
//   kind                    "gpu" or "cpu": which plan of an artifact it runs
//   bytes_per_second        rate of reads from memory
//   cache_bytes_per_second  rate of reads that the last cache answers;
//                           absent: no limit
//   operations_per_second   {f32, bf16, int8, int4}: peak rates, two operations
//                           per multiply-add; absent: no limit
//   seconds_per_command     {product, attention, other}: time of a command
//                           that no other work hides
//   seconds_per_round       time of a round besides its commands
//   sources                 {key: text}: where each number comes from
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_TUNE_SIMULATE_MACHINEFILE_H
#define MTP_TOOLS_MTP_TUNE_SIMULATE_MACHINEFILE_H

#include "runtime/core/Result.h"
#include "tools/mtp-bench/measure/Statistics.h"

#include <string>
#include <string_view>

namespace mtp::tune {

struct Machine {
  std::string name;
  bool isGpu = false;
  /// Rates of memory and of arithmetic.
  bench::Rates rates;
  /// Rate of the last cache; 0: no limit.
  double cacheBytes = 0;
  double productSeconds = 0, attentionSeconds = 0, otherSeconds = 0;
  double roundSeconds = 0;
};

/// Reads a machine. An error names the key and its value:
/// "operations_per_second.int8: expected ..., got -1".
Result<Machine> parseMachine(std::string_view json);

/// Reads a file, or the installed machine of a name without a folder: NAME.json
/// in share/mtp/machines beside the program's folder. Messages start with the
/// path.
Result<Machine> loadMachine(const std::string &given);

} // namespace mtp::tune

#endif // MTP_TOOLS_MTP_TUNE_SIMULATE_MACHINEFILE_H
