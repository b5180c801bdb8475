//===- Conversation.h - The messages of a chat ------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_CONVERSATION_H
#define MTP_TOOLS_MTP_RUN_CONVERSATION_H

#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// The messages of a user and a model.
class Conversation {
public:
  void setSystem(std::string text) { system = std::move(text); }
  void ask(std::string text) { turns.push_back({std::move(text), {}, {}, {}}); }
  /// Sets the answer to the last turn. `calls`: the JSON of its tool calls,
  /// separated by commas. `hasNullContent`: a message with calls and without
  /// content has a null.
  void answer(std::string reasoning, std::string content, std::string calls,
              bool hasNullContent);
  /// Removes the last turn; returns false if there is none.
  bool undo();
  void clear() { turns.clear(); }
  size_t size() const { return turns.size(); }

  /// Returns the messages as a JSON object, `messages`, for display and saving.
  std::string json() const;
  /// Returns the messages as a request for a template, with the members of
  /// `variables`, a JSON object.
  std::string request(std::string_view variables) const;

private:
  struct Turn {
    std::string question, reasoning, content, calls;
    bool isAnswered = false, hasNullContent = false;
  };

  /// Empty: none.
  std::string system;
  std::vector<Turn> turns;
};

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_CONVERSATION_H
