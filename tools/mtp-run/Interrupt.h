//===- Interrupt.h - Ctrl-C while text is generated -------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_INTERRUPT_H
#define MTP_TOOLS_MTP_RUN_INTERRUPT_H

namespace mtp {

/// From now on the first SIGINT or SIGTERM only makes wasInterrupted() true; a
/// second one ends the process.
void catchInterrupt();
bool wasInterrupted();

/// Ends the process by that signal, as the shell expects of a program that was
/// interrupted, where it was. To be called when everything is printed and the
/// device is left.
void endIfInterrupted();

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_INTERRUPT_H
