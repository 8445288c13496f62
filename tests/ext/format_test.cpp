// core/FORMAT.md's worked example against a live database: its SQL is run, and every row of every
// shadow table must be in the document, byte for byte, and nothing else.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/ext/database.hpp"

namespace cuckoo::test {
namespace {

struct Block {
  std::string language;
  std::vector<std::string> lines;
};

// The fenced blocks of a Markdown file that name a language.
std::vector<Block> fenced_blocks(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  std::vector<Block> blocks;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
      if (inside) {
        blocks.push_back({line.substr(3), {}});
      }
    } else if (inside) {
      blocks.back().lines.push_back(line);
    }
  }
  EXPECT_FALSE(inside) << "a fence that is not closed";
  return blocks;
}

// "5A BE | a comment" -> "5ABE"
std::string hex_digits(const std::string& line) {
  std::istringstream words(line.substr(0, line.find('|')));
  std::string digits;
  for (std::string word; words >> word;) {
    EXPECT_EQ(word.size(), 2U) << line;
    digits += word;
  }
  return digits;
}

using StoredRows = std::map<std::string, std::string>;  // "table key" -> value, BLOBs in hex

StoredRows documented_rows(const std::vector<Block>& blocks) {
  StoredRows rows;
  for (const Block& block : blocks) {
    if (block.language == "hex" && !block.lines.empty()) {
      std::string& bytes = rows[block.lines[0]];
      for (size_t i = 1; i < block.lines.size(); ++i) {
        bytes += hex_digits(block.lines[i]);
      }
    } else if (block.language == "rows") {
      for (const std::string& line : block.lines) {
        const size_t value = line.rfind(' ');
        rows[line.substr(0, value)] = line.substr(value + 1);
      }
    }
  }
  return rows;
}

StoredRows stored_rows(Database& db) {
  StoredRows rows;
  for (const char* select : {"SELECT 'seen_config ' || key, iif(typeof(value) = 'blob', hex(value),"
                             " value) FROM seen_config",
                             "SELECT 'seen_pages ' || id, hex(page) FROM seen_pages",
                             "SELECT 'seen_log ' || id, hex(entries) FROM seen_log",
                             "SELECT 'seen_items ' || key, value FROM seen_items"}) {
    for (const Row& row : db.rows(select)) {
      rows[row[0]] = row[1];
    }
  }
  return rows;
}

TEST(Format, the_worked_example_is_what_the_extension_writes) {
  const std::filesystem::path tests = std::filesystem::path(__FILE__).parent_path().parent_path();
  const std::vector<Block> blocks = fenced_blocks(tests.parent_path() / "core" / "FORMAT.md");
  Database db;
  db.run("PRAGMA page_size = 4096");
  size_t scripts = 0;
  for (const Block& block : blocks) {
    if (block.language == "sql") {
      ++scripts;
      for (std::string sql; const std::string& line : block.lines) {
        sql += line + "\n";
        if (line.ends_with(';')) {
          db.run(sql);
          sql.clear();
        }
      }
    }
  }
  EXPECT_EQ(scripts, 1U);
  db.run("INSERT INTO seen(seen) VALUES ('check')");
  const StoredRows documented = documented_rows(blocks);
  const StoredRows stored = stored_rows(db);
  EXPECT_EQ(documented.size(), 14U);
  for (const auto& [row, value] : stored) {
    EXPECT_TRUE(documented.contains(row)) << row << " is not in FORMAT.md: " << value;
  }
  for (const auto& [row, value] : documented) {
    const auto found = stored.find(row);
    ASSERT_NE(found, stored.end()) << row << " is in FORMAT.md only";
    EXPECT_EQ(found->second, value) << row;
  }
}

}  // namespace
}  // namespace cuckoo::test
