//===- Interrupt.h - Ctrl-C while text is generated -------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_INTERRUPT_H
#define MTP_TOOLS_MTP_RUN_INTERRUPT_H

namespace mtp {

/// Makes the first SIGINT or SIGTERM only set wasInterrupted(); a second one
/// ends the process.
void catchInterrupt();
bool wasInterrupted();

/// For a chat: makes every SIGINT only set takeInterrupt(), which is true once
/// per signal. SIGTERM is handled as above.
void catchEachInterrupt();
bool takeInterrupt();

/// Waits until standard input can be read or has ended. Returns false if one of
/// the signals arrived instead, before or during the wait. Requires
/// catchEachInterrupt().
bool waitForInput();

/// Ends the process by the signal that interrupted it, if any, as shells
/// expect. Call it when everything is printed and the device is released.
void endIfInterrupted();

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_INTERRUPT_H
