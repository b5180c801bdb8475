//===- worker_test.cpp - Order of the worker's jobs -----------------------===//

#include "tools/mtp-serve/engine/Worker.h"

#include <future>
#include <gtest/gtest.h>

using namespace mtp::serve;

TEST(Worker, GivesEachClientATurn) {
  Worker worker;
  std::promise<void> go;
  std::promise<void> begun;
  worker.put(1, [&] {
    begun.set_value();
    go.get_future().wait();
  });
  begun.get_future().wait();
  std::string order;
  for (int i = 0; i < 4; ++i)
    worker.put(1, [&] { order += 'a'; });
  worker.put(3, [&] { order += 'c'; });
  worker.put(2, [&] { order += 'b'; });
  worker.put(3, [&] { order += 'd'; });
  EXPECT_EQ(worker.waiting(1), 5u);
  EXPECT_EQ(worker.waiting(2), 1u);
  EXPECT_EQ(worker.waiting(4), 0u);
  std::promise<void> done;
  worker.put(1, [&] { done.set_value(); });
  go.set_value();
  done.get_future().wait();
  EXPECT_EQ(order, "bcadaaa");
}
