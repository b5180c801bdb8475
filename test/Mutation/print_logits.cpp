//===- print_logits.cpp - The logit of every token generated --------------===//
//
// print_logits ARTIFACT K COUNT ID...: generates COUNT tokens and prints a line
// for each with its id and its logit.
//
//===----------------------------------------------------------------------===//

#include "mtp/runtime.h"

#include <cstdio>
#include <cstdlib>

static mtp::Status print(int argc, char **argv) {
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const mtp::Model> model,
                       mtp::Model::load(argv[1]));
  mtp::SessionOptions options;
  options.k = uint32_t(std::atoi(argv[2]));
  options.threads = 1;
  options.logits = mtp::LogitsMode::All;
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<mtp::Session> session,
                       mtp::Session::create(model, options));
  mtp::Request request;
  request.maxTokens = uint32_t(std::atoi(argv[3]));
  request.ignoreEos = true;
  for (int i = 4; i < argc; ++i)
    request.prompt.push_back(std::atoi(argv[i]));
  MTP_ASSIGN_OR_RETURN(mtp::SequenceId id, session->add(request));
  while (!session->idle())
    MTP_RETURN_IF_ERROR(session->step().status());
  MTP_ASSIGN_OR_RETURN(std::span<const int32_t> output, session->output(id));
  for (size_t i = 0; i < output.size(); ++i) {
    MTP_ASSIGN_OR_RETURN(std::span<const float> row, session->logits(id, i));
    std::printf("%d %.9g\n", output[i], double(row[size_t(output[i])]));
  }
  return mtp::okStatus();
}

int main(int argc, char **argv) {
  if (argc < 5)
    return std::fprintf(stderr, "usage: print_logits ARTIFACT K COUNT ID...\n"),
           2;
  mtp::Status status = print(argc, argv);
  if (!status.isOk())
    std::fprintf(stderr, "print_logits: error: %s\n",
                 status.toString().c_str());
  return status.isOk() ? 0 : 1;
}
