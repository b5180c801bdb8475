//===- Count.cpp - Numbers that grow with n -------------------------------===//

#include "dialects/Exec/IR/Count.h"

using namespace mlir;
using namespace mlir::exec;

std::optional<Count> mlir::exec::divide(Count count, int64_t divisor) {
  if (divisor == 0 || count.base % divisor != 0 || count.step % divisor != 0)
    return std::nullopt;
  return Count(count.base / divisor, count.step / divisor);
}

std::optional<int64_t> mlir::exec::ratio(Count count, Count unit) {
  int64_t part = unit.isFixed() ? unit.base : unit.step;
  int64_t whole = unit.isFixed() ? count.base : count.step;
  if (part == 0 || whole % part != 0 || unit * (whole / part) != count)
    return std::nullopt;
  return whole / part;
}

bool mlir::exec::isWithin(Count count, Points points, int64_t least,
                          int64_t most) {
  for (int64_t n : {points.least, points.most}) {
    int64_t value;
    if (__builtin_mul_overflow(count.step, n, &value) ||
        __builtin_add_overflow(count.base, value, &value) || value < least ||
        value > most)
      return false;
  }
  return true;
}

llvm::raw_ostream &mlir::exec::operator<<(llvm::raw_ostream &os, Count count) {
  if (count.isFixed())
    return os << count.base;
  if (count.base != 0)
    os << count.base << " + ";
  if (count.step != 1)
    os << count.step << " * ";
  return os << "n";
}

Diagnostic &mlir::exec::operator<<(Diagnostic &diagnostic, Count count) {
  std::string text;
  llvm::raw_string_ostream(text) << count;
  return diagnostic << text;
}
