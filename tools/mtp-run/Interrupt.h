//===- Interrupt.h - Ctrl-C while text is generated -------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_INTERRUPT_H
#define MTP_TOOLS_MTP_RUN_INTERRUPT_H

namespace mtp {

/// From now on the first SIGINT or SIGTERM only makes wasInterrupted() true; a
/// second one ends the process.
void catchInterrupt();
bool wasInterrupted();

/// For a chat: from now on SIGINT, however often it comes, only makes
/// takeInterrupt() true, once; SIGTERM is as above.
void catchEachInterrupt();
bool takeInterrupt();

/// Waits until standard input can be read or has ended; false when one of the
/// signals came instead, before or while it waits. Behind catchEachInterrupt().
bool waitForInput();

/// Ends the process by that signal, as the shell expects of a program that was
/// interrupted, where it was. To be called when everything is printed and the
/// device is left.
void endIfInterrupted();

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_INTERRUPT_H
