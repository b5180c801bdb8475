/*===- mtp.h - Load an artifact and generate, from C --------------*- C -*-===*\
|*
|* The C interface of the mtpc runtime. Nothing throws, exits or installs
|* signal handlers.
|*
|* Ownership: objects are opaque and belong to the caller, who frees them.
|* Arguments are copied, or read only during the call. Memory that a function
|* returns a pointer to belongs to the library, and the function's comment
|* says how long it is valid.
|*
|* Shapes: the count, capacity or length after an array is its number of
|* elements. All other strings that are given end with a zero. A struct or id
|* that a function fills in is a single one.
|*
|* Every function that can fail returns an mtp_status. If it is not MTP_OK,
|* the outputs are untouched, and mtp_message() gives the reason. A null
|* pointer for a required argument is MTP_INVALID_ARGUMENT. A pointer with a
|* count may be null if the count is 0.
|*
|* Memory: sizes that come from a caller or a file are compared with their
|* limits before memory is allocated. Large sizes are compared with the
|* memory that the process may use. Sessions, kept logits and copied files
|* count for the whole process, used or not. If the system has no memory for
|* small things (a string, a list), the process ends.
|*
|* Threads: a model is immutable and may be shared. Several threads may use a
|* session: calls run one at a time. A call that comes during a step waits
|* until the step ends and runs before the next step. Data behind a pointer
|* from a session changes with later calls: use it on the thread that steps,
|* or while no thread steps. Two threads must not use one decoder or one
|* mtp_results at once. Different objects are independent.
|*
|* Units: lengths and positions are in tokens, times in seconds, memory and
|* text in bytes. Text is UTF-8.
|*
|* Structs that begin with `size` may grow. Their *_init macros set the size
|* that the caller's compiler knows. A newer library does not write fields
|* that an older caller does not know. An older library ignores fields that
|* it does not know. Other structs never change. Callers without macros, for
|* example of ctypes, call *_init_sized with the size of their struct.
|*
\*===----------------------------------------------------------------------===*/

#ifndef MTP_RUNTIME_INCLUDE_MTP_MTP_H
#define MTP_RUNTIME_INCLUDE_MTP_MTP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a call failed. */
typedef enum mtp_status {
  MTP_OK = 0,
  MTP_INVALID_ARGUMENT = 1,    /* wrong in any state */
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

/* Turns the ids of an output into text, piece by piece. */
typedef struct mtp_decoder mtp_decoder;

/* The results of an exported function. */
typedef struct mtp_results mtp_results;

/* A parsed chat template. Immutable: any thread may render it. */
typedef struct mtp_chat mtp_chat;

/* Message of the last failure in this thread: lower case, without a period, and
   ends with a zero. "" before the first failure. Valid until the thread's next
   call; never null. */
const char *mtp_message(void);

/* The version of the library, "0.1.0". Never freed. */
const char *mtp_version(void);

/* The version of the artifact format that the library reads, "1.4".
   Never freed. */
const char *mtp_format_version(void);

/*===----------------------------------------------------------------------===*
 * Models
 *===----------------------------------------------------------------------===*/

/* The device that runs a model. */
typedef enum mtp_device {
  MTP_DEVICE_AUTO = 0, /* the CPU, or a GPU if the artifact has plans for
                          GPUs only */
  MTP_DEVICE_CPU = 1,
  MTP_DEVICE_CUDA = 2 /* an NVIDIA GPU (see gpu below). The driver is
                         libcuda.so.1, or the library that the environment
                         variable MTP_CUDA_DRIVER names */
} mtp_device;

/* How an artifact is loaded into memory, and the device that runs it. */
typedef struct mtp_load_options {
  size_t size;
  int check_all_hashes; /* 0 or 1: compare all weights with their hashes */
  int copy; /* 0 or 1: read the file into the process's own memory instead of
               mapping it, with large pages if the system has them */
  int32_t device;      /* an mtp_device */
  uint32_t gpu;        /* index of the GPU among those of the driver, from 0;
                          mtp_session_create checks that it exists */
  const char *profile; /* path of a profile that mtp-tune or mtp-serve wrote;
                          null: none. Sessions start from its costs and
                          acceptance. On a GPU it also chooses the CUDA graphs
                          of rounds. No token depends on it */
} mtp_load_options;

/* Fills in the defaults: all 0. */
void mtp_load_options_init(mtp_load_options *options);
void mtp_load_options_init_sized(mtp_load_options *options, size_t size);
#define mtp_load_options_init(options)                                         \
  mtp_load_options_init_sized((options), sizeof *(options))

/* Maps, or copies, and verifies an artifact.

   An artifact contains native code. Load only artifacts that you trust.

   Null options are the defaults. The file must not be truncated while mapped.
   Sessions keep the model's data alive after mtp_model_free.
   MTP_NOT_FOUND and MTP_INVALID_ARGUMENT if the file cannot be opened.
   MTP_INVALID_ARGUMENT for a wrong option. MTP_RESOURCE_EXHAUSTED if memory is
   short. MTP_DATA_LOSS if the file is no intact artifact.
   MTP_FAILED_PRECONDITION if it was made for another version of the format, or
   has no plan for the requested device. An error in its tokenizer has the codes
   of Tokenizer::load (tokenizer.h). For a profile: the codes of a file that
   cannot be opened, MTP_DATA_LOSS if the profile is damaged,
   MTP_FAILED_PRECONDITION if it is of another model. */
mtp_status mtp_model_load(const char *path, mtp_model **model);
mtp_status mtp_model_load_with(const char *path,
                               const mtp_load_options *options,
                               mtp_model **model);
void mtp_model_free(mtp_model *model); /* null is fine */

/* The shapes that the artifact was compiled for; all zero if it has only
   functions. */
typedef struct mtp_model_info {
  size_t size;
  uint32_t max_k;         /* drafts that a round may accept */
  uint32_t max_batch;     /* sequences in a round */
  uint32_t max_context;   /* tokens of prompt and output of one sequence */
  uint32_t vocab;         /* token ids are 0 .. vocab-1 */
  uint32_t modules;       /* how far ahead drafters read a prompt */
  uint32_t prefill_chunk; /* tokens of a prompt computed at a time */
  uint32_t page_tokens;   /* tokens in a KV page */
  uint32_t max_nodes;     /* rows that a round verifies per sequence */
  uint32_t max_rows;      /* rows that a round verifies in all */
} mtp_model_info;

/* Zeroes the struct and sets its size. Call it before mtp_model_get_info, which
   otherwise returns MTP_INVALID_ARGUMENT. */
void mtp_model_info_init(mtp_model_info *info);
void mtp_model_info_init_sized(mtp_model_info *info, size_t size);
#define mtp_model_info_init(info)                                              \
  mtp_model_info_init_sized((info), sizeof *(info))
mtp_status mtp_model_get_info(const mtp_model *model, mtp_model_info *info);

/* Recommendations of the model's authors (generation_config.json), and the
   token that begins a text. Requests do not use them: copy those you want. */
typedef struct mtp_generation {
  size_t size;
  int32_t bos;              /* begins a text; -1: none */
  int add_bos;              /* 1: a prompt should start with bos */
  float temperature;        /* 0: greedy */
  uint32_t top_k;           /* 0: off */
  float top_p;              /* 1: off */
  float min_p;              /* 0: off */
  float repetition_penalty; /* 1: off */
} mtp_generation;

/* Fills in bos = -1, top_p = repetition_penalty = 1, all else 0. Call it before
   mtp_model_get_generation, which otherwise returns MTP_INVALID_ARGUMENT. */
void mtp_generation_init(mtp_generation *generation);
void mtp_generation_init_sized(mtp_generation *generation, size_t size);
#define mtp_generation_init(generation)                                        \
  mtp_generation_init_sized((generation), sizeof *(generation))
mtp_status mtp_model_get_generation(const mtp_model *model,
                                    mtp_generation *generation);

/* Returns the tokens that end a text. Sessions end sequences at them. Writes up
   to `capacity` ids and sets `count` to the number of ids. Fails for null
   alone. */
mtp_status mtp_model_get_eos(const mtp_model *model, int32_t *tokens,
                             size_t capacity, size_t *count);

/* Returns the token ids of UTF-8 text of `length` bytes. Writes up to
   `capacity` ids and always sets `count` to the number of ids: if it is larger,
   call again with more room. `add_special`: adds the model's own start tokens.
   `parse_special`: reads the names of special tokens as the tokens; never set
   it for a user's text. MTP_FAILED_PRECONDITION if the artifact has no
   tokenizer, MTP_INVALID_ARGUMENT for ill-formed UTF-8, MTP_OUT_OF_RANGE past
   64 MiB. */
mtp_status mtp_model_encode(const mtp_model *model, const char *text,
                            size_t length, int add_special, int parse_special,
                            int32_t *tokens, size_t capacity, size_t *count);

/* Returns the text of token ids as well-formed UTF-8, without special tokens.
   Writes up to `capacity` bytes, no terminator, and always sets `length` to the
   number of bytes of the text. An id without a token gives the empty text.
   MTP_OUT_OF_RANGE for a negative id. */
mtp_status mtp_model_decode(const mtp_model *model, const int32_t *tokens,
                            size_t count, char *text, size_t capacity,
                            size_t *length);

/* Makes a decoder for one stream of ids, which keeps the model's data alive.
   `at_text_start`: 1 if the ids begin a text, 0 if they continue one, as output
   continues a prompt. With 0 the space before the first word is kept.
   MTP_FAILED_PRECONDITION if the artifact has no tokenizer. */
mtp_status mtp_decoder_create(const mtp_model *model, int at_text_start,
                              mtp_decoder **decoder);
void mtp_decoder_free(mtp_decoder *decoder); /* null is fine */

/* Returns the text that `count` more ids complete: well-formed UTF-8 without
   special tokens, often empty. The bytes of an incomplete character are held
   back. `text` is terminated, `length` bytes long without the terminator, and
   valid until the decoder's next call. An id without a token gives the empty
   text. MTP_OUT_OF_RANGE for a negative id; the stream is then unchanged. */
mtp_status mtp_decoder_append(mtp_decoder *decoder, const int32_t *tokens,
                              size_t count, const char **text, size_t *length);

/* Ends the stream: the text is U+FFFD if a character is incomplete, else "".
   The next mtp_decoder_append begins a new stream. `text` and `length` are set
   as by mtp_decoder_append. Fails for null alone; `text` is valid until the
   decoder's next call. */
mtp_status mtp_decoder_finish(mtp_decoder *decoder, const char **text,
                              size_t *length);

/*===----------------------------------------------------------------------===*
 * Chats
 *===----------------------------------------------------------------------===*/

/* Parses `source` of `length` bytes, or the artifact's chat template if
   `source` is null. The chat keeps the model's data alive. MTP_NOT_FOUND if
   there is neither, MTP_INVALID_ARGUMENT for text that is no template
   (mtp_message says line and column). */
mtp_status mtp_chat_create(const mtp_model *model, const char *source,
                           size_t length, mtp_chat **chat);
void mtp_chat_free(mtp_chat *chat); /* null is fine */

/* Renders the prompt of a conversation as transformers does. `request` is JSON
   of `length` bytes: an object with "messages" (an array of objects). If the
   template knows them, it may have "tools", "documents" (null if absent),
   "add_generation_prompt" (true if absent) and any other variables, such as
   "enable_thinking". Writes up to `capacity` bytes, no terminator, and always
   sets `count` to the number of bytes of the prompt. MTP_INVALID_ARGUMENT if
   the request is malformed or the template raises an exception,
   MTP_RESOURCE_EXHAUSTED if rendering takes too many steps or memory. */
mtp_status mtp_chat_render(const mtp_chat *chat, const char *request,
                           size_t length, char *text, size_t capacity,
                           size_t *count);

/* Renders the prompt and returns its token ids, for a request's prompt. A
   special token counts as one only if the template wrote its first character:
   one that a message spells out is text. No token is added to the template's
   output. Writes up to `capacity` ids and always sets `count` to the number of
   ids. Fails as mtp_chat_render does, and with MTP_FAILED_PRECONDITION if the
   artifact has no tokenizer. */
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
  const uint64_t *shape; /* `rank` dimensions, outermost first */
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

/* Zeroes the struct and sets its size. */
void mtp_function_init(mtp_function *function);
void mtp_function_init_sized(mtp_function *function, size_t size);
#define mtp_function_init(function)                                            \
  mtp_function_init_sized((function), sizeof *(function))

/* The number of functions, and the function at `index`. MTP_OUT_OF_RANGE if
   `index` is not below the number of functions. */
size_t mtp_model_function_count(const mtp_model *model); /* of null: 0 */
mtp_status mtp_model_get_function(const mtp_model *model, size_t index,
                                  mtp_function *function);

/* Returns the inputs that requests may have: names, and types of one request's
   part. `inputs` has `count` elements and lives as long as the model. Fails for
   null alone. */
mtp_status mtp_model_get_request_inputs(const mtp_model *model,
                                        const mtp_port **inputs, size_t *count);

/* An output that the model declares, for which requests may ask. The pointers
   live as long as the model. */
typedef struct mtp_request_output {
  mtp_port row;  /* name, and type of one row: a scalar or a vector */
  int per_token; /* 1: a row for each output token; 0: a row for each slot of a
                    round */
} mtp_request_output;

/* Returns the outputs that requests may ask for. `outputs` has `count` elements
   and lives as long as the model. Fails for null alone. */
mtp_status mtp_model_get_request_outputs(const mtp_model *model,
                                         const mtp_request_output **outputs,
                                         size_t *count);

/*===----------------------------------------------------------------------===*
 * Sessions
 *===----------------------------------------------------------------------===*/

/* Returns 1 if rounds can stop so that the host sees their drafts
   (mtp_request.sees_drafts). */
int mtp_model_shows_drafts(const mtp_model *model); /* of null: 0 */

/* Returns 1 if requests may ask for log-probabilities of their prompts
   (mtp_request.prompt_logprobs). */
int mtp_model_scores_prompts(const mtp_model *model); /* of null: 0 */

/* For mtp_session_options.k: the artifact's maximum. For mtp_request.k: the
   session's k. */
#define MTP_K_MAXIMUM (-1)
/* The number of drafts that is worth its time, up to MTP_K_MAXIMUM: the session
   measures the cost of rounds and how many drafts are accepted. */
#define MTP_K_AUTO (-2)
/* For mtp_request.k: the value of the session's options. */
#define MTP_K_SESSION (-3)

/* Which logits a session keeps for mtp_session_get_logits. */
typedef enum mtp_logits {
  MTP_LOGITS_NONE = 0,
  MTP_LOGITS_LAST = 1, /* the row of the latest output token */
  MTP_LOGITS_ALL = 2   /* the rows of all output tokens */
} mtp_logits;

/* Returns the number of processors that this process may keep busy: the size of
   its affinity mask, or fewer if a control group's quota gives it less time. */
uint32_t mtp_usable_processors(void);

/* For draft_p_min: the value of the model, or of a request's session. */
#define MTP_DRAFT_P_MIN_DEFAULT (-1.0f)

/* How a session works. The generated tokens do not depend on any option, except
   on a GPU in the case that `deterministic` excludes. */
typedef struct mtp_session_options {
  size_t size;
  int32_t k;                  /* maximum number of drafts in a round, or
                                 MTP_K_MAXIMUM or MTP_K_AUTO */
  uint32_t threads;           /* 0: mtp_usable_processors(); at most 1024 */
  uint32_t kv_pages;          /* 0: enough for all slots at full context; else 2
                                 to 2^31 - 1, one of which holds no tokens */
  uint32_t max_slots;         /* 0: all */
  uint32_t prefill_chunk;     /* the largest; 0: the artifact's default */
  uint32_t chunks_per_step;   /* maximum number of prompt chunks in a step.
                                 0: one or less (prompt_milliseconds) while
                                 sequences run, else until a sequence has its
                                 first token; UINT32_MAX: no bound */
  int pin_threads;            /* 0 or 1 */
  int prefix_cache;           /* 0 or 1 */
  int32_t logits;             /* an mtp_logits */
  uint32_t rounds_per_launch; /* rounds that run on the device without the host
                                 between them; 0: 1 on a CPU; on a GPU as the
                                 profile says, else 16 */
  int deterministic; /* 1: prompts use the plan's own kernels only. 0: on
                        a GPU the vendor's library multiplies whole
                        chunks. A prompt may then reuse pages that
                        another sequence generated or had as the end of
                        its prompt. Its bits may differ from those of
                        the same prompt computed from its start */
  uint32_t prompt_milliseconds; /* how long prompts may delay running sequences
                                   in a step, if chunks_per_step is 0; or the
                                   time of a round, if that is longer. 16 rows
                                   and a library's chunk always fit. 0: one
                                   chunk, however long */
  uint32_t step_milliseconds;   /* target time of a round that also computes
                                   prompt rows; one row always fits. 0: the time
                                   of a round plus prompt_milliseconds, and at
                                   least 16 rows */
  int separate_prompts; /* 1: no mixed batches of prompt rows and rounds */
  /* For a model with recurrent layers: bytes of host memory for snapshots of
     recurrent states. Snapshots let prefixes be shared and preempted sequences
     continue. Below the size of one snapshot, no prefix is shared, and
     preempted sequences recompute all of their tokens. */
  uint64_t snapshot_bytes;
  uint32_t snapshot_tokens; /* prompt tokens between two snapshots, not 0 */
  int populate_memory; /* 1: take the memory of KV pages, arena and states from
                          the system now, if that is at most half of the
                          available memory; 0: when it is first used */
  /* `capture_size_count` numbers of slots, 1 to max_slots, whose rounds run
     their own programs. Others run the next larger one with padding rows, if
     slots and pages are free: the prefix cache leaves up to a quarter of
     kv_pages free, and a pool of the default size grows. None: on a GPU as a
     profile says, else all. */
  const uint32_t *capture_sizes;
  size_t capture_size_count; /* at most 1024 */
  float draft_p_min; /* confidence of 0 to 1 below which drafts end, for a model
                        of mtp-import --confidence; MTP_DRAFT_P_MIN_DEFAULT: the
                        model's, or with MTP_K_AUTO and a profile the one that
                        pays */
} mtp_session_options;

/* Fills in the defaults: k = MTP_K_MAXIMUM, prefix_cache = 1,
   prompt_milliseconds = 20, snapshot_bytes = 2^30, snapshot_tokens = 512,
   draft_p_min = MTP_DRAFT_P_MIN_DEFAULT, all else 0. */
void mtp_session_options_init(mtp_session_options *options);
void mtp_session_options_init_sized(mtp_session_options *options, size_t size);
#define mtp_session_options_init(options)                                      \
  mtp_session_options_init_sized((options), sizeof *(options))

/* Makes a session; null options are the defaults. MTP_INVALID_ARGUMENT if an
   option is outside the shapes that the artifact was compiled for.
   MTP_FAILED_PRECONDITION if this machine lacks what the kernels need.
   MTP_RESOURCE_EXHAUSTED if threads cannot be started, or if the session needs
   more memory than the process may use, less the memory of its other
   sessions. */
mtp_status mtp_session_create(const mtp_model *model,
                              const mtp_session_options *options,
                              mtp_session **session);
void mtp_session_free(mtp_session *session); /* null is fine */

/* A value that a request passes to programs, under a name that the model
   declares (mtp_model_get_request_inputs). */
typedef struct mtp_request_input {
  const char *name;
  mtp_tensor value;
} mtp_request_input;

/* The distribution of log-probabilities. */
typedef enum mtp_logprobs_mode {
  MTP_LOGPROBS_RAW = 0,      /* the log-softmax of the model's logits */
  MTP_LOGPROBS_PROCESSED = 1 /* after temperature, top-k, top-p and min-p; for a
                                greedy request equal to MTP_LOGPROBS_RAW */
} mtp_logprobs_mode;

/* For mtp_request.logprobs and prompt_logprobs: none. */
#define MTP_LOGPROBS_NONE (-1)
/* The most likeliest tokens that a request may ask for. */
#define MTP_LOGPROBS_MAXIMUM 20

/* A number that is added to the logit of a token. */
typedef struct mtp_token_bias {
  int32_t token; /* below the vocabulary's size */
  float bias;    /* finite, or -infinity: the token is never picked */
} mtp_token_bias;

/* A set of texts, by which requests restrict their output. Immutable; several
   threads and sessions may use one. Requests with equal texts should share one,
   since the set keeps the masks that it has computed. */
typedef struct mtp_constraint mtp_constraint;

typedef enum mtp_constraint_kind {
  MTP_CONSTRAINT_JSON_OBJECT = 0, /* any JSON object; no text */
  MTP_CONSTRAINT_JSON_SCHEMA = 1, /* one text, a JSON Schema */
  MTP_CONSTRAINT_REGEX = 2,       /* one text, an expression of whole outputs */
  MTP_CONSTRAINT_GBNF = 3,        /* one text, a grammar of llama.cpp */
  MTP_CONSTRAINT_CHOICE = 4       /* the texts are the possible outputs */
} mtp_constraint_kind;

/* Compiles texts of an mtp_constraint_kind for requests in sessions of `model`,
   and of other models with an equal tokenizer. `model` may be freed before the
   constraint. The caller frees the constraint, before or after the requests
   that use it end. MTP_FAILED_PRECONDITION if the artifact has no model, no
   tokenizer or no end tokens. MTP_INVALID_ARGUMENT for an unknown kind, a wrong
   number of texts, or a text that is malformed or allows no output.
   MTP_UNIMPLEMENTED for what is not supported, for example a keyword of a
   schema. MTP_RESOURCE_EXHAUSTED at a limit. The message names the place in the
   text. */
mtp_status mtp_constraint_create(const mtp_model *model, int32_t kind,
                                 const char *const *texts, size_t text_count,
                                 mtp_constraint **constraint);
/* Frees a constraint, which may be null. */
void mtp_constraint_free(mtp_constraint *constraint);

/* A prompt and how to continue it. The arrays are copied. */
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
                     MTP_K_AUTO or MTP_K_SESSION. The output is the same for
                     every value. If the artifact's accept rule is not known to
                     be exact, the output depends on k, and MTP_K_AUTO is the
                     session's k */
  const mtp_request_input *inputs; /* each name once; inputs that are left out
                                      have the model's initial values */
  size_t input_count;
  const char *const *outputs; /* names of mtp_model_get_request_outputs that
                                 updates are to contain, each once; while such a
                                 sequence runs, a launch has one round */
  size_t output_count;
  int sees_drafts; /* 0 or 1: each round stops after it has drafted, so that the
                      host sees the drafts and may write inputs
                      (mtp_session_set_input) before they are verified. For
                      models with mtp_model_shows_drafts */
  uint32_t min_tokens; /* number of output tokens before which nothing ends the
                          sequence: end and stop tokens are output like other
                          tokens; at most max_tokens */
  int32_t priority; /* lower values run first. When slots or KV pages run out, a
                       sequence of a higher value is preempted and resumes later
                       with the same tokens */
  uint64_t group;   /* fair-share group: among requests of equal priority, the
                       group that has consumed the fewest tokens goes first */
  const char *cache_salt;   /* sequences share KV pages only if their salts are
                               equal; at most 1024 bytes; null: none */
  int32_t logprobs;         /* likeliest tokens for each output token, 0 to
                               MTP_LOGPROBS_MAXIMUM, besides the token's own
                               log-probability; MTP_LOGPROBS_NONE: none at all.
                               While such a sequence runs, a launch has one
                               round */
  int32_t prompt_logprobs;  /* likewise for each prompt token after the first.
                               The prompt is computed twice, and no part of it
                               comes from the prefix cache. For models with
                               mtp_model_scores_prompts */
  int32_t logprobs_mode;    /* an mtp_logprobs_mode, of the output; prompts have
                               MTP_LOGPROBS_RAW in any case */
  float repetition_penalty; /* above 0. The logit of each token of the prompt
                               and the output is divided by it if positive, else
                               multiplied. 1: off. This member and the members
                               below must be off if the model was imported with
                               --without-logit-rules */
  float presence_penalty;   /* -2 to 2. Subtracted from the logit of each token
                               of the output */
  float frequency_penalty;  /* -2 to 2. Subtracted for each occurrence of the
                               token in the output */
  const mtp_token_bias *bias; /* added before penalties; several numbers of a
                                 token are added; may be null */
  size_t bias_count;
  const int32_t *allowed_tokens; /* tokens that may be picked; null: all */
  size_t allowed_count;
  int counts_prompt; /* 1: tokens of the prompt count as output for the presence
                        and frequency penalty, as in llama.cpp */
  const int32_t *bad_words;       /* tokens of bad words, one word after the
                                     other: the last token of a word is not
                                     picked after the other tokens of the word,
                                     which must be output, too; may be null */
  const uint32_t *bad_word_sizes; /* number of tokens of each word, not 0.
                                     While a sequence with words of several
                                     tokens runs, a launch has one round */
  size_t bad_word_count;
  const mtp_constraint *constraint; /* the texts that the output may have; null:
                                       any. The session keeps what it needs of
                                       the constraint. MTP_INVALID_ARGUMENT if
                                       the model was imported with
                                       --without-logit-rules, or has another
                                       vocabulary than the constraint */
  const char *kind; /* kind of text: automatic k starts from the acceptance that
                       the model's profile has of the kind; at most 32 letters,
                       digits, '-' and '_', else MTP_INVALID_ARGUMENT; null:
                       none */
  float draft_p_min; /* confidence of 0 to 1 below which the sequence's drafts
                        end; MTP_DRAFT_P_MIN_DEFAULT: the session's */
} mtp_request;

/* Fills in the defaults: max_tokens = 16, top_p = 1, k = MTP_K_SESSION,
   logprobs = prompt_logprobs = MTP_LOGPROBS_NONE, repetition_penalty = 1,
   draft_p_min = MTP_DRAFT_P_MIN_DEFAULT, all else 0. */
void mtp_request_init(mtp_request *request);
void mtp_request_init_sized(mtp_request *request, size_t size);
#define mtp_request_init(request)                                              \
  mtp_request_init_sized((request), sizeof *(request))

/* Queues a sequence and sets `id`, which is never 0. Within a priority and
   group, the earlier request goes first. MTP_INVALID_ARGUMENT for a bad
   request. MTP_OUT_OF_RANGE if prompt and max_tokens exceed the context.
   MTP_RESOURCE_EXHAUSTED if they can never fit into the KV pages, or if the
   logits to keep for max_tokens tokens do not fit into memory.
   MTP_FAILED_PRECONDITION if the artifact has only functions, or cannot score
   the prompt. Also the error of a step that failed. */
mtp_status mtp_session_add(mtp_session *session, const mtp_request *request,
                           uint64_t *id);

/* Rows of an output that a request asked for. */
typedef struct mtp_output_rows {
  const char *name;
  mtp_tensor rows; /* the rows are the outermost dimension. If the output is per
                      token: one row for each of the last tokens of the update.
                      Programs that do not write the output, for example the
                      prefill of many drafting methods, give no rows. Otherwise:
                      one row for each round or prefill that wrote the output
                      and gave tokens */
  const uint32_t *tokens; /* number of tokens for each row, for an output that
                             is not per token; else null */
} mtp_output_rows;

/* A token and the natural logarithm of its probability; -infinity for a token
   that the filters drop. */
typedef struct mtp_token_logprob {
  int32_t token;
  float logprob;
} mtp_token_logprob;

/* The log-probabilities at one position. */
typedef struct mtp_token_logprobs {
  mtp_token_logprob own; /* the token at the position */
  uint32_t rank;         /* its place, from 1 on, in descending order of logits,
                            and in ascending order of ids among equals */
  const mtp_token_logprob *likeliest; /* the likeliest tokens in this order;
                                         those without probability are left
                                         out */
  size_t likeliest_count;
} mtp_token_logprobs;

/* The result of a step for one sequence. The arrays are valid during the
   call. */
typedef struct mtp_update {
  size_t size;
  uint64_t id;
  const int32_t *tokens; /* new output tokens */
  size_t count;
  mtp_finish finish;
  const char *error;              /* for MTP_FAILED, else "" */
  const mtp_output_rows *outputs; /* in the order of the request's names */
  size_t output_count;            /* 0 if there are no new tokens */
  int awaits_host;                /* 1: its round has stopped, and the next step
                                     continues it; the fields below are valid */
  const int32_t *drafts;  /* tokens in the order of their nodes, after the last
                             output token; -1 means no draft. Row 0 picks the
                             token after the last output token, row i the token
                             after draft i - 1 */
  size_t draft_count;     /* 0 in a round without drafts */
  const int32_t *parents; /* parents in a tree that the program computes and
                             outputs; else null. draft_count + 1 elements: the
                             first has no meaning, and 0 is the last output
                             token, i is draft i - 1 */
  const mtp_token_logprobs *logprobs; /* of `tokens`, if the request asks for
                                         them */
  size_t logprob_count;
  const mtp_token_logprobs *prompt_logprobs; /* of all prompt tokens after the
                                                first; come once, at the latest
                                                with the first output token */
  size_t prompt_logprob_count;
} mtp_update;

/* Called for every sequence that changed, in order of id. It must not use the
   session. */
typedef void (*mtp_update_fn)(void *user, const mtp_update *update);

/* Admits and prefills waiting sequences, then runs one round for all running
   sequences. If a running sequence sees drafts, the step runs the first half of
   the round, and the next step runs the second half. A failing sequence is no
   error of the step: it ends with MTP_FAILED, and the other sequences continue.
   `callback` may be null.

   An error of the step is one of the device; a kernel's fault on a GPU is
   MTP_INTERNAL. Results from before the error are given to `callback`, and the
   next step returns the error. From then on nothing runs: step, add and
   run_function return the error again. All else works, and unfinished sequences
   (mtp_session_get_unfinished) keep all their tokens (mtp_session_get_output).
   Each can run again in another session: append its output to its prompt,
   reduce max_tokens by the length of the output, and keep the sampling
   parameters. It continues with the same tokens. */
mtp_status mtp_session_step(mtp_session *session, mtp_update_fn callback,
                            void *user);

/* Writes an input of a sequence that sees drafts; the value is copied. The next
   pass reads the value: a prefill or the second half of a stopped round. All
   later passes read it, too, also after preemptions. KV pages that rounds of
   the sequence fill after the call are not shared. MTP_NOT_FOUND for an unknown
   id. MTP_FAILED_PRECONDITION for a sequence that has finished or does not see
   drafts. MTP_INVALID_ARGUMENT for a name that the model does not have or a
   value of another type. Also the error of a step that failed, and those of the
   device. */
mtp_status mtp_session_set_input(mtp_session *session, uint64_t id,
                                 const mtp_request_input *input);

/* Returns 1 if a round has stopped, and the next step runs its second half. */
int mtp_session_awaits_host(const mtp_session *session); /* of null: 0 */

/* Returns 1 if no sequence waits or runs: a step has nothing to do. */
int mtp_session_idle(const mtp_session *session); /* of null: 1 */

/* Sleeps until a step has something to do, until mtp_session_wake is called, or
   for `seconds` seconds (INFINITY: without limit; 0: does not sleep). Returns 1
   if a step has something to do. A wake without a waiting thread ends the next
   wait. */
int mtp_session_wait(mtp_session *session, double seconds); /* of null: 0 */
void mtp_session_wake(mtp_session *session);                /* null is fine */

/* Returns the sequences that wait, run or are paused, in order of id. Writes up
   to `capacity` ids (null: not wanted) and sets `count` to the number of
   sequences. Fails for null alone. */
mtp_status mtp_session_get_unfinished(const mtp_session *session, uint64_t *ids,
                                      size_t capacity, size_t *count);

/* Saves what the session's prefix cache has of the first of `count` tokens in a
   file: KV pages, caches of drafters, and snapshots of recurrent states. They
   belong to requests without a cache salt and without inputs. `length`
   receives the number of tokens with which a request can then begin (null: not
   wanted). A file of that path is replaced as a whole. MTP_NOT_FOUND if the
   cache has nothing of the tokens, or the folder is missing.
   MTP_RESOURCE_EXHAUSTED if memory or the disk is full.
   MTP_FAILED_PRECONDITION without a prefix cache, or if the file cannot be
   written. */
mtp_status mtp_session_save_prefix(mtp_session *session, const int32_t *tokens,
                                   size_t count, const char *path,
                                   uint64_t *length);

/* Puts the prefix in a file into the session's prefix cache. `length` receives
   the number of tokens with which a request can then begin (null: not wanted).
   MTP_NOT_FOUND without such a file, MTP_DATA_LOSS for a cut or changed one,
   MTP_INVALID_ARGUMENT for a file of another artifact or kind, and
   MTP_RESOURCE_EXHAUSTED if memory or KV pages are short. */
mtp_status mtp_session_restore_prefix(mtp_session *session, const char *path,
                                      uint64_t *length);

/* Pauses a sequence: other sequences may use its slot and pages, and it waits
   for none until mtp_session_resume. It then continues with the same tokens. If
   a launch is running, the sequence first gets its tokens, and the step that
   completes the launch pauses the sequence. Has no effect on a paused or ended
   sequence. MTP_NOT_FOUND for an unknown id, MTP_INTERNAL if the device fails,
   and the error of a step that failed. */
mtp_status mtp_session_pause(mtp_session *session, uint64_t id);

/* Lets a paused sequence wait for a slot again, at its former place in the
   queue. Has no effect on a sequence that is not paused. MTP_NOT_FOUND for an
   unknown id, and the error of a step that failed. */
mtp_status mtp_session_resume(mtp_session *session, uint64_t id);

typedef enum mtp_sequence_state {
  MTP_SEQUENCE_WAITING = 0,    /* waits for a slot and pages */
  MTP_SEQUENCE_PREFILLING = 1, /* its tokens so far are being computed */
  MTP_SEQUENCE_RUNNING = 2,    /* in the rounds */
  MTP_SEQUENCE_PAUSED = 3,
  MTP_SEQUENCE_ENDED = 4,
} mtp_sequence_state;

/* Returns the state of a sequence. MTP_NOT_FOUND for an unknown id. */
mtp_status mtp_session_get_state(const mtp_session *session, uint64_t id,
                                 mtp_sequence_state *state);

/* Number of sequences in each state. */
typedef struct mtp_sequence_counts {
  size_t size;
  uint32_t waiting;
  uint32_t prefilling;
  uint32_t running;
  uint32_t paused;
  uint32_t ended; /* but not released */
} mtp_sequence_counts;

/* Zeroes the struct and sets its size. Call it before mtp_session_get_counts,
   which otherwise returns MTP_INVALID_ARGUMENT. */
void mtp_sequence_counts_init(mtp_sequence_counts *counts);
void mtp_sequence_counts_init_sized(mtp_sequence_counts *counts, size_t size);
#define mtp_sequence_counts_init(counts)                                       \
  mtp_sequence_counts_init_sized((counts), sizeof *(counts))
mtp_status mtp_session_get_counts(const mtp_session *session,
                                  mtp_sequence_counts *counts);

/* Ends a sequence now. Has no effect on an ended sequence. MTP_NOT_FOUND for an
   unknown id. */
mtp_status mtp_session_cancel(mtp_session *session, uint64_t id);

/* Removes an ended sequence. Until then its output, logits and statistics can
   be read, and its logits take memory. MTP_NOT_FOUND for an unknown id,
   MTP_FAILED_PRECONDITION for a sequence that has not ended. */
mtp_status mtp_session_release(mtp_session *session, uint64_t id);

/* Returns all output tokens of a sequence so far, in order, and whether it has
   ended. `tokens` is valid until the session's next step, add, cancel or
   release. MTP_NOT_FOUND for an unknown id. */
mtp_status mtp_session_get_output(const mtp_session *session, uint64_t id,
                                  const int32_t **tokens, size_t *count,
                                  mtp_finish *finish);

/* Returns the row of logits from which output token `index` of a sequence was
   picked. `count` is the size of the vocabulary. Valid as long as the tokens of
   mtp_session_get_output. MTP_NOT_FOUND for an unknown id, MTP_OUT_OF_RANGE
   past the output, MTP_FAILED_PRECONDITION if the session does not keep that
   row (mtp_session_options.logits). */
mtp_status mtp_session_get_logits(const mtp_session *session, uint64_t id,
                                  size_t index, const float **logits,
                                  size_t *count);

/* Counts since a session or a sequence began. */
typedef struct mtp_statistics {
  size_t size;
  uint64_t rounds;        /* decode rounds; of a session: programs run */
  uint64_t slot_rounds;   /* rounds summed over sequences */
  uint64_t round_tokens;  /* tokens of all rounds, also those after a stop;
                             round_tokens / slot_rounds is the mean acceptance
                             length */
  uint64_t output_tokens; /* tokens given to the caller */
  uint64_t prefill_tokens;
  uint64_t cached_tokens;
  uint64_t preemptions;
  double prefill_seconds;  /* of a sequence: 0 */
  double decode_seconds;   /* of a sequence: 0 */
  uint64_t decode_tokens;  /* output tokens that rounds gave: all but the first
                              of each sequence */
  uint64_t round_rows;     /* rows that the target computed in decode
                              rounds: anchors and drafts that could be
                              accepted. On a GPU, or if a program does not
                              report it, all rows */
  uint64_t round_capacity; /* row capacity of these rounds */
  uint64_t mixed_tokens;   /* prefill tokens whose rows ran in mixed batches */
  uint64_t caught_up_tokens; /* tokens that drafters skipped in rounds without
                                drafts and caught up on later */
  /* Snapshots of recurrent states. The number made, the number dropped since
     and the bytes of those that remain: for sessions only, as of the end of the
     last step. Then the number of snapshots from which sequences continued, and
     the part of it that belongs to sequences that had been preempted or paused.
   */
  uint64_t snapshots;
  uint64_t dropped_snapshots;
  uint64_t snapshot_bytes;
  uint64_t restored_snapshots;
  uint64_t restored_preemptions;
  /* For sessions only: rounds with padding slots, which only fill a batch, and
     these slots summed over the rounds. */
  uint64_t padded_rounds;
  uint64_t padding_slots;
} mtp_statistics;

/* mtp_statistics_init zeroes the struct and sets its size. Call it before the
   other two functions, which otherwise return MTP_INVALID_ARGUMENT. They return
   the counts so far of the session or of a sequence. MTP_NOT_FOUND for an
   unknown id. */
void mtp_statistics_init(mtp_statistics *statistics);
void mtp_statistics_init_sized(mtp_statistics *statistics, size_t size);
#define mtp_statistics_init(statistics)                                        \
  mtp_statistics_init_sized((statistics), sizeof *(statistics))
mtp_status mtp_session_get_statistics(const mtp_session *session,
                                      mtp_statistics *statistics);
mtp_status mtp_session_get_sequence_statistics(const mtp_session *session,
                                               uint64_t id,
                                               mtp_statistics *statistics);

/* Returns the number of drafts made and accepted by position in the round (by
   depth in a tree): for a sequence, or for the session if `id` is 0. A draft
   that the drafter leaves out, and drafts after it, count as not made. Writes
   up to `capacity` positions to each array (null: not wanted) and sets `count`
   to the number of positions, the session's k. MTP_NOT_FOUND for an unknown id.
 */
mtp_status mtp_session_get_acceptance(const mtp_session *session, uint64_t id,
                                      uint64_t *drafted, uint64_t *accepted,
                                      size_t capacity, size_t *count);

/* Returns the number of rounds by planned number of drafts, from 0 on: for a
   sequence, or for the session if `id` is 0. Writes up to `capacity` counts
   (null: not wanted) and sets `count` to the number of counts, the session's
   k + 1. MTP_NOT_FOUND for an unknown id. */
mtp_status mtp_session_get_rounds(const mtp_session *session, uint64_t id,
                                  uint64_t *rounds, size_t capacity,
                                  size_t *count);

/* Use of a session's memory. The page that holds no tokens is not counted. */
typedef struct mtp_memory_usage {
  size_t size;
  uint32_t free_pages;
  uint32_t cached_pages; /* kept for reuse, given up when needed */
  uint32_t held_pages;   /* used by sequences */
  uint32_t page_tokens;  /* tokens in a page */
  uint64_t bytes;        /* arena, states, KV pages and scratch */
} mtp_memory_usage;

/* Zeroes the struct and sets its size. Call it before
   mtp_session_get_memory_usage, which otherwise returns MTP_INVALID_ARGUMENT.
 */
void mtp_memory_usage_init(mtp_memory_usage *usage);
void mtp_memory_usage_init_sized(mtp_memory_usage *usage, size_t size);
#define mtp_memory_usage_init(usage)                                           \
  mtp_memory_usage_init_sized((usage), sizeof *(usage))
mtp_status mtp_session_get_memory_usage(const mtp_session *session,
                                        mtp_memory_usage *usage);

/* Runs an exported function on tensors, which are copied. `results` is to be
   freed with mtp_results_free. Sequences are not affected. Slots, positions,
   tokens and indices among the inputs are trusted. Each row of an input whose
   name ends in ".distributions", along its last dimension, must be finite
   numbers of 0 or more. Their sum must be at most 0.004 off 1.
   MTP_NOT_FOUND for an unknown name. MTP_INVALID_ARGUMENT if count, types,
   shapes or bytes of the inputs are not the function's, or a row is no
   distribution. MTP_FAILED_PRECONDITION if the function uses caches and their
   pages are not all free. */
mtp_status mtp_session_run_function(mtp_session *session, const char *name,
                                    const mtp_tensor *inputs, size_t count,
                                    mtp_results **results);

/* The number of results (of null: 0), and the result at `index`, which points
   into `results`. MTP_OUT_OF_RANGE if `index` is not below the number of
   results. */
size_t mtp_results_count(const mtp_results *results);
mtp_status mtp_results_get(const mtp_results *results, size_t index,
                           mtp_tensor *tensor);
void mtp_results_free(mtp_results *results); /* null is fine */

#ifdef __cplusplus
}
#endif

#endif /* MTP_RUNTIME_INCLUDE_MTP_MTP_H */
