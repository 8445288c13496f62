// The groups of the SQL benchmark. Each prints its part of the table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/bench/sql_bench_support.hpp"

namespace cuckoo::bench {

enum class Scale { kQuick, kDefault, kLarge };

struct Settings {
  Scale scale = Scale::kDefault;
  bool quick() const { return scale == Scale::kQuick; }
  bool large() const { return scale == Scale::kLarge; }
  int rounds() const { return quick() ? 1 : 5; }
};

inline std::string whole(uint64_t value) { return std::to_string(value); }

// sql_bench_probe.cpp
void bench_join(const Settings& settings, Report& report);
void bench_tail(const Settings& settings, Report& report);
void bench_copies(const Settings& settings, Report& report);
void bench_growth(const Settings& settings, Report& report);
void bench_cold(const Settings& settings, Report& report);
void bench_bloom_join(const Settings& settings, Report& report);
// sql_bench_write.cpp
void bench_build(const Settings& settings, Report& report);
void bench_bulk(const Settings& settings, Report& report);
void bench_commit(const Settings& settings, Report& report);
void bench_pauses(const Settings& settings, Report& report);
// sql_bench_guard.cpp
void bench_guard(const Settings& settings, Report& report);
// sql_bench_ring.cpp
void bench_ring(const Settings& settings, Report& report);
// sql_bench_changes.cpp
void bench_changes(const Settings& settings, Report& report);
// sql_bench_size.cpp
void bench_bloom_bits(const Settings& settings, Report& report);
void bench_bits(const Settings& settings, Report& report);
void bench_rate(const Settings& settings, Report& report);
void bench_disk(const Settings& settings, Report& report);
// sql_bench_everyday.cpp
void bench_everyday(const Settings& settings, Report& report);
// sql_bench_everyday_flash.cpp, a part of bench_everyday
void bench_everyday_flash(const Settings& settings, Report& report);
// sql_bench_everyday_memory.cpp, a part of bench_everyday
void bench_everyday_memory(const Settings& settings, Report& report);
// sql_bench_flash.cpp
void bench_flash(const Settings& settings, Report& report);

}  // namespace cuckoo::bench
