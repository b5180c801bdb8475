//===- StrongComponents.h - Cycles of a graph of states ---------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_AUTOMATON_STRONGCOMPONENTS_H
#define MTP_RUNTIME_GRAMMAR_AUTOMATON_STRONGCOMPONENTS_H

#include "runtime/grammar/automaton/Automaton.h"

namespace mtp::grammar {

/// Returns a number per state. Two states have one number if each can be
/// reached from the other. Takes linear time and no stack (Tarjan, 1972).
std::vector<uint32_t> strongComponents(const ListPerState<StateId> &successors,
                                       size_t numStates);

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_AUTOMATON_STRONGCOMPONENTS_H
