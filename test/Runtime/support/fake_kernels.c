/*===- fake_kernels.c - Kernels of the fake language model ----------------===//
|*
|* The round of the artifact format in plain C, one function per kernel, with
|* the ABI of runtime/device/cpu/KernelImage.h. Hidden states have width 1: the
|* token of their row.
|*
\*===----------------------------------------------------------------------===*/

#include "FakeLanguage.h"

/* Kernels have the names that an artifact gives them.
   NOLINTBEGIN(readability-identifier-naming) */

/* The first param of every kernel is its number of tasks; `p` points to the
   others. */
#define KERNEL_ARGUMENTS                                                       \
  void *const *b, const int64_t *p, int64_t begin, int64_t end, void *scratch
#define KERNEL(name)                                                           \
  static void name##_body(KERNEL_ARGUMENTS);                                   \
  void name(KERNEL_ARGUMENTS) { name##_body(b, p + 1, begin, end, scratch); }  \
  static void name##_body(KERNEL_ARGUMENTS)
#define I32(i) ((int32_t *)b[i])
#define F32(i) ((float *)b[i])

/* Returns a row's entry. A row without a position, or past the pages of its
   slot, has the dummy page. */
static int32_t *entryAt(void *const *b, int table, int cache, int64_t maxPages,
                        int64_t page, int32_t slot, int32_t position) {
  int isDead = position < 0 || position / page >= maxPages;
  int32_t number = isDead ? 0 : I32(table)[slot * maxPages + position / page];
  int64_t place = isDead ? 0 : position % page;
  return I32(cache) + (number * page + place) * FAKE_ENTRY;
}

/* [tokens, slots, positions, table, cache] / [maxPages, page] / rows */
KERNEL(append) {
  for (int64_t r = begin; r < end; ++r)
    *entryAt(b, 3, 4, p[0], p[1], I32(1)[r], I32(2)[r]) = I32(0)[r];
}

/* [slots, positions, table, cache, logits, hidden] / [maxPages, page] / rows */
KERNEL(target) {
  for (int64_t r = begin; r < end; ++r) {
    uint32_t history = 1;
    int32_t previous = 0, last = 0, position = I32(1)[r];
    for (int32_t i = 0; i <= position; ++i) {
      previous = last;
      last = *entryAt(b, 2, 3, p[0], p[1], I32(0)[r], i);
      history = fakeMix(history, (uint32_t)last);
    }
    for (int32_t v = 0; v < FAKE_VOCAB; ++v)
      F32(4)[r * FAKE_VOCAB + v] = fakeLogit(history, previous, last, v);
    F32(5)[r] = (float)last;
  }
}

/* [logits, slots, sampling, values, indices] / rows: the best of each part.
   Logits that are not read are spoilt, as if they had not been written. */
KERNEL(best_of_parts) {
  for (int64_t r = begin; r < end; ++r) {
    float *logits = F32(0) + r * FAKE_VOCAB;
    for (int part = 0; part < FAKE_PARTS; ++part) {
      int first = part * (FAKE_VOCAB / FAKE_PARTS), best = first;
      for (int v = first; v < first + FAKE_VOCAB / FAKE_PARTS; ++v)
        best = logits[v] > logits[best] ? v : best;
      F32(3)[r * FAKE_PARTS + part] = logits[best];
      I32(4)[r * FAKE_PARTS + part] = best;
    }
    if (I32(2)[I32(1)[r] * 8 + 6] != 0)
      for (int v = 0; v < FAKE_VOCAB; ++v)
        logits[v] = v == 0 ? 1e9f : -1e9f;
  }
}

/* [tokens, hidden, slots, positions, table, cache, picks, out] /
   [maxPages, page] / rows. Guesses only when its own cache is right. */
KERNEL(module) {
  for (int64_t r = begin; r < end; ++r) {
    int32_t position = I32(3)[r], previous = (int32_t)F32(1)[r];
    int good = position <= 0 || *entryAt(b, 4, 5, p[0], p[1], I32(2)[r],
                                         position - 1) == previous;
    I32(6)[r] = good ? fakeGuess(previous, I32(0)[r]) : 0;
    F32(7)[r] = (float)I32(0)[r];
  }
}

/* [last, logits, slots, positions, logit row, slot, position] */
KERNEL(last_row) {
  for (int64_t s = begin; s < end; ++s) {
    int32_t r = I32(0)[s];
    for (int32_t v = 0; v < FAKE_VOCAB; ++v)
      F32(4)[s * FAKE_VOCAB + v] = F32(1)[r * FAKE_VOCAB + v];
    I32(5)[s] = I32(2)[r];
    I32(6)[s] = I32(3)[r];
  }
}

/* [active, length, accepted, window, drafts, tokens, slots, positions, last] /
   [k, d, kmax] / slots */
KERNEL(refresh_rows) {
  int64_t k = p[0], d = p[1], kmax = p[2], rows = k + d;
  for (int64_t i = begin; i < end; ++i) {
    int32_t slot = I32(0)[i], a = I32(2)[slot];
    int32_t first = I32(1)[slot] - 1 - a - (int32_t)(d - 1);
    for (int32_t j = 0; j < rows; ++j) {
      int64_t r = i * rows + j;
      int live = first + j >= 0 && j <= a + d - 1;
      I32(6)[r] = slot;
      I32(7)[r] = live ? first + j : -1;
      I32(5)
      [r] = !live    ? 0
            : j <= a ? I32(3)[slot * (kmax + 1) + j]
                     : I32(4)[i * kmax + j - a - 1];
    }
    I32(8)[i] = (int32_t)(i * rows + a + d - 1);
  }
}

/* [active, hidden, out] / [k, kmax1] / slots */
KERNEL(refresh_hidden) {
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = 0; j <= p[0]; ++j)
      F32(2)[i * (p[0] + 1) + j] = F32(1)[I32(0)[i] * p[1] + j];
}

/* [active, accepted, carry, prev, out] / [k, d] / slots */
KERNEL(shift_hidden) {
  int64_t rows = p[0] + p[1];
  for (int64_t i = begin; i < end; ++i) {
    int32_t slot = I32(0)[i];
    float *previous = F32(3) + i * (rows - 1), *out = F32(4) + i * rows;
    out[0] = F32(2)[slot];
    for (int64_t j = 1; j < rows; ++j)
      out[j] = previous[j - 1];
    F32(2)[slot] = previous[I32(1)[slot]];
  }
}

/* [picks, hidden, last, drafts, hidden out] / [j, kmax] / slots: drafts[i][j]
   is the pick of row last[i]. */
KERNEL(put_drafts) {
  for (int64_t i = begin; i < end; ++i) {
    I32(3)[i * p[1] + p[0]] = I32(0)[I32(2)[i]];
    F32(4)[i] = F32(1)[I32(2)[i]];
  }
}

/* [active, length, drafts, tokens, slots, positions, last] / [j, step, kmax] /
   slots */
KERNEL(chain_rows) {
  for (int64_t i = begin; i < end; ++i) {
    I32(3)[i] = I32(2)[i * p[2] + p[0]];
    I32(4)[i] = I32(0)[i];
    I32(5)[i] = I32(1)[I32(0)[i]] - 1 + (int32_t)p[1];
    I32(6)[i] = (int32_t)i;
  }
}

/* [active, limit, drafts] / [k, kmax] / slots: removes drafts after a slot's
   limit. */
KERNEL(limit_drafts) {
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = I32(1)[I32(0)[i]]; j < p[0]; ++j)
      I32(2)[i * p[1] + j] = -1;
}

/* [active, length, accepted, window, drafts, tokens, slots, positions] /
   [k, kmax] / slots */
KERNEL(verify_rows) {
  for (int64_t i = begin; i < end; ++i) {
    int32_t slot = I32(0)[i];
    for (int64_t j = 0; j <= p[0]; ++j) {
      int64_t r = i * (p[0] + 1) + j;
      I32(5)
      [r] = j == 0 ? I32(3)[slot * (p[1] + 1) + I32(2)[slot]]
                   : I32(4)[i * p[1] + j - 1];
      I32(6)[r] = slot;
      I32(7)[r] = I32(1)[slot] + (int32_t)j;
    }
  }
}

/* [active, picks, drafts, hidden rows, length, accepted, window, hidden,
   outTokens, outCount] / [k, kmax] / slots */
KERNEL(accept_commit) {
  int64_t k = p[0], kmax1 = p[1] + 1;
  for (int64_t i = begin; i < end; ++i) {
    int32_t slot = I32(0)[i], a = 0;
    const int32_t *picks = I32(1) + i * (k + 1);
    while (a < k && I32(2)[i * p[1] + a] == picks[a])
      ++a;
    for (int64_t j = 0; j <= k; ++j) {
      I32(6)[slot * kmax1 + j] = picks[j];
      I32(8)[slot * kmax1 + j] = picks[j];
      F32(7)[slot * kmax1 + j] = F32(3)[i * (k + 1) + j];
    }
    I32(4)[slot] += a + 1;
    I32(5)[slot] = a;
    I32(9)[slot] = a + 1;
  }
}

/* A word of the state "prompt_sequences" of sequence `s` of S. */
#define WORD(w, slots) (I32(0)[(w) * (slots) + s])

/* [sequences, last] / [S] / sequences */
KERNEL(prompt_last) {
  for (int64_t s = begin; s < end; ++s)
    I32(1)[s] = WORD(1, p[0]) + WORD(2, p[0]) - 1;
}

/* [sequences, out, carry] / [d, S] / sequences */
KERNEL(prompt_carry) {
  for (int64_t s = begin; s < end; ++s) {
    int32_t row = WORD(4, p[1]) - (int32_t)p[0] - WORD(3, p[1]);
    if (row >= 0 && row < WORD(2, p[1]))
      F32(2)[WORD(0, p[1])] = F32(1)[WORD(1, p[1]) + row];
  }
}

/* [sequences, pick, hidden rows, length, accepted, window, hidden, outTokens,
   outCount] / [kmax1, S] */
KERNEL(prompt_commit) {
  for (int64_t s = begin; s < end; ++s) {
    int32_t slot = WORD(0, p[1]), count = WORD(2, p[1]), total = WORD(4, p[1]);
    if (WORD(3, p[1]) + count != total)
      continue;
    I32(3)[slot] = total;
    I32(4)[slot] = 0;
    I32(5)[slot * p[0]] = I32(1)[s];
    F32(6)[slot * p[0]] = F32(2)[WORD(1, p[1]) + count - 1];
    I32(7)[slot * p[0]] = I32(1)[s];
    I32(8)[slot] = 1;
  }
}

/* [sequences, tokens, table, cache, pick, history, pair, fold, marks, outCount]
   / [S, maxPages, page, context, hasFold] / sequences: writes the states
   of a prefill, and compares all of them with the cache at the prompt's end. An
   error is reported by a count of 0. */
static void auditPrompt(void *const *b, const int64_t *p, int64_t s) {
  int32_t slot = WORD(0, p[0]), rows = WORD(2, p[0]), start = WORD(3, p[0]);
  int32_t total = WORD(4, p[0]), *tokens = I32(1) + WORD(1, p[0]);
  int32_t *history = I32(5) + slot * p[3], *pair = I32(6) + slot * 2;
  int32_t *folded = I32(7) + slot;
  uint32_t fold = 5;
  for (int32_t j = 0; j < rows; ++j) {
    int32_t behind = total - 1 - (start + j);
    if (behind < 2)
      pair[1 - behind] = tokens[j] + 1;
    if (p[4])
      *folded = (int32_t)fakeMix((uint32_t)*folded, (uint32_t)tokens[j]);
  }
  if (start + rows != total)
    return;
  int good = I32(8)[slot] == 7;
  for (int32_t i = 0; i < p[3]; ++i) {
    int32_t token = i < total ? *entryAt(b, 2, 3, p[1], p[2], slot, i) : -1;
    /* After a preemption the anchor follows the context, otherwise nothing. */
    good &= history[i] == token || (i == total && history[i] == I32(4)[0]);
    if (i < total)
      fold = fakeMix(fold, (uint32_t)token);
    if (i < total && total - 1 - i < 2)
      good &= pair[1 - (total - 1 - i)] == token + 1;
  }
  if (p[4])
    good &= *folded == (int32_t)fold;
  history[total] = I32(4)[s];
  if (!good)
    I32(9)[slot] = 0;
}

KERNEL(prompt_audit) {
  for (int64_t s = begin; s < end; ++s)
    auditPrompt(b, p, s);
}

/* [active, length, accepted, outTokens, history, fold, marks] /
   [kmax1, context, hasFold] / slots: updates these states after a round. */
KERNEL(track) {
  for (int64_t i = begin; i < end; ++i) {
    int32_t slot = I32(0)[i], a = I32(2)[slot], anchor = I32(1)[slot] - 1 - a;
    for (int32_t j = 0; j <= a; ++j) {
      int32_t *history = I32(4) + slot * p[1] + anchor + j;
      if (p[2])
        I32(5)
      [slot] = (int32_t)fakeMix((uint32_t)I32(5)[slot], (uint32_t)*history);
      if (anchor + j + 1 < p[1])
        history[1] = I32(3)[slot * p[0] + j];
    }
    I32(6)[slot] += 1;
  }
}

/* [x f32[n], y f32[n]] / [] / n: y = 2 x, an exported function. */
KERNEL(twice) {
  for (int64_t i = begin; i < end; ++i)
    F32(1)[i] = 2 * F32(0)[i];
}
/* NOLINTEND(readability-identifier-naming) */
