//===- Conversation.h - The messages of a chat ------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_CONVERSATION_H
#define MTP_TOOLS_MTP_RUN_CONVERSATION_H

#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// What a user and a model have said.
class Conversation {
public:
  void setSystem(std::string text) { system = std::move(text); }
  void ask(std::string text) { turns.push_back({std::move(text), {}, {}}); }
  /// What the last turn was answered with.
  void answer(std::string reasoning, std::string content);
  /// Takes the last turn away; false where there is none.
  bool undo();
  void clear() { turns.clear(); }
  size_t size() const { return turns.size(); }

  /// The messages as a JSON object, `messages`, for people and to be saved.
  std::string json() const;
  /// The same as a request for a template, with the members of an object of
  /// `variables`, which is JSON.
  std::string request(std::string_view variables) const;

private:
  struct Turn {
    std::string question, reasoning, content;
    bool isAnswered = false;
  };

  /// Empty: none.
  std::string system;
  std::vector<Turn> turns;
};

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_CONVERSATION_H
