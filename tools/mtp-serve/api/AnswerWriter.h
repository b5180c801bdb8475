//===- AnswerWriter.h - Answers in the form of an API -----------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_ANSWERWRITER_H
#define MTP_TOOLS_MTP_SERVE_API_ANSWERWRITER_H

#include "tools/mtp-serve/api/Answers.h"
#include "tools/mtp-serve/api/ApiError.h"
#include "tools/mtp-serve/api/GenerationRequest.h"

#include <memory>

namespace mtp::serve {

/// Writes the answers to one request as JSON objects of one line, or as
/// server-sent events. An object serves one request, whole or streamed.
class AnswerWriter {
public:
  virtual ~AnswerWriter() = default;

  /// Returns the whole answer.
  virtual std::string whole(const AnswerHead &head,
                            const std::vector<ChoicePart> &parts,
                            const Usage &usage) = 0;

  /// Returns the events of a part. `soFar` is the usage up to this part.
  virtual std::string events(const AnswerHead &head, const ChoicePart &part,
                             const Usage &soFar) = 0;

  /// Returns the events after all parts.
  virtual std::string lastEvents(const AnswerHead &head, const Usage &usage,
                                 const Timings &timings) = 0;

  /// Returns the last event of a stream that fails.
  virtual std::string errorEvent(const ApiError &error);

  /// Return and set the number of events so far, in APIs that number them.
  virtual uint64_t eventCount() const { return 0; }
  virtual void setEventCount(uint64_t) {}
};

/// Returns the writer for the form that a request asks for. The request must
/// outlive the writer.
std::unique_ptr<AnswerWriter> makeWriter(const GenerationRequest &request);

// Each function returns the writer of one form: OpenAI's completions and chats,
// llama-server's completions, Anthropic's messages, and OpenAI's responses.
std::unique_ptr<AnswerWriter> makeOpenAiWriter(const GenerationRequest &);
std::unique_ptr<AnswerWriter> makeNativeWriter(const GenerationRequest &);
std::unique_ptr<AnswerWriter> makeMessagesWriter(const GenerationRequest &);
std::unique_ptr<AnswerWriter> makeResponsesWriter(const GenerationRequest &);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_ANSWERWRITER_H
