#include "ext/flash/map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ext/flash/survey.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {
namespace {

constexpr uint64_t kMostCells = 2304;  // 48 × 48, so that the smallest cell can still be seen
constexpr double kPanelSize = 456;
constexpr double kLargestCell = 38;
constexpr double kLeft = 32, kRight = 552, kTop = 112;
constexpr double kWidth = 1040;

struct Colour {
  const char* name;
  const char* fill;
};
enum Content : size_t { kLive, kDead, kFree, kBookkeeping, kBad, kKinds };
constexpr std::array<Colour, kKinds> kHolds = {{{"live", "#2f6fb3"},
                                                {"dead, to be collected", "#f2a541"},
                                                {"free", "#e6ebf0"},
                                                {"checkpoints, anchors", "#8d6cab"},
                                                {"bad blocks", "#26262b"}}};
// The colours from never erased to the most worn.
constexpr std::array<const char*, 8> kWear = {"#e8f3ec", "#cfe8c4", "#f7e79c", "#f6c667",
                                              "#ee9a4d", "#dd6b3f", "#b83d34", "#7c1d2e"};

// One cell of the map, which may be several sectors.
struct Cell {
  std::array<double, kKinds> bytes{};
  double erases = 0;  // mean
};

std::string commas(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3;) {
    i -= 3;
    text.insert(i, 1, ',');
  }
  return text;
}

std::string short_size(double bytes) {
  const char* const units[] = {"bytes", "KB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) {
    bytes /= 1024;
  }
  return sql_text(bytes < 100 && std::floor(bytes) != bytes ? "%.1f %s" : "%.0f %s", bytes,
                  units[unit]);
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c == '<'                              ? "&lt;"
              : c == '>'                            ? "&gt;"
              : c == '&'                            ? "&amp;"
              : static_cast<unsigned char>(c) < ' ' ? std::string("?")
                                                    : std::string(1, c);
  }
  return result;
}

class Map {
 public:
  explicit Map(LiveFlash& live) : live_(live), survey_(live) {
    merge();
    lay_out();
  }

  std::string draw() {
    const double bottom = kTop + std::max(rows_ * pitch_, 60.0);
    svg_ = sql_text(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\""
        " viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, Verdana, Helvetica,"
        " sans-serif\" font-size=\"13\" fill=\"#2b2f36\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
        kWidth, bottom + 178, kWidth, bottom + 178);
    draw_titles();
    draw_holds();
    draw_wear();
    draw_holds_legend(bottom + 24);
    draw_wear_legend(bottom + 24);
    text(kLeft, bottom + 162, 12, "#6b7280", reading());
    return std::move(svg_) + "</svg>\n";
  }

 private:
  void merge() {
    const FlashGeometry& geometry = survey_.geometry();
    merged_ = (survey_.sectors() + kMostCells - 1) / kMostCells;
    if (merged_ > geometry.sectors_per_block) {  // whole blocks
      merged_ += geometry.sectors_per_block - 1;
      merged_ -= merged_ % geometry.sectors_per_block;
    }
    cells_.resize((survey_.sectors() + merged_ - 1) / merged_);
    for (uint64_t i = 0; i < survey_.sectors(); ++i) {
      const SectorFacts facts = survey_.sector(i);
      Cell& cell = cells_[i / merged_];
      const bool bookkeeping =
          facts.state == SectorState::kCheckpoint || facts.state == SectorState::kAnchor;
      const Content in_use = facts.state == SectorState::kBad ? kBad
                             : bookkeeping                    ? kBookkeeping
                                                              : kLive;
      add(cell, in_use, facts.live_bytes);
      add(cell, facts.state == SectorState::kBad ? kBad : kDead, facts.dead_bytes);
      add(cell, kFree, facts.free_bytes);
      const uint64_t members = std::min(merged_, survey_.sectors() - i / merged_ * merged_);
      cell.erases += static_cast<double>(facts.erase_count) / static_cast<double>(members);
      most_erases_ = std::max(most_erases_, facts.erase_count);
    }
  }
  void add(Cell& cell, Content kind, uint64_t bytes) {
    cell.bytes[kind] += static_cast<double>(bytes);
    total_[kind] += static_cast<double>(bytes);
  }

  // Makes the panel as nearly square as it can be. Keeps the cells of an erase block in one row if
  // possible.
  void lay_out() {
    const auto cells = static_cast<double>(cells_.size());
    uint64_t columns = static_cast<uint64_t>(std::ceil(std::sqrt(cells)));
    const uint64_t block = survey_.geometry().sectors_per_block;
    if (merged_ == 1 && block <= 16) {
      columns = (columns + block - 1) / block * block;
    }
    columns_ = columns;
    rows_ = std::ceil(cells / static_cast<double>(columns));
    pitch_ = std::min(kLargestCell, kPanelSize / static_cast<double>(columns));
    gap_ = pitch_ >= 6 ? 1 : 0.5;
  }
  double x_of(size_t cell) const { return static_cast<double>(cell % columns_) * pitch_; }
  double y_of(size_t cell) const {
    const size_t row = cell / columns_;
    return static_cast<double>(row) * pitch_;
  }

  void text(double x, double y, int size, const char* fill, const std::string& content,
            const char* attributes = "") {
    svg_ += sql_text("<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" fill=\"%s\"%s>%s</text>\n", x, y,
                     size, fill, attributes, escaped(content).c_str());
  }
  void box(double x, double y, double width, double height, const char* fill) {
    svg_ += sql_text("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                     x, y, width, height, fill);
  }
  static void add_box(std::string& path, double x, double y, double width, double height) {
    path += sql_text("M%.2f %.2fh%.2fv%.2fh-%.2fz", x, y, width, height, width);
  }
  void paths(const std::string& path, const char* fill) {
    if (!path.empty()) {
      svg_ += "<path fill=\"" + std::string(fill) + "\" d=\"" + path + "\"/>\n";
    }
  }

  void draw_titles() {
    const FlashGeometry& geometry = survey_.geometry();
    text(kLeft, 40, 22, "#111827", "flash_kv " + live_.table(), " font-weight=\"bold\"");
    text(kLeft, 64, 13, "#4b5563",
         short_size(static_cast<double>(geometry.size_bytes())) + ": " + commas(survey_.sectors()) +
             " sectors of " + short_size(geometry.sector_size_bytes) + ", " +
             std::to_string(geometry.sectors_per_block) + " to an erase block; " +
             commas(live_.flash().size()) + (live_.flash().size() == 1 ? " entry" : " entries"));
    text(kLeft, kTop - 14, 15, "#111827", "What the sectors hold", " font-weight=\"bold\"");
    text(kRight, kTop - 14, 15, "#111827", "How often they were erased", " font-weight=\"bold\"");
  }

  // Draws each cell as a gauge: live bytes at the bottom, dead bytes above, free bytes at the top.
  void draw_holds() {
    std::array<std::string, kKinds> path;
    const double size = pitch_ - gap_;
    for (size_t i = 0; i < cells_.size(); ++i) {
      const Cell& cell = cells_[i];
      double all = 0;
      for (const double bytes : cell.bytes) {
        all += bytes;
      }
      double bottom = kTop + y_of(i) + size;
      for (const Content kind : {kBad, kBookkeeping, kLive, kDead, kFree}) {
        const double height = size * cell.bytes[kind] / all;
        if (height > 0) {
          bottom -= height;
          add_box(path[kind], kLeft + x_of(i), bottom, size, height);
        }
      }
    }
    for (size_t kind = 0; kind < kKinds; ++kind) {
      paths(path[kind], kHolds[kind].fill);
    }
  }

  // Returns the end of the scale, at least 8, because a few erases make no difference worth a
  // colour.
  double scale_end() const { return std::max(most_erases_, 8U); }
  size_t wear_class(double erases) const {
    const double share = erases / scale_end();
    return std::min(kWear.size() - 1,
                    static_cast<size_t>(share * static_cast<double>(kWear.size())));
  }
  void draw_wear() {
    std::array<std::string, kWear.size()> path;
    const double size = pitch_ - gap_;
    for (size_t i = 0; i < cells_.size(); ++i) {
      add_box(path[wear_class(cells_[i].erases)], kRight + x_of(i), kTop + y_of(i), size, size);
    }
    for (size_t wear = 0; wear < kWear.size(); ++wear) {
      paths(path[wear], kWear[wear]);
    }
  }

  void draw_holds_legend(double y) {
    double all = 0;
    for (const double bytes : total_) {
      all += bytes;
    }
    double x = kLeft;  // a bar of the whole
    for (const Content kind : {kLive, kDead, kBookkeeping, kBad, kFree}) {
      const double width = kPanelSize * total_[kind] / all;
      box(x, y, width, 14, kHolds[kind].fill);
      x += width;
    }
    int line = 0;
    for (const Content kind : {kLive, kDead, kFree, kBookkeeping, kBad}) {
      if (kind == kBad && total_[kind] == 0) {
        continue;
      }
      const double top = y + 30 + 20 * line++;
      box(kLeft, top, 12, 12, kHolds[kind].fill);
      text(kLeft + 20, top + 11, 13, "#2b2f36", kHolds[kind].name);
      text(kLeft + 280, top + 11, 13, "#2b2f36", short_size(total_[kind]), " text-anchor=\"end\"");
      text(kLeft + 350, top + 11, 13, "#2b2f36", sql_text("%.1f %%", 100 * total_[kind] / all),
           " text-anchor=\"end\"");
    }
  }

  void draw_wear_legend(double y) {
    const double width = kPanelSize / static_cast<double>(kWear.size());
    for (size_t shade = 0; shade < kWear.size(); ++shade) {
      box(kRight + static_cast<double>(shade) * width, y, width, 14, kWear[shade]);
    }
    text(kRight, y + 30, 12, "#4b5563", "0 erases");
    text(kRight + kPanelSize, y + 30, 12, "#4b5563", commas(static_cast<uint64_t>(scale_end())),
         " text-anchor=\"end\"");
    text(kRight + kPanelSize / 2, y + 30, 12, "#4b5563", sql_text("%g", scale_end() / 2),
         " text-anchor=\"middle\"");
    const FlashBlocks::Wear wear = live_.flash().wear();  // as flash_kv_info() has it
    const double used = 100.0 * wear.max / survey_.geometry().endurance_erases;
    text(kRight, y + 56, 13, "#2b2f36",
         "least " + commas(wear.min) + sql_text(", mean %.1f", wear.mean) + ", most " +
             commas(wear.max));
    text(kRight, y + 76, 13, "#2b2f36",
         "made for " + commas(survey_.geometry().endurance_erases) +
             " erases: " + sql_text(used < 10 ? "%.2g" : "%.0f", used) +
             " % of the most worn sector's life is used");
  }

  std::string reading() const {
    const std::string what = merged_ == 1 ? "Each cell is one sector"
                                          : "Each cell is " + commas(merged_) + " sectors together";
    return what + ", " + commas(columns_) +
           " in a row, by address from the top left. On the left the cell is filled like a gauge.";
  }

  LiveFlash& live_;
  FlashSurvey survey_;
  uint64_t merged_ = 1;  // sectors in a cell
  std::vector<Cell> cells_;
  std::array<double, kKinds> total_{};
  uint32_t most_erases_ = 0;
  uint64_t columns_ = 1;
  double rows_ = 1, pitch_ = 1, gap_ = 1;
  std::string svg_;
};

}  // namespace

std::string draw_flash_map(LiveFlash& live) { return Map(live).draw(); }

}  // namespace cuckoo
