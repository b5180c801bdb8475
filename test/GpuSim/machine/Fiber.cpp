//===- Fiber.cpp - A stack of its own for each simulated thread -----------===//

#include "Fiber.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

using namespace mtp::gpusim;

asm(R"(
.text
.globl mtp_sim_switch
.hidden mtp_sim_switch
.type mtp_sim_switch,@function
mtp_sim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size mtp_sim_switch, .-mtp_sim_switch
)");

static constexpr size_t kPage = 4096;
/// Number of stacks in one mapping: enough for the largest block.
static constexpr size_t kStacksOfMapping = 1024;

Stacks::~Stacks() {
  for (char *place : mapped)
    munmap(place, kStacksOfMapping * kBytes);
}

char *Stacks::take() {
  if (unused.empty()) {
    void *place =
        mmap(nullptr, kStacksOfMapping * kBytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) {
      std::fputs("gpu-sim: error: no memory for stacks\n", stderr);
      std::abort();
    }
    mapped.push_back(static_cast<char *>(place));
    for (size_t i = kStacksOfMapping; i-- > 0;) {
      char *bottom = mapped.back() + i * kBytes;
      mprotect(bottom, kPage, PROT_NONE);
      // Tops of stacks at a distance of a power of two would share lines of the
      // first cache.
      unused.push_back(bottom + kBytes - i % 16 * 192);
    }
  }
  char *top = unused.back();
  unused.pop_back();
  return top;
}

void *mtp::gpusim::prepareStack(char *top, void (*entry)()) {
  auto *stack = reinterpret_cast<void **>(top);
  // `entry` must find the stack as after a call: 8 off a multiple of 16.
  *--stack = nullptr;
  *--stack = reinterpret_cast<void *>(entry);
  for (int i = 0; i < 6; ++i)
    *--stack = nullptr;
  return stack;
}
