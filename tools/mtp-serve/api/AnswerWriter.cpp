//===- AnswerWriter.cpp - Answers in the form of an API -------------------===//

#include "tools/mtp-serve/api/AnswerWriter.h"
#include "tools/mtp-serve/api/Sse.h"

using namespace mtp;
using namespace mtp::serve;

std::string AnswerWriter::errorEvent(const ApiError &error) {
  return sseEvent(errorJson(error));
}

std::unique_ptr<AnswerWriter>
serve::makeWriter(const GenerationRequest &request) {
  switch (request.form) {
  case AnswerForm::OpenAi:
    break;
  case AnswerForm::Native:
    return makeNativeWriter(request);
  case AnswerForm::Messages:
    return makeMessagesWriter(request);
  case AnswerForm::Responses:
    return makeResponsesWriter(request);
  }
  return makeOpenAiWriter(request);
}
