//===- consumer.cpp - The C++ interface from outside ----------------------===//

#include <cstdio>
#include <mtp/runtime.h>

int main(int argc, char **argv) {
  auto model = mtp::Model::load(argc > 1 ? argv[1] : "");
  if (!model) {
    std::fprintf(stderr, "%s\n", model.status().toString().c_str());
    return 1;
  }
  auto session = mtp::Session::create(*model);
  mtp::Request request;
  request.prompt = {3, 1, 4};
  if (!session || !(*session)->add(request))
    return 1;
  while (!(*session)->idle()) {
    auto updates = (*session)->step();
    if (!updates)
      return 1;
    for (const mtp::SequenceUpdate &update : *updates)
      for (int32_t token : update.tokens)
        std::printf("%d\n", token);
  }
  return 0;
}
