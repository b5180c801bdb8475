//===- CStatistics.cpp - Counts and memory of sessions from C -------------===//

#include "runtime/api/CSupport.h"

using namespace mtp;
using namespace mtp::capi;

extern "C" {

void(mtp_statistics_init)(mtp_statistics *statistics) { clear(statistics); }

void mtp_statistics_init_sized(mtp_statistics *statistics, size_t size) {
  initSized(statistics, size, mtp_statistics_init);
}

static Status giveStatistics(const Statistics &s, mtp_statistics *target) {
  return toCaller({sizeof(mtp_statistics), s.rounds,
                   s.slotRounds,           s.roundTokens,
                   s.outputTokens,         s.prefillTokens,
                   s.cachedTokens,         s.preemptions,
                   s.prefillSeconds,       s.decodeSeconds,
                   s.decodeTokens,         s.roundRows,
                   s.roundCapacity,        s.mixedTokens,
                   s.caughtUpTokens,       s.snapshots,
                   s.droppedSnapshots,     s.snapshotBytes,
                   s.restoredSnapshots,    s.restoredPreemptions,
                   s.paddedRounds,         s.paddingSlots},
                  target, "mtp_statistics");
}

mtp_status mtp_session_get_statistics(const mtp_session *session,
                                      mtp_statistics *statistics) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  return report(giveStatistics(session->session->copyStatistics(), statistics));
}

mtp_status mtp_session_get_sequence_statistics(const mtp_session *session,
                                               uint64_t id,
                                               mtp_statistics *statistics) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  auto found = session->session->statistics(id);
  return report(found ? giveStatistics(*found, statistics) : found.status());
}

/// Returns the statistics of a sequence, or of the session if `id` is 0.
static Result<Statistics> statisticsOf(const Session &session, uint64_t id) {
  if (id == 0)
    return session.copyStatistics();
  return session.statistics(id);
}

mtp_status mtp_session_get_acceptance(const mtp_session *session, uint64_t id,
                                      uint64_t *drafted, uint64_t *accepted,
                                      size_t capacity, size_t *count) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  MTP_C_RETURN_IF_ERROR(need(count, "room for a count"));
  auto all = statisticsOf(*session->session, id);
  if (!all)
    return report(all.status());
  size_t given = std::min(capacity, all->drafted.size());
  if (drafted)
    std::copy_n(all->drafted.begin(), given, drafted);
  if (accepted)
    std::copy_n(all->accepted.begin(), given, accepted);
  *count = all->drafted.size();
  return MTP_OK;
}

mtp_status mtp_session_get_rounds(const mtp_session *session, uint64_t id,
                                  uint64_t *rounds, size_t capacity,
                                  size_t *count) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  MTP_C_RETURN_IF_ERROR(need(count, "room for a count"));
  auto all = statisticsOf(*session->session, id);
  if (!all)
    return report(all.status());
  if (rounds)
    std::copy_n(all->roundsByK.begin(),
                std::min(capacity, all->roundsByK.size()), rounds);
  *count = all->roundsByK.size();
  return MTP_OK;
}

void(mtp_memory_usage_init)(mtp_memory_usage *usage) { clear(usage); }

void mtp_memory_usage_init_sized(mtp_memory_usage *usage, size_t size) {
  initSized(usage, size, mtp_memory_usage_init);
}

mtp_status mtp_session_get_memory_usage(const mtp_session *session,
                                        mtp_memory_usage *usage) {
  MTP_C_RETURN_IF_ERROR(need(session, "a session"));
  const Session &s = *session->session;
  KvUsage kv = s.kvUsage();
  const EnvelopeInfo *e = s.model()->envelope();
  return report(
      toCaller({sizeof(mtp_memory_usage), kv.freePages, kv.cachedPages,
                kv.heldPages, e ? e->pageTokens : 0, s.memoryBytes()},
               usage, "mtp_memory_usage"));
}

} // extern "C"
