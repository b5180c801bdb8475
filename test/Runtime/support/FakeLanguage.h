/*===- FakeLanguage.h - A language without a model ----------------*- C -*-===//
|*
|* The next token is a hash. Mostly it is a hash of the last two tokens, which a
|* drafter can know, and sometimes of the whole history, which only the target
|* sees. The kernels compute it from the KV pages, the tests from the token
list.
|* They agree only if every page, row and position is right.
|*
\*===----------------------------------------------------------------------===*/

#ifndef MTP_TEST_RUNTIME_SUPPORT_FAKELANGUAGE_H
#define MTP_TEST_RUNTIME_SUPPORT_FAKELANGUAGE_H

#include <stdint.h>

#define FAKE_VOCAB 64
/* Number of parts of the vocabulary whose best logits are known. */
#define FAKE_PARTS 2
/* Elements (i32) of a KV entry; the first holds the token. */
#define FAKE_ENTRY 16

static inline uint32_t fakeMix(uint32_t hash, uint32_t value) {
  hash ^= value + 0x9e3779b9u + (hash << 6) + (hash >> 2);
  hash *= 0x85ebca6bu;
  return hash ^ (hash >> 13);
}

/* Returns a drafter's guess for the token after `previous`, `last`. */
static inline int32_t fakeGuess(int32_t previous, int32_t last) {
  uint32_t hash = fakeMix(fakeMix(7, (uint32_t)previous), (uint32_t)last);
  return (int32_t)(hash % FAKE_VOCAB);
}

/* Returns the token after a history with a hash that ends in `previous`,
   `last`. */
static inline int32_t fakeNext(uint32_t history, int32_t previous,
                               int32_t last) {
  if (history % 4 == 0)
    return (int32_t)((history >> 8) % FAKE_VOCAB);
  return fakeGuess(previous, last);
}

/* Returns the logit of `token` after a history; that of fakeNext is the
   largest. */
static inline float fakeLogit(uint32_t history, int32_t previous, int32_t last,
                              int32_t token) {
  if (token == fakeNext(history, previous, last))
    return 4.0f;
  return (float)(fakeMix(history, (uint32_t)token) % 1024) / 300.0f;
}

#endif
