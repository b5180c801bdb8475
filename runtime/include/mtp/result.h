//===- result.h - A value, or why there is none -----------------*- C++ -*-===//
//
// Ownership: a result owns its value; a reference or pointer to it is valid
// while the result lives and holds it.
//
// Threads: a plain value; any thread may use one of its own.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RESULT_H
#define MTP_RESULT_H

#include "mtp/status.h"

#include <cassert>
#include <type_traits>
#include <utility>
#include <variant>

namespace mtp {

/// A T, or the failure that kept it from being made. Both convert implicitly,
/// so a function returning Result<T> returns either.
template <typename T>
class [[nodiscard]] Result {
  static_assert(!std::is_reference_v<T>, "hold a pointer instead");
  static_assert(!std::is_same_v<std::remove_cv_t<T>, Status>,
                "a Status is a result already");

public:
  /// A value.
  Result(T value) : storage(std::in_place_index<0>, std::move(value)) {}

  /// A failure. An OK status carries no value and so becomes Internal.
  Result(Status status) : storage(std::in_place_index<1>, std::move(status)) {
    if (std::get_if<1>(&storage)->isOk())
      *std::get_if<1>(&storage) = internalError("expected a value, got OK");
  }

  /// Whether there is a value.
  bool isOk() const { return storage.index() == 0; }
  explicit operator bool() const { return isOk(); }

  /// The failure, or OK when there is a value.
  Status status() const {
    return isOk() ? Status() : *std::get_if<1>(&storage);
  }

  /// The value. Only when isOk(): this is asserted, not checked.
  T &value() & {
    assert(isOk() && "no value in a failed result");
    return *std::get_if<0>(&storage);
  }
  const T &value() const & {
    assert(isOk() && "no value in a failed result");
    return *std::get_if<0>(&storage);
  }
  /// By value, so that `for (x : *makeList())` holds what it walks over.
  T value() && { return std::move(value()); }

  /// As value().
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T operator*() && { return std::move(value()); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

private:
  std::variant<T, Status> storage;
};

} // namespace mtp

#define MTP_CONCAT_IMPL(a, b) a##b
#define MTP_CONCAT(a, b) MTP_CONCAT_IMPL(a, b)

/// Evaluates an expression of type Result<T>; returns its failure from the
/// enclosing function, or else moves its value into `target`, which may be a
/// declaration: MTP_ASSIGN_OR_RETURN(auto file, openFile(path)); It is more
/// than one statement, and braces around it alone need a comment inside, or
/// clang-format takes them away.
#define MTP_ASSIGN_OR_RETURN(target, expr)                                     \
  MTP_ASSIGN_OR_RETURN_IMPL(MTP_CONCAT(mtpResult, __LINE__), target, expr)
#define MTP_ASSIGN_OR_RETURN_IMPL(result, target, expr)                        \
  auto result = (expr);                                                        \
  if (!result.isOk()) {                                                        \
    return result.status();                                                    \
  }                                                                            \
  target = std::move(result).value()

#endif // MTP_RESULT_H
