/*===- mtp.h - Load an artifact and generate, from C --------------*- C -*-===*\
|*
|* The C interface of the mtpc runtime. Nothing throws or exits, nor installs
|* signal handlers.
|*
|* Ownership: objects are opaque and belong to the caller, who frees them.
|* What is given is copied, or read during the call alone. What a function
points
|* the caller to belongs to the library, and its comment says how long it is
|* valid.
|*
|* Shapes: an array has as many elements as the count, capacity or length behind
|* it says; other strings that are given end with a zero. Structs and ids that a
|* function is to fill in are one.
|*
|* Every function that can fail returns an mtp_status. Unless it is MTP_OK, what
|* the function was to fill in is untouched, and mtp_message() says why. A null
|* pointer where something is needed is MTP_INVALID_ARGUMENT; a pointer with a
|* count may be null where the count is 0.
|*
|* Memory: sizes that come from a caller or from a file are compared with their
|* limits, and large ones with the memory that the process may use, before they
|* are allocated. What sessions, kept logits and copied files hold is added up
|* over the process, used or not. Where the system has no memory for small
|* things (a string, a list), the process ends.
|*
|* Threads: a model is immutable and may be shared. A session may be used by
|* several threads: calls run one at a time, and one that comes during a step
|* waits for its end, before the next step. What a session gives by pointer
|* changes with later calls: it is for the thread that steps, or while none
|* does. A decoder and results must not be used by two threads at once;
|* different ones are independent.
|*
|* Units: lengths and positions are in tokens, times in seconds, memory and text
|* in bytes. Text is UTF-8.
|*
|* Structs that begin with `size` may grow. Their *_init functions set the size
|* that the caller knows: a newer library leaves out what an older caller does
|* not know, and an older library ignores what it does not know itself. Other
|* structs never change.
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

/* Turns the ids of an output into text as they come. */
typedef struct mtp_decoder mtp_decoder;

/* What an exported function returned. */
typedef struct mtp_results mtp_results;

/* A parsed chat template. Immutable: any thread may render it. */
typedef struct mtp_chat mtp_chat;

/* What went wrong last in this thread, lower case, without a period; "" before
   anything did; it ends with a zero. Valid until the thread's next call; never
   null. */
const char *mtp_message(void);

/* The version of the library, "0.1.0". Never freed. */
const char *mtp_version(void);

/* The version of the artifact format that the library reads, "1.4".
   Never freed. */
const char *mtp_format_version(void);

/*===----------------------------------------------------------------------===*
 * Models
 *===----------------------------------------------------------------------===*/

/* What runs a model. */
typedef enum mtp_device {
  MTP_DEVICE_AUTO = 0, /* the CPU, and a GPU where the artifact is for GPUs
                          alone */
  MTP_DEVICE_CPU = 1,
  MTP_DEVICE_CUDA = 2 /* an NVIDIA GPU (gpu below) of libcuda.so.1, or of the
                         driver that MTP_CUDA_DRIVER in the environment names */
} mtp_device;

/* How an artifact comes into memory, and what runs it. */
typedef struct mtp_load_options {
  size_t size;
  int check_all_hashes; /* 0 or 1: compare all weights with their hashes */
  int copy; /* 0 or 1: read the file into memory of its own, of large pages
               where the system has them, instead of mapping it */
  int32_t device; /* an mtp_device */
  uint32_t gpu;   /* which of the driver's GPUs, from 0 on, where one runs the
                     model; that there is one is asked by mtp_session_create */
} mtp_load_options;

/* Fills in the defaults: all 0. */
void mtp_load_options_init(mtp_load_options *options);

/* An artifact is a program: load only what comes from someone whose programs
   you would run.

   Maps, or copies, and verifies an artifact; null options are the defaults. The
   file must not be truncated while mapped. Sessions keep the model's data alive
   after mtp_model_free. MTP_NOT_FOUND and MTP_INVALID_ARGUMENT when the file
   cannot be opened, MTP_INVALID_ARGUMENT for a wrong option,
   MTP_RESOURCE_EXHAUSTED without the memory for it, MTP_DATA_LOSS when it is no
   intact artifact, MTP_FAILED_PRECONDITION when it was made for
   another version of the format, or has no plan for the device that was asked
   for. What Tokenizer::load (tokenizer.h) finds wrong with its tokenizer has
   its codes. */
mtp_status mtp_model_load(const char *path, mtp_model **model);
mtp_status mtp_model_load_with(const char *path,
                               const mtp_load_options *options,
                               mtp_model **model);
void mtp_model_free(mtp_model *model); /* null is fine */

/* What the artifact was compiled for; all zero when it has functions only. */
typedef struct mtp_model_info {
  size_t size;
  uint32_t max_k;         /* drafts that a round may accept */
  uint32_t max_batch;     /* sequences in a round */
  uint32_t max_context;   /* tokens of prompt and output of one sequence */
  uint32_t vocab;         /* token ids are 0 .. vocab-1 */
  uint32_t modules;       /* places ahead at which a prompt is read */
  uint32_t prefill_chunk; /* tokens of a prompt computed at a time */
  uint32_t page_tokens;   /* tokens in a KV page */
  uint32_t max_nodes;     /* rows of a sequence that a round verifies */
  uint32_t max_rows;      /* rows of all sequences that a round verifies */
} mtp_model_info;

/* Zeroes it and sets its size; call it before mtp_model_get_info, which gives
   MTP_INVALID_ARGUMENT where it was not. */
void mtp_model_info_init(mtp_model_info *info);
mtp_status mtp_model_get_info(const mtp_model *model, mtp_model_info *info);

/* What the model's authors recommend (generation_config.json), and its first
   token. Requests do not use it by themselves: copy what is wanted. */
typedef struct mtp_generation {
  size_t size;
  int32_t bos;       /* begins a text; -1: none */
  int add_bos;       /* 1: a prompt should start with bos */
  float temperature; /* 0: greedy */
  uint32_t top_k;    /* 0: off */
  float top_p;       /* 1: off */
  float min_p;       /* 0: off */
} mtp_generation;

/* Fills in bos = -1, top_p = 1, all else 0; call it before
   mtp_model_get_generation, which gives MTP_INVALID_ARGUMENT otherwise. */
void mtp_generation_init(mtp_generation *generation);
mtp_status mtp_model_get_generation(const mtp_model *model,
                                    mtp_generation *generation);

/* The tokens that end a text. Sessions end sequences at them. Writes up to
   `capacity` ids and sets `count` to how many there are. Fails for null
   alone. */
mtp_status mtp_model_get_eos(const mtp_model *model, int32_t *tokens,
                             size_t capacity, size_t *count);

/* Token ids of UTF-8 text of `length` bytes. Writes up to `capacity` ids and
   always sets `count` to how many there are: call again with more room when it
   is larger. `add_special`: with the model's own start tokens. `parse_special`:
   take the names of special tokens for the tokens; never for a user's text.
   MTP_FAILED_PRECONDITION when the artifact has no tokenizer,
   MTP_INVALID_ARGUMENT for ill-formed UTF-8, MTP_OUT_OF_RANGE past 64 MiB. */
mtp_status mtp_model_encode(const mtp_model *model, const char *text,
                            size_t length, int add_special, int parse_special,
                            int32_t *tokens, size_t capacity, size_t *count);

/* Well-formed UTF-8 of token ids, without special tokens. Writes up to
   `capacity` bytes, no terminator, and always sets `length` to the bytes there
   are. An id without a token is the empty text. MTP_OUT_OF_RANGE for a
   negative id. */
mtp_status mtp_model_decode(const mtp_model *model, const int32_t *tokens,
                            size_t count, char *text, size_t capacity,
                            size_t *length);

/* Makes a decoder for one stream of ids, which keeps the model's data alive.
   `at_text_start`: 1 when the ids begin a text, 0 when they go on one, as
   output goes on a prompt: the space before the first word is kept then.
   MTP_FAILED_PRECONDITION when the artifact has no tokenizer. */
mtp_status mtp_decoder_create(const mtp_model *model, int at_text_start,
                              mtp_decoder **decoder);
void mtp_decoder_free(mtp_decoder *decoder); /* null is fine */

/* The text that `count` more ids complete: well-formed UTF-8 without special
   tokens, often empty; a character whose bytes are not all there is held back.
   `text` is terminated, `length` bytes long without the terminator, and valid
   until the decoder's next call. An id without a token is the empty text.
   MTP_OUT_OF_RANGE for a negative id; the stream is then as if none had been
   given. */
mtp_status mtp_decoder_append(mtp_decoder *decoder, const int32_t *tokens,
                              size_t count, const char **text, size_t *length);

/* Ends the stream: U+FFFD if a character is incomplete, else "". The next
   mtp_decoder_append begins a new one. `text` and `length` are as there. Fails
   for null alone; `text` is valid until the decoder's next call. */
mtp_status mtp_decoder_finish(mtp_decoder *decoder, const char **text,
                              size_t *length);

/*===----------------------------------------------------------------------===*
 * Chats
 *===----------------------------------------------------------------------===*/

/* Parses the artifact's chat template, or `source` of `length` bytes in its
   place (null: the artifact's). It keeps the model's data alive.
   MTP_NOT_FOUND when there is neither, MTP_INVALID_ARGUMENT for what is no
   template (mtp_message says line and column). */
mtp_status mtp_chat_create(const mtp_model *model, const char *source,
                           size_t length, mtp_chat **chat);
void mtp_chat_free(mtp_chat *chat); /* null is fine */

/* The prompt of a conversation as transformers makes it. `request` is JSON of
   `length` bytes: an object with "messages", an array of objects, and, as the
   template knows them, "tools", "documents" (null where absent),
   "add_generation_prompt" (true where absent) and any other variables, such as
   "enable_thinking". Writes up to `capacity` bytes, no terminator, and always
   sets `count` to the bytes there are. MTP_INVALID_ARGUMENT for another request
   and where the template raises an exception, MTP_RESOURCE_EXHAUSTED when it
   takes too many steps or too much memory. */
mtp_status mtp_chat_render(const mtp_chat *chat, const char *request,
                           size_t length, char *text, size_t capacity,
                           size_t *count);

/* Token ids of the same, to begin a request with. A special token is one only
   where the template wrote its first character: what a message spells out is
   text. None is added to what the template writes. Writes up to `capacity` ids
   and always sets `count` to how many there are. Fails as mtp_chat_render does,
   and with MTP_FAILED_PRECONDITION when the artifact has no tokenizer. */
mtp_status mtp_chat_encode(const mtp_chat *chat, const char *request,
                           size_t length, int32_t *tokens, size_t capacity,
                           size_t *count);

/*===----------------------------------------------------------------------===*
 * Tensors and exported functions
 *===----------------------------------------------------------------------===*/

/* Element types. */
typedef enum mtp_element {
  MTP_F32 = 0,
  MTP_BF16 = 1,
  MTP_F16 = 2,
  MTP_F64 = 3,
  MTP_I8 = 4,
  MTP_U8 = 5,
  MTP_I16 = 6,
  MTP_I32 = 7,
  MTP_I64 = 8,
  MTP_BOOL = 9 /* one byte an element, 0 or 1 */
} mtp_element;

/* A tensor, row-major and dense: the last dimension is contiguous. */
typedef struct mtp_tensor {
  int32_t element;       /* an mtp_element */
  size_t rank;           /* dimensions, at most 8; 0: a scalar */
  const uint64_t *shape; /* `rank` of them, outermost first */
  const void *data;      /* in host order; need not be aligned */
  size_t bytes;          /* the product of the shape times an element's bytes */
} mtp_tensor;

/* One argument or result of a function. */
typedef struct mtp_port {
  const char *name; /* the argument's name, or "arg0", "result0" */
  int32_t element;  /* an mtp_element */
  size_t rank;
  const uint64_t *shape;
} mtp_port;

/* An exported function. The pointers live as long as the model. */
typedef struct mtp_function {
  size_t size;
  const char *name; /* without "@" */
  const mtp_port *inputs;
  size_t input_count;
  const mtp_port *outputs;
  size_t output_count;
} mtp_function;

/* Zeroes it and sets its size. */
void mtp_function_init(mtp_function *function);

/* How many functions there are, and one of them. MTP_OUT_OF_RANGE when `index`
   is not below the count. */
size_t mtp_model_function_count(const mtp_model *model); /* of null: 0 */
mtp_status mtp_model_get_function(const mtp_model *model, size_t index,
                                  mtp_function *function);

/* What requests may bring: names, and types of one request's part. `inputs`
   has `count` elements and lives as long as the model. Fails for null alone. */
mtp_status mtp_model_get_request_inputs(const mtp_model *model,
                                        const mtp_port **inputs, size_t *count);

/* An output that the model declares, for which requests may ask. The pointers
   live as long as the model. */
typedef struct mtp_request_output {
  mtp_port row;  /* name, and type of one row: a scalar, or as many numbers */
  int per_token; /* 1: a row for each token that is put out; 0: for each slot of
                    a round */
} mtp_request_output;

/* What requests may ask for. `outputs` has `count` elements and lives as long
   as the model. Fails for null alone. */
mtp_status mtp_model_get_request_outputs(const mtp_model *model,
                                         const mtp_request_output **outputs,
                                         size_t *count);

/*===----------------------------------------------------------------------===*
 * Sessions
 *===----------------------------------------------------------------------===*/

/* 1 where rounds may stop so that the host sees their drafts
   (mtp_request.sees_drafts). */
int mtp_model_shows_drafts(const mtp_model *model); /* of null: 0 */

/* For mtp_session_options.k and mtp_request.k: the most drafts there can be, of
   a request the session's. */
#define MTP_K_MAXIMUM (-1)
/* As many drafts as are worth it, up to these: the session measures what rounds
   cost and what is accepted. */
#define MTP_K_AUTO (-2)
/* For mtp_request.k: what the session's options say. */
#define MTP_K_SESSION (-3)

/* Which logits a session keeps for mtp_session_get_logits. */
typedef enum mtp_logits {
  MTP_LOGITS_NONE = 0,
  MTP_LOGITS_LAST = 1, /* the row of the latest output token */
  MTP_LOGITS_ALL = 2   /* the rows of all output tokens */
} mtp_logits;

/* Processors that this process may keep busy: those of its affinity mask, or
   fewer where a control group's quota gives it less time. */
uint32_t mtp_usable_processors(void);

/* How a session works. What it generates depends on none of it, but on a GPU
   for what `deterministic` excludes. */
typedef struct mtp_session_options {
  size_t size;
  int32_t k;                  /* drafts in a round at most, MTP_K_MAXIMUM or
                                 MTP_K_AUTO */
  uint32_t threads;           /* 0: mtp_usable_processors(); at most 1024 */
  uint32_t kv_pages;          /* 0: enough for all slots at full context; else 2
                                 to 2^31 - 1, one of which holds no tokens */
  uint32_t max_slots;         /* 0: all */
  uint32_t prefill_chunk;     /* the largest; 0: the artifact's default */
  uint32_t chunks_per_step;   /* 0: one or less (prompt_milliseconds) while
                                 sequences run, else all up to the first token
                                 of one; UINT32_MAX: no bound */
  int pin_threads;            /* 0 or 1 */
  int prefix_cache;           /* 0 or 1 */
  int32_t logits;             /* an mtp_logits */
  uint32_t rounds_per_launch; /* rounds before the host comes in; 0: 1 on a
                                 CPU, 16 on a GPU */
  int deterministic;          /* 1: prompts by the plan's kernels alone. 0: on a
                                 GPU a library of its vendor multiplies whole
                                 chunks; a prompt that shares pages which others
                                 had as the end of a prompt, or generated, may
                                 then differ in bits from one computed whole */
  uint32_t prompt_milliseconds; /* how long prompts should hold up those who run
                                   in a step, where chunks_per_step is 0; or as
                                   long as a round takes, if that is longer. 16
                                   rows and a library's chunk always fit. 0: one
                                   chunk, however long */
  uint32_t step_milliseconds;   /* how long a round with rows of a prompt beside
                                   its own should take; one row always fits. 0:
                                   as long as a round and prompt_milliseconds,
                                   with 16 rows at least */
  int separate_prompts; /* 1: no rows of prompts beside those of rounds */
  /* Of a model with recurrent layers: bytes of host memory for copies of what
     they carry, by which prefixes are shared and preempted sequences go on
     (less than one copy: none is, and they run all of their tokens again), and
     the tokens of a prompt from one copy to the next, not 0 */
  uint64_t snapshot_bytes;
  uint32_t snapshot_tokens;
  int populate_memory; /* 1: take the memory of KV pages, arena and states from
                          the system now, where that is at most half of what is
                          available; 0: when it is first used */
} mtp_session_options;

/* Fills in the defaults: k = MTP_K_MAXIMUM, prefix_cache = 1,
   prompt_milliseconds = 20, snapshot_bytes = 2^30, snapshot_tokens = 512, all
   else 0. */
void mtp_session_options_init(mtp_session_options *options);

/* Makes a session; null options are the defaults. MTP_INVALID_ARGUMENT when an
   option is outside of what the artifact was compiled for,
   MTP_FAILED_PRECONDITION when this machine lacks what the kernels need,
   MTP_RESOURCE_EXHAUSTED when the session needs more memory than the process
   may use beside what its other sessions hold, or threads cannot be started. */
mtp_status mtp_session_create(const mtp_model *model,
                              const mtp_session_options *options,
                              mtp_session **session);
void mtp_session_free(mtp_session *session); /* null is fine */

/* What a request brings to programs, under a name that the model declares
   (mtp_model_get_request_inputs). */
typedef struct mtp_request_input {
  const char *name;
  mtp_tensor value;
} mtp_request_input;

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
  int32_t k;      /* drafts in a round, at most the session's; MTP_K_MAXIMUM,
                     MTP_K_AUTO or MTP_K_SESSION. Output is the same at any;
                     where the artifact's rule is not known to be exact it
                     depends on k, and MTP_K_AUTO is the session's */
  const mtp_request_input *inputs; /* each name once; others have the initial
                                      values that the model gives them */
  size_t input_count;
  const char *const *outputs; /* names of mtp_model_get_request_outputs, each
                                 once, that updates are to have; while such a
                                 sequence runs, launches have one round */
  size_t output_count;
  int sees_drafts; /* 0 or 1: each round stops when it has drafted, so that the
                      host sees the drafts and may write inputs
                      (mtp_session_set_input) before they are verified. For
                      models with mtp_model_shows_drafts */
  uint32_t min_tokens; /* until there are so many output tokens nothing ends the
                          sequence: end and stop tokens are output like others;
                          at most max_tokens */
  int32_t priority; /* those of the lowest number come first, for slots, pages
                       and rows of prompts, and take them from those of higher
                       ones, which go on later with the same tokens */
  uint64_t group;   /* who asks: of one priority that group comes first whose
                       sequences have had the fewest tokens */
  const char *cache_salt; /* KV pages are shared only where it is equal; at most
                             1024 bytes; null: none */
} mtp_request;

/* Fills in the defaults: max_tokens = 16, top_p = 1, k = MTP_K_SESSION, all
   else 0. */
void mtp_request_init(mtp_request *request);

/* Queues a sequence and sets `id`, which is never 0. Of one priority and group
   first come, first served.
   MTP_INVALID_ARGUMENT for a bad request, MTP_OUT_OF_RANGE when prompt and
   max_tokens exceed the context, MTP_RESOURCE_EXHAUSTED when they can never fit
   into the KV pages, or the logits that the session keeps of max_tokens tokens
   do not fit into memory, MTP_FAILED_PRECONDITION when the artifact has
   functions only, and the error of a step that failed. */
mtp_status mtp_session_add(mtp_session *session, const mtp_request *request,
                           uint64_t *id);

/* Rows of an output that a request asked for. */
typedef struct mtp_output_rows {
  const char *name;
  mtp_tensor rows; /* outermost the rows. Where the output is per token, one for
                      each of the last tokens of the update: programs that do
                      not write it, as the prefill of many methods, give none.
                      Else one for each round or prefill that wrote it and gave
                      tokens */
  const uint32_t *tokens; /* of an output that is not per token: how many tokens
                             each row goes with; else null */
} mtp_output_rows;

/* What a step did for one sequence. The arrays are valid during the call. */
typedef struct mtp_update {
  size_t size;
  uint64_t id;
  const int32_t *tokens; /* new output tokens */
  size_t count;
  mtp_finish finish;
  const char *error;              /* for MTP_FAILED, else "" */
  const mtp_output_rows *outputs; /* in the order of the request's */
  size_t output_count;            /* 0 where there are no new tokens */
  int awaits_host;                /* 1: its round has stopped, and the next step
                                     goes on with it; what follows is of that */
  const int32_t *drafts;  /* tokens, in the order of their nodes behind the last
                             output token; -1 is none. Row 0 picks behind that
                             token, row i behind draft i - 1 */
  size_t draft_count;     /* 0 in a round without drafts */
  const int32_t *parents; /* of a tree that the program computes and hands out:
                             draft_count + 1, of which the first means nothing;
                             0 is the last output token, i draft i - 1. Else
                             null */
} mtp_update;

/* Called for every sequence that changed, in order of id. It must not use the
   session. */
typedef void (*mtp_update_fn)(void *user, const mtp_update *update);

/* Admits and prefills what waits, then runs one round for all that run; where
   one of them sees drafts, its first half, and when it is called again the
   second. A failing sequence is no error of the step: it ends with MTP_FAILED
   and the others go on. `callback` may be null.

   An error of the step is one of the device; a kernel's fault on a GPU is
   MTP_INTERNAL. What the step gave before it is
   given to `callback`, and the error by the next step. From then on nothing
   runs: step, add and run_function return the error again. All else works, and
   the sequences that had not ended (mtp_session_get_unfinished) keep every
   token that they had (mtp_session_get_output). Each can be run again in
   another session: its prompt with that output behind it, as many max_tokens
   less, and the same sampling parameters go on with the same tokens. */
mtp_status mtp_session_step(mtp_session *session, mtp_update_fn callback,
                            void *user);

/* Writes an input of a sequence that sees drafts; the value is copied. What
   runs next reads it, the second half of a round that has stopped or a prefill,
   and all that follows, over preemptions too. KV pages that rounds of the
   sequence fill are not shared from then on. MTP_NOT_FOUND for an unknown id,
   MTP_FAILED_PRECONDITION for a sequence that has finished or does not see
   drafts, MTP_INVALID_ARGUMENT for a name that the model does not have or
   another type, the error of a step that failed, and those of the device. */
mtp_status mtp_session_set_input(mtp_session *session, uint64_t id,
                                 const mtp_request_input *input);

/* 1 while a round has stopped, whose second half the next step runs. */
int mtp_session_awaits_host(const mtp_session *session); /* of null: 0 */

/* 1 when no sequence waits or runs: a step has nothing to do. */
int mtp_session_idle(const mtp_session *session); /* of null: 1 */

/* Sleeps until a step has something to do, until mtp_session_wake is called, or
   for so many seconds (INFINITY: for ever; 0: does not sleep). Returns 1 where
   a step has something to do. A wake that nobody was waiting for ends the next
   wait. */
int mtp_session_wait(mtp_session *session, double seconds); /* of null: 0 */
void mtp_session_wake(mtp_session *session);                /* null is fine */

/* The sequences that wait, run or are paused, in order of id. Writes up to
   `capacity` ids (null: not wanted) and sets `count` to how many there are.
   Fails for null alone. */
mtp_status mtp_session_get_unfinished(const mtp_session *session, uint64_t *ids,
                                      size_t capacity, size_t *count);

/* Sets a sequence aside: its slot and pages are for others, and it waits for
   none until mtp_session_resume, from when on it goes on with the same tokens.
   While rounds are under way it gets their tokens first, and is paused by the
   step that finds their end. No effect on one that is paused or has ended.
   MTP_NOT_FOUND for an unknown id, MTP_INTERNAL where the device fails, and the
   error of a step that failed. */
mtp_status mtp_session_pause(mtp_session *session, uint64_t id);

/* Lets a sequence wait for a slot again, in the place that it had. No effect on
   one that is not paused. MTP_NOT_FOUND for an unknown id, and the
   error of a step that failed. */
mtp_status mtp_session_resume(mtp_session *session, uint64_t id);

typedef enum mtp_sequence_state {
  MTP_SEQUENCE_WAITING = 0,    /* for a slot and pages */
  MTP_SEQUENCE_PREFILLING = 1, /* its tokens so far are being computed */
  MTP_SEQUENCE_RUNNING = 2,    /* in the rounds */
  MTP_SEQUENCE_PAUSED = 3,
  MTP_SEQUENCE_ENDED = 4,
} mtp_sequence_state;

/* Where a sequence is. MTP_NOT_FOUND for an unknown id. */
mtp_status mtp_session_get_state(const mtp_session *session, uint64_t id,
                                 mtp_sequence_state *state);

/* How many sequences are in each state. */
typedef struct mtp_sequence_counts {
  size_t size;
  uint32_t waiting;
  uint32_t prefilling;
  uint32_t running;
  uint32_t paused;
  uint32_t ended; /* and not released */
} mtp_sequence_counts;

/* Zeroes it and sets its size; call it before mtp_session_get_counts, which
   gives MTP_INVALID_ARGUMENT where it was not. */
void mtp_sequence_counts_init(mtp_sequence_counts *counts);
mtp_status mtp_session_get_counts(const mtp_session *session,
                                  mtp_sequence_counts *counts);

/* Ends a sequence now. Ended ones are left as they are. MTP_NOT_FOUND for an
   unknown id. */
mtp_status mtp_session_cancel(mtp_session *session, uint64_t id);

/* Forgets an ended sequence. Until then its output, logits and statistics can
   be asked for, and its logits take memory. MTP_NOT_FOUND for an unknown id,
   MTP_FAILED_PRECONDITION for a sequence that has not ended. */
mtp_status mtp_session_release(mtp_session *session, uint64_t id);

/* All output tokens of a sequence so far, in order, and whether it has ended.
   `tokens` is valid until the session's next step, add, cancel or release.
   MTP_NOT_FOUND for an unknown id. */
mtp_status mtp_session_get_output(const mtp_session *session, uint64_t id,
                                  const int32_t **tokens, size_t *count,
                                  mtp_finish *finish);

/* The row of logits, as many floats as the vocabulary has tokens, that output
   token `index` of a sequence was picked from. Valid as long as the tokens of
   mtp_session_get_output.
   MTP_NOT_FOUND for an unknown id, MTP_OUT_OF_RANGE past the output,
   MTP_FAILED_PRECONDITION when the session does not keep that row
   (mtp_session_options.logits). */
mtp_status mtp_session_get_logits(const mtp_session *session, uint64_t id,
                                  size_t index, const float **logits,
                                  size_t *count);

/* Counts since a session or a sequence began. */
typedef struct mtp_statistics {
  size_t size;
  uint64_t rounds;        /* decode rounds; of a session: programs run */
  uint64_t slot_rounds;   /* rounds summed over sequences */
  uint64_t round_tokens;  /* tokens of all rounds, also those behind an end;
                             over slot_rounds: the mean acceptance length */
  uint64_t output_tokens; /* tokens given to the caller */
  uint64_t prefill_tokens;
  uint64_t cached_tokens;
  uint64_t preemptions;
  double prefill_seconds; /* of a sequence: 0 */
  double decode_seconds;  /* of a sequence: 0 */
  uint64_t decode_tokens; /* output tokens that rounds gave: all but the first
                             of each sequence */
  uint64_t round_rows;    /* rows that the target computed in decode rounds: the
                             anchors' and the drafts' that could be accepted; on
                             a GPU, and where a program does not say it, all */
  uint64_t round_capacity; /* rows that these rounds had room for */
  uint64_t beside_tokens;  /* prefill tokens whose rows ran beside a round's */
  uint64_t caught_up_tokens; /* tokens that drafters had fallen behind, and for
                                which they were refreshed */
  /* Of a model with recurrent layers: copies of what they carry that were made,
     those that are there no more, and bytes of those that are, of sessions
     alone, as they were when the last step ended; copies that sequences went on
     from, and of these those of sequences that had lost a slot, preempted or
     paused */
  uint64_t snapshots;
  uint64_t dropped_snapshots;
  uint64_t snapshot_bytes;
  uint64_t restored_snapshots;
  uint64_t restored_preemptions;
} mtp_statistics;

/* Zeroes it and sets its size; call it before the next two, which give
   MTP_INVALID_ARGUMENT where it was not. They give what was counted so far of
   the session and of a sequence; MTP_NOT_FOUND for an unknown id. */
void mtp_statistics_init(mtp_statistics *statistics);
mtp_status mtp_session_get_statistics(const mtp_session *session,
                                      mtp_statistics *statistics);
mtp_status mtp_session_get_sequence_statistics(const mtp_session *session,
                                               uint64_t id,
                                               mtp_statistics *statistics);

/* How often drafts were made and accepted, by their position in the round, in a
   tree by their depth: of a sequence, or of the session for id 0. What a
   drafter leaves out, and what is behind it, counts as not made. Writes up to
   `capacity` positions to each array (null: not wanted) and sets `count` to how
   many there are, the session's k. MTP_NOT_FOUND for an unknown id. */
mtp_status mtp_session_get_acceptance(const mtp_session *session, uint64_t id,
                                      uint64_t *drafted, uint64_t *accepted,
                                      size_t capacity, size_t *count);

/* Rounds by how many drafts they were to have, from 0 on: of a sequence, or of
   the session for id 0. Writes up to `capacity` counts (null: not wanted) and
   sets `count` to how many there are, the session's k and one. MTP_NOT_FOUND
   for an unknown id. */
mtp_status mtp_session_get_rounds(const mtp_session *session, uint64_t id,
                                  uint64_t *rounds, size_t capacity,
                                  size_t *count);

/* What a session's memory is used for. The page that holds no tokens counts
   nowhere. */
typedef struct mtp_memory_usage {
  size_t size;
  uint32_t free_pages;
  uint32_t cached_pages; /* kept for reuse, given up when needed */
  uint32_t held_pages;   /* of sequences */
  uint32_t page_tokens;  /* tokens in a page */
  uint64_t bytes;        /* arena, states, KV pages and scratch */
} mtp_memory_usage;

/* Zeroes it and sets its size; call it before mtp_session_get_memory_usage,
   which gives MTP_INVALID_ARGUMENT where it was not. */
void mtp_memory_usage_init(mtp_memory_usage *usage);
mtp_status mtp_session_get_memory_usage(const mtp_session *session,
                                        mtp_memory_usage *usage);

/* Runs an exported function on tensors, which are copied. `results` is to be
   freed with mtp_results_free. Sequences are not affected. Values of slots,
   positions, tokens and indices among the inputs are trusted.
   Each row of an input whose name ends in ".distributions", along its last
   dimension, must be finite numbers of 0 or more whose sum is at most 0.004 off
   1.
   MTP_NOT_FOUND for an unknown name, MTP_INVALID_ARGUMENT when count, types,
   shapes or bytes of the inputs are not the function's or a row is no
   distribution, MTP_FAILED_PRECONDITION when the function uses caches and their
   pages are not all free. */
mtp_status mtp_session_run_function(mtp_session *session, const char *name,
                                    const mtp_tensor *inputs, size_t count,
                                    mtp_results **results);

/* How many results there are (of null: 0), and one of them: it points into
   `results`. MTP_OUT_OF_RANGE when `index` is not below the count. */
size_t mtp_results_count(const mtp_results *results);
mtp_status mtp_results_get(const mtp_results *results, size_t index,
                           mtp_tensor *tensor);
void mtp_results_free(mtp_results *results); /* null is fine */

#ifdef __cplusplus
}
#endif

#endif /* MTP_MTP_H */
