// flash_kv_map(table): an SVG picture of a flash_kv's sectors, two panels of cells in the order of
// their addresses. The left panel shows their contents, each cell as a gauge of live and dead
// bytes. The right panel shows how often they were erased.
#pragma once

#include <string>

#include "ext/flash/live_flash.hpp"

namespace cuckoo {

std::string draw_flash_map(LiveFlash& live);

}  // namespace cuckoo
