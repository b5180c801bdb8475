//===- Stopwatch.h - Time of a scope ----------------------------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_UNITS_STOPWATCH_H
#define MTP_COMPILER_CODEGEN_UNITS_STOPWATCH_H

#include <chrono>

namespace mtp::codegen {

/// Adds the duration of its scope, in seconds, to a number.
class Stopwatch {
public:
  explicit Stopwatch(double &seconds)
      : seconds(seconds), begin(std::chrono::steady_clock::now()) {}
  ~Stopwatch() {
    auto end = std::chrono::steady_clock::now();
    seconds += std::chrono::duration<double>(end - begin).count();
  }
  Stopwatch(const Stopwatch &) = delete;
  Stopwatch &operator=(const Stopwatch &) = delete;

private:
  double &seconds;
  std::chrono::steady_clock::time_point begin;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_UNITS_STOPWATCH_H
