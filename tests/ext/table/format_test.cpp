// Runs the SQL of docs/FORMAT.md's worked examples. The document must have every row of every
// shadow table, byte for byte, and no other rows.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/segments/mark.hpp"
#include "tests/support/database.hpp"
#include "tests/support/source_tree.hpp"

namespace cuckoo::test::table_format_test {
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

// `kind` is what stands after a block's language: "" or " hash_ring".
StoredRows documented_rows(const std::vector<Block>& blocks, const std::string& kind) {
  StoredRows rows;
  for (const Block& block : blocks) {
    if (block.language == "hex" + kind && !block.lines.empty()) {
      std::string& bytes = rows[block.lines[0]];
      for (size_t i = 1; i < block.lines.size(); ++i) {
        bytes += hex_digits(block.lines[i]);
      }
    } else if (block.language == "rows" + kind) {
      for (const std::string& line : block.lines) {
        const size_t value = line.rfind(' ');
        rows[line.substr(0, value)] = line.substr(value + 1);
      }
    }
  }
  return rows;
}

using Blocks = std::vector<Block>;

StoredRows stored_rows(Database& db, const std::vector<std::string>& selects) {
  StoredRows rows;
  for (const std::string& select : selects) {
    for (const Row& row : db.rows(select)) {
      rows[row[0]] = row[1];
    }
  }
  return rows;
}

Blocks format_blocks() { return fenced_blocks(source_path("docs/FORMAT.md")); }

void run_scripts(Database& db, const Blocks& blocks, const std::string& kind) {
  size_t scripts = 0;
  for (const Block& block : blocks) {
    if (block.language == "sql" + kind) {
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
}

void expect_rows(const StoredRows& stored, const StoredRows& documented) {
  for (const auto& [row, value] : stored) {
    EXPECT_TRUE(documented.contains(row)) << row << " is not in FORMAT.md: " << value;
  }
  for (const auto& [row, value] : documented) {
    const auto found = stored.find(row);
    ASSERT_NE(found, stored.end()) << row << " is in FORMAT.md only";
    EXPECT_EQ(found->second, value) << row;
  }
}

// Returns the number of eight bytes, the lowest first.
uint64_t number_of(const std::string& hex) {
  uint64_t number = 0;
  for (size_t at = hex.size(); at > 0; at -= 2) {
    number = (number << 8) | std::stoull(hex.substr(at - 2, 2), nullptr, 16);
  }
  return number;
}

TEST(Format, the_worked_example_is_what_the_extension_writes) {
  const Blocks blocks = format_blocks();
  Database db;
  db.run("PRAGMA page_size = 4096");
  run_scripts(db, blocks, "");
  db.run("INSERT INTO seen(seen) VALUES ('check')");
  const StoredRows documented = documented_rows(blocks, "");
  EXPECT_EQ(documented.size(), 19U);
  expect_rows(stored_rows(db, {"SELECT 'seen_config ' || key, value FROM seen_config",
                               "SELECT 'seen_data ' || id, hex(block) FROM seen_data"}),
              documented);
  const std::string changes = documented_rows(blocks, "_changes").at("changes");
  segments::FilterMark from;
  from.seed = 1;
  from.position = number_of(changes.substr(2 * 168, 16));
  from.chain = number_of(changes.substr(2 * 176, 16));
  db.gives(sql("SELECT hex(filter_changes('seen', x'{}'))", segments::mark_text(from)), changes);
}

TEST(Format, the_example_image_is_what_an_aggregate_makes) {
  std::string documented;
  for (const Block& block : format_blocks()) {
    for (const std::string& line : block.lines) {
      documented += block.language == "image" ? hex_digits(line) : "";
    }
  }
  Database db;
  db.gives(
      "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 12)"
      " SELECT hex(cuckoo_build(k, 0.03, NULL, 1, 'hashes')) FROM (SELECT 'ann' AS k"
      " UNION ALL SELECT 'flo' UNION ALL SELECT 'eve' FROM n)",
      documented);
}

std::string hex_of(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llX", static_cast<unsigned long long>(number));
  return text;
}

TEST(Format, the_example_ring_is_what_the_extension_writes) {
  const Blocks blocks = format_blocks();
  Database db;
  run_scripts(db, blocks, " hash_ring");
  db.run("INSERT INTO ring(ring) VALUES ('check')");
  const StoredRows documented = documented_rows(blocks, " hash_ring");
  EXPECT_EQ(documented.size(), 7U);
  std::string image;
  for (const Block& block : blocks) {
    for (const std::string& line : block.lines) {
      image += block.language == "image hash_ring" ? hex_digits(line) : "";
    }
  }
  db.gives("SELECT hex(hash_ring_export('ring'))", image);
  expect_rows(stored_rows(db, {"SELECT 'ring_config ' || key, iif(typeof(value) = 'blob',"
                               " hex(value), value) FROM ring_config",
                               "SELECT 'ring_items ' || key, hex(value) FROM ring_items",
                               "SELECT 'ring_pages ' || id, hex(page) FROM ring_pages"}),
              documented);
  size_t lines = 0;
  for (const Block& block : blocks) {
    for (const std::string& line : block.lines) {
      std::istringstream words(line);
      std::string name;
      std::string hash;
      std::string owner;
      words >> name >> hash >> owner;
      if (block.language == "points hash_ring") {
        ++lines;
        EXPECT_EQ(hash, hex_of(XXH3_64bits_withSeed(name.data(), name.size(),
                                                    1 + 4 * 0x9E3779B97F4A7C15)));
      } else if (block.language == "keys hash_ring") {
        ++lines;
        db.gives("SELECT node FROM ring WHERE key = " + name, owner);
        const std::string text = name.substr(1, name.size() - 2);
        EXPECT_EQ(hash, hex_of(name[0] == '\''
                                   ? hash_bytes(KeyKind::kText, std::as_bytes(std::span(text)), 1)
                                   : hash_integer(std::stoll(name), 1)));
      }
    }
  }
  EXPECT_EQ(lines, 9U);
}

}  // namespace
}  // namespace cuckoo::test::table_format_test
