//===- Fiber.h - A stack of its own for each simulated thread ---*- C++ -*-===//

#ifndef TEST_GPUSIM_FIBER_H
#define TEST_GPUSIM_FIBER_H

#include <cstddef>
#include <vector>

namespace mtp::gpusim {

/// Saves the registers that a call keeps on the stack, leaves its pointer in
/// `*save`, and goes on where `to` was saved. Fifteen instructions: ucontext
/// saves the signal mask too, which is a call of the system and takes a
/// microsecond, and a block switches hundreds of times.
///
/// The floating-point control words are not switched: kernels do not change
/// them. AddressSanitizer and valgrind take the change of the stack for an
/// overrun unless they are told (__sanitizer_start_switch_fiber,
/// VALGRIND_STACK_REGISTER): the simulator is built without them.
extern "C" void mtp_sim_switch(void **save, void *to);

/// Stacks of one size, reused from block to block. Each ends in a page that
/// may not be touched.
class Stacks {
public:
  static constexpr size_t kBytes = 64 << 10;

  ~Stacks();
  /// The upper end of a stack.
  char *take();
  void giveBack(char *top) { unused.push_back(top); }

private:
  std::vector<char *> unused;
  std::vector<char *> mapped;
};

/// Prepares a stack such that a switch to what is returned calls `entry`.
void *prepareStack(char *top, void (*entry)());

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_FIBER_H
