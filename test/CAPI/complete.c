/* Continues a text with the settings that the model's authors recommend:
   complete ARTIFACT TEXT prints the text piece by piece, and the number of
   accepted drafts to stderr. */

#include <mtp/mtp.h>

#include <stdio.h>
#include <string.h>

static int fail(void) {
  fprintf(stderr, "complete: error: %s\n", mtp_message());
  return 1;
}

/* Prints the text that new tokens complete, and the rest at the end. */
static void print(void *user, const mtp_update *update) {
  mtp_decoder *decoder = user;
  const char *text;
  size_t length;
  if (mtp_decoder_append(decoder, update->tokens, update->count, &text,
                         &length) == MTP_OK)
    fwrite(text, 1, length, stdout);
  if (update->finish != MTP_RUNNING &&
      mtp_decoder_finish(decoder, &text, &length) == MTP_OK)
    fwrite(text, 1, length, stdout);
}

static mtp_status add(const mtp_model *model, mtp_session *session,
                      const char *text) {
  int32_t prompt[256];
  mtp_request request;
  mtp_request_init(&request);
  request.prompt = prompt;
  mtp_status status = mtp_model_encode(model, text, strlen(text), 1, 0, prompt,
                                       256, &request.prompt_count);
  if (status != MTP_OK)
    return status;
  if (request.prompt_count > 256)
    request.prompt_count = 256;
  mtp_generation recommended;
  mtp_generation_init(&recommended);
  mtp_model_get_generation(model, &recommended);
  request.temperature = recommended.temperature;
  request.top_k = recommended.top_k;
  request.top_p = recommended.top_p;
  request.min_p = recommended.min_p;
  uint64_t id;
  return mtp_session_add(session, &request, &id);
}

static void printAcceptance(const mtp_session *session) {
  uint64_t drafted[16], accepted[16];
  size_t count;
  if (mtp_session_get_acceptance(session, 0, drafted, accepted, 16, &count) !=
      MTP_OK)
    return;
  for (size_t i = 0; i < count && i < 16; ++i)
    fprintf(stderr, "draft %zu: %llu of %llu accepted\n", i + 1,
            (unsigned long long)accepted[i], (unsigned long long)drafted[i]);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return fprintf(stderr, "usage: complete ARTIFACT TEXT\n"), 2;
  mtp_model *model;
  mtp_session *session;
  mtp_decoder *decoder;
  if (mtp_model_load(argv[1], &model) != MTP_OK ||
      mtp_session_create(model, NULL, &session) != MTP_OK ||
      mtp_decoder_create(model, 0, &decoder) != MTP_OK ||
      add(model, session, argv[2]) != MTP_OK)
    return fail();
  while (!mtp_session_idle(session))
    if (mtp_session_step(session, print, decoder) != MTP_OK)
      return fail();
  putchar('\n');
  printAcceptance(session);
  mtp_decoder_free(decoder);
  mtp_session_free(session);
  mtp_model_free(model);
  return 0;
}
