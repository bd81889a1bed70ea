#include "runtime/observe/table.hpp"

#include <catch2/catch_test_macros.hpp>

TEST_CASE("numbers are right-aligned below their header",
          "[runtime][observe]") {
  swage::table rows{{"name", "count"}};
  rows.add({"a", "1"});
  rows.add({"longer", "123456"});
  CHECK(rows.text()
        == "name     count\n"
           "──────  ──────\n"
           "a            1\n"
           "longer  123456\n");
}

TEST_CASE("widths count characters and not bytes", "[runtime][observe]") {
  swage::table rows{{"edge", "×"}};
  rows.add({"a → b", "1"});
  CHECK(rows.text()
        == "edge   ×\n"
           "─────  ─\n"
           "a → b  1\n");
  CHECK(swage::text_width("é→×") == 3);
}

TEST_CASE("missing cells and left columns stay tidy", "[runtime][observe]") {
  swage::table rows{{"a", "text", "n"}};
  rows.align_left(1);
  rows.add({"x", "some words"});
  rows.add({"y", "w", "7"});
  CHECK(rows.text()
        == "a  text        n\n"
           "─  ──────────  ─\n"
           "x  some words\n"
           "y  w           7\n");
}
