//===- Fiber.h - A stack of its own for each simulated thread ---*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_MACHINE_FIBER_H
#define MTP_TEST_GPUSIM_MACHINE_FIBER_H

#include <cstddef>
#include <vector>

namespace mtp::gpusim {

/// Saves the registers that a call preserves on the stack, stores the stack
/// pointer in `*save`, and continues at the saved pointer `to`. That takes
/// fifteen instructions. ucontext also saves the signal mask, by a system call
/// of about a microsecond, and a block switches hundreds of times.
///
/// The floating-point control words are not switched: kernels do not change
/// them. AddressSanitizer and valgrind take the change of the stack for an
/// overrun unless they are told (__sanitizer_start_switch_fiber,
/// VALGRIND_STACK_REGISTER), so the simulator is built without sanitizers.
extern "C" void mtp_sim_switch(void **save, void *to);

/// Stacks of one size, reused from block to block. Each ends in a protected
/// page.
class Stacks {
public:
  static constexpr size_t kBytes = 64 << 10;

  ~Stacks();
  /// Returns the upper end of a stack.
  char *take();
  void giveBack(char *top) { unused.push_back(top); }

private:
  std::vector<char *> unused;
  std::vector<char *> mapped;
};

/// Prepares a stack. A switch to the returned pointer calls `entry`.
void *prepareStack(char *top, void (*entry)());

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_MACHINE_FIBER_H
