/* Generates from token ids: generate ARTIFACT ID... prints one id per line. */

#include <mtp/mtp.h>

#include <stdio.h>
#include <stdlib.h>

static int fail(void) {
  fprintf(stderr, "generate: error: %s\n", mtp_message());
  return 1;
}

static void print(void *user, const mtp_update *update) {
  (void)user;
  for (size_t i = 0; i < update->count; ++i)
    printf("%d\n", update->tokens[i]);
}

int main(int argc, char **argv) {
  if (argc < 3)
    return fprintf(stderr, "usage: generate ARTIFACT ID...\n"), 2;
  mtp_model *model;
  if (mtp_model_load(argv[1], &model) != MTP_OK)
    return fail();
  mtp_session *session;
  if (mtp_session_create(model, NULL, &session) != MTP_OK)
    return fail();
  mtp_model_free(model); /* the session keeps the data that it needs */

  int32_t prompt[64];
  mtp_request request;
  mtp_request_init(&request);
  request.prompt = prompt;
  for (int i = 2; i < argc && i < 66; ++i)
    prompt[request.prompt_count++] = atoi(argv[i]);
  uint64_t id;
  if (mtp_session_add(session, &request, &id) != MTP_OK)
    return fail();
  while (!mtp_session_idle(session))
    if (mtp_session_step(session, print, NULL) != MTP_OK)
      return fail();
  mtp_session_free(session);
  return 0;
}
