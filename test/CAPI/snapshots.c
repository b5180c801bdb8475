/* Two turns of a chat, with a pause in the first: snapshots ARTIFACT prints the
   counts of snapshots of recurrent states. */

#include <mtp/mtp.h>

#include <stdio.h>

enum { kPrompt = 33, kTokens = 8 };

static int fail(void) {
  fprintf(stderr, "snapshots: error: %s\n", mtp_message());
  return 1;
}

/* Runs a prompt to its end, and appends its output. The sequence is paused
   once, after `pause` steps; 0: never. */
static mtp_status turn(mtp_session *session, int32_t *prompt, size_t *count,
                       int pause) {
  mtp_request request;
  mtp_request_init(&request);
  request.prompt = prompt;
  request.prompt_count = *count;
  request.max_tokens = kTokens;
  request.ignore_eos = 1;
  uint64_t id;
  mtp_status status = mtp_session_add(session, &request, &id);
  for (int step = 1; status == MTP_OK && !mtp_session_idle(session); ++step) {
    status = mtp_session_step(session, NULL, NULL);
    if (status == MTP_OK && step == pause)
      status = mtp_session_pause(session, id);
    if (status == MTP_OK && step == pause)
      status = mtp_session_resume(session, id);
  }
  const int32_t *tokens;
  size_t made;
  mtp_finish finish;
  if (status == MTP_OK)
    status = mtp_session_get_output(session, id, &tokens, &made, &finish);
  for (size_t i = 0; status == MTP_OK && i < made; ++i)
    prompt[(*count)++] = tokens[i];
  return status;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: snapshots ARTIFACT\n");
    return 2;
  }
  mtp_model *model;
  if (mtp_model_load(argv[1], &model) != MTP_OK)
    return fail();
  mtp_session_options options;
  mtp_session_options_init(&options);
  options.k = 0;
  options.threads = 1;
  mtp_session *session;
  if (mtp_session_create(model, &options, &session) != MTP_OK)
    return fail();
  int32_t text[2 * kPrompt + 2 * kTokens];
  size_t count = kPrompt;
  for (int32_t i = 0; i < kPrompt; ++i)
    text[i] = 1 + i;
  if (turn(session, text, &count, 4) != MTP_OK)
    return fail();
  text[count++] = 5;
  if (turn(session, text, &count, 0) != MTP_OK)
    return fail();
  mtp_statistics s;
  mtp_statistics_init(&s);
  if (mtp_session_get_statistics(session, &s) != MTP_OK)
    return fail();
  printf("stored %llu\ndropped %llu\nbytes %llu\nrestored %llu\n"
         "restored behind preemptions %llu\n",
         (unsigned long long)s.snapshots,
         (unsigned long long)s.dropped_snapshots,
         (unsigned long long)s.snapshot_bytes,
         (unsigned long long)s.restored_snapshots,
         (unsigned long long)s.restored_preemptions);
  mtp_session_free(session);
  mtp_model_free(model);
  return 0;
}
