//===- main.cpp - The tests of all files, or of one -----------------------===//
//
// With --source=NAME, runs the tests of NAME_test.cpp. Otherwise runs the tests
// that GTEST_FILTER or --gtest_filter selects.
//
//===----------------------------------------------------------------------===//

#include <cstdio>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

/// Returns a filter that selects each test of the file `name`.
static std::string filterOf(std::string_view name) {
  const testing::UnitTest &all = *testing::UnitTest::GetInstance();
  std::string filter;
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite &suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo &test = *suite.GetTestInfo(t);
      std::string_view file = test.file();
      if (file.substr(file.rfind('/') + 1) == name)
        filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kSource = "--source=";
  std::string_view flag = argc == 2 ? argv[1] : "";
  if (argc > 1 && !flag.starts_with(kSource)) {
    std::fprintf(stderr, "expected --source=NAME or nothing, got '%s'\n",
                 argv[1]);
    return 2;
  }
  if (argc == 2) {
    std::string name(flag.substr(kSource.size()));
    std::string filter = filterOf(name + "_test.cpp");
    if (filter.empty()) {
      std::fprintf(stderr, "expected tests in %s_test.cpp, found none\n",
                   name.c_str());
      return 2;
    }
    if (GTEST_FLAG_GET(filter) == "*")
      GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}
