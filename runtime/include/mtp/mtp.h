/*===- mtp.h - Load an artifact and generate, from C --------------*- C -*-===*\
|*
|* The C interface of the mtpc runtime. Objects are opaque and belong to the
|* caller, who frees them. Nothing throws, aborts or exits, nor installs signal
|* handlers.
|*
|* Every function that can fail returns an mtp_status. Unless it is MTP_OK, what
|* the function was to fill in is untouched, and mtp_message() says why.
|*
|* Threads: a model is immutable and may be shared. A session must not be used
|* by two threads at once; different sessions are independent.
|*
|* Structs begin with their size, which the *_init functions fill in: a newer
|* library knows what an older caller does not.
|*
\*===----------------------------------------------------------------------===*/

#ifndef MTP_MTP_H
#define MTP_MTP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a call failed. */
typedef enum mtp_status {
  MTP_OK = 0,
  MTP_INVALID_ARGUMENT = 1,    /* wrong whatever the state */
  MTP_NOT_FOUND = 2,           /* no such file, sequence, ... */
  MTP_OUT_OF_RANGE = 3,        /* past what the artifact was compiled for */
  MTP_RESOURCE_EXHAUSTED = 4,  /* memory, threads or KV pages */
  MTP_DATA_LOSS = 5,           /* the file is corrupt */
  MTP_FAILED_PRECONDITION = 6, /* wrong machine, version or state */
  MTP_UNIMPLEMENTED = 7,
  MTP_UNAVAILABLE = 8,
  MTP_INTERNAL = 9 /* a bug of the runtime */
} mtp_status;

/* Why a sequence ended. */
typedef enum mtp_finish {
  MTP_RUNNING = 0,
  MTP_STOP = 1,   /* an end or stop token, which is not part of the output */
  MTP_LENGTH = 2, /* max_tokens reached */
  MTP_CANCELLED = 3,
  MTP_FAILED = 4
} mtp_finish;

/* A loaded artifact: programs, weights, tokenizer. */
typedef struct mtp_model mtp_model;

/* Memory, KV pages and threads that run sequences on a model. */
typedef struct mtp_session mtp_session;

/* What went wrong last in this thread, lower case, without a period. Valid
   until the thread's next call; never null. */
const char *mtp_message(void);

/* "0.1.0". */
const char *mtp_version(void);

/*===----------------------------------------------------------------------===*
 * Models
 *===----------------------------------------------------------------------===*/

/* How an artifact comes into memory. */
typedef struct mtp_load_options {
  size_t size;
  int check_all_hashes; /* 0 or 1: compare all weights with their hashes */
  int copy; /* 0 or 1: read the file into memory of its own, of large pages
               where the system has them, instead of mapping it */
} mtp_load_options;

/* Fills in the defaults: all 0. */
void mtp_load_options_init(mtp_load_options *options);

/* Maps, or copies, and verifies an artifact; null options are the defaults. The
   file must not be truncated while mapped. Sessions keep the model's data alive
   after mtp_model_free. */
mtp_status mtp_model_load(const char *path, mtp_model **model);
mtp_status mtp_model_load_with(const char *path,
                               const mtp_load_options *options,
                               mtp_model **model);
void mtp_model_free(mtp_model *model); /* null is fine */

/* What the artifact was compiled for; all zero when it has functions only. */
typedef struct mtp_model_info {
  size_t size;
  uint32_t max_k;       /* drafts in a round */
  uint32_t max_batch;   /* sequences in a round */
  uint32_t max_context; /* tokens of prompt and output of one sequence */
  uint32_t vocab;       /* token ids are 0 .. vocab-1 */
  uint32_t modules;     /* drafter modules */
} mtp_model_info;

/* Zeroes it and sets its size; call it before mtp_model_get_info. */
void mtp_model_info_init(mtp_model_info *info);
void mtp_model_get_info(const mtp_model *model, mtp_model_info *info);

/* Token ids of UTF-8 text of `length` bytes. Writes up to `capacity` ids and
   always sets `count` to how many there are: call again with more room when it
   is larger. `add_special`: with the model's own start tokens. `parse_special`:
   take the names of special tokens for the tokens; never for a user's text.
   MTP_FAILED_PRECONDITION when the artifact has no tokenizer. */
mtp_status mtp_model_encode(const mtp_model *model, const char *text,
                            size_t length, int add_special, int parse_special,
                            int32_t *tokens, size_t capacity, size_t *count);

/* Well-formed UTF-8 of token ids, without special tokens. Writes up to
   `capacity` bytes, no terminator, and always sets `length` to the bytes there
   are. */
mtp_status mtp_model_decode(const mtp_model *model, const int32_t *tokens,
                            size_t count, char *text, size_t capacity,
                            size_t *length);

/*===----------------------------------------------------------------------===*
 * Sessions
 *===----------------------------------------------------------------------===*/

/* How a session works. What it generates depends on none of it. */
typedef struct mtp_session_options {
  size_t size;
  int32_t k;                /* drafts in a round; -1: the most there can be */
  uint32_t threads;         /* 0: all processors */
  uint32_t kv_pages;        /* 0: enough for all slots at full context */
  uint32_t max_slots;       /* 0: all */
  uint32_t prefill_chunk;   /* 0: the artifact's default */
  uint32_t chunks_per_step; /* 0: no bound */
  int pin_threads;          /* 0 or 1 */
  int prefix_cache;         /* 0 or 1 */
} mtp_session_options;

/* Fills in the defaults: k = -1, prefix_cache = 1, all else 0. */
void mtp_session_options_init(mtp_session_options *options);

/* Makes a session; null options are the defaults. MTP_INVALID_ARGUMENT when an
   option is outside of what the artifact was compiled for,
   MTP_FAILED_PRECONDITION when this machine lacks what the kernels need,
   MTP_RESOURCE_EXHAUSTED when memory or threads run out. */
mtp_status mtp_session_create(const mtp_model *model,
                              const mtp_session_options *options,
                              mtp_session **session);
void mtp_session_free(mtp_session *session); /* null is fine */

/* A prompt and how to go on with it. The arrays are copied. */
typedef struct mtp_request {
  size_t size;
  const int32_t *prompt; /* at least one token */
  size_t prompt_count;
  uint32_t max_tokens; /* output tokens, at least 1 */
  float temperature;   /* 0: greedy */
  uint32_t top_k;      /* 0: off */
  float top_p;         /* 1: off */
  float min_p;         /* 0: off */
  uint64_t seed;
  const int32_t *stop_tokens; /* may be null */
  size_t stop_count;
  int ignore_eos; /* 0 or 1 */
} mtp_request;

/* Fills in the defaults: max_tokens = 16, top_p = 1, all else 0. */
void mtp_request_init(mtp_request *request);

/* Queues a sequence and sets `id`. First come, first served.
   MTP_OUT_OF_RANGE when prompt and max_tokens exceed the context,
   MTP_RESOURCE_EXHAUSTED when they can never fit into the KV pages. */
mtp_status mtp_session_add(mtp_session *session, const mtp_request *request,
                           uint64_t *id);

/* What a step did for one sequence. The arrays are valid during the call. */
typedef struct mtp_update {
  size_t size;
  uint64_t id;
  const int32_t *tokens; /* new output tokens */
  size_t count;
  mtp_finish finish;
  const char *error; /* for MTP_FAILED, else "" */
} mtp_update;

/* Called for every sequence that changed, in order of id. It must not use the
   session. */
typedef void (*mtp_update_fn)(void *user, const mtp_update *update);

/* Admits and prefills what waits, then runs one round for all that run. A
   failing sequence is no error of the step: it ends with MTP_FAILED and the
   others go on. After an error of the step the session is unusable. `callback`
   may be null. */
mtp_status mtp_session_step(mtp_session *session, mtp_update_fn callback,
                            void *user);

/* 1 when no sequence waits or runs. */
int mtp_session_idle(const mtp_session *session);

/* Ends a sequence now. Ended ones are left as they are. */
mtp_status mtp_session_cancel(mtp_session *session, uint64_t id);

/* Forgets an ended sequence. */
mtp_status mtp_session_release(mtp_session *session, uint64_t id);

/* Counts since the session began. */
typedef struct mtp_statistics {
  size_t size;
  uint64_t rounds;        /* programs run */
  uint64_t slot_rounds;   /* rounds summed over sequences */
  uint64_t round_tokens;  /* tokens of all rounds; over slot_rounds: the mean
                             acceptance length */
  uint64_t output_tokens; /* tokens given to the caller */
  uint64_t prefill_tokens;
  uint64_t cached_tokens;
  uint64_t preemptions;
  double prefill_seconds;
  double decode_seconds;
} mtp_statistics;

void mtp_statistics_init(mtp_statistics *statistics);
void mtp_session_get_statistics(const mtp_session *session,
                                mtp_statistics *statistics);

#ifdef __cplusplus
}
#endif

#endif /* MTP_MTP_H */
