#include "options.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "flags.hpp"
#include "taskgrain/error.hpp"

namespace apps {

std::string Grid::text() const {
  std::string text = std::to_string(rows) + "x" + std::to_string(columns);
  return layers == 1 ? text : text + "x" + std::to_string(layers);
}

Grid even_grid(int ranks, bool layers) {
  Grid best{1, layers ? 1 : ranks, layers ? ranks : 1};
  for (int rows = 1; rows <= ranks; ++rows)
    for (int columns = rows; rows * columns <= ranks; ++columns) {
      const Grid one{rows, columns, ranks / (rows * columns)};
      if (one.ranks() != ranks || (layers ? one.layers < columns : one.layers != 1)) continue;
      const auto longest = [](const Grid& grid) { return std::max(grid.columns, grid.layers); };
      if (longest(one) < longest(best) || (longest(one) == longest(best) && one.rows > best.rows)) best = one;
    }
  return best;
}

Options parse(int argc, char** argv, const Extra& extra, int ranks) {
  constexpr auto most = std::numeric_limits<int>::max();
  Options options;
  Flags flags(argc, argv);
  flags.integer("size", options.size, 1, 1 << 20);
  flags.integer("block", options.block, 1, 1 << 20);
  flags.integer("threads", options.threads, 1, 4096);
  flags.integer("repeats", options.repeats, 1, most);
  flags.integer("seed", options.seed, 0, most);
  flags.toggle("validate", options.validate);
  if (extra.rho) flags.real("rho", options.rho, 1, 2);
  if (extra.messages) flags.choice("messages", options.messages, {"small", "large"});
  if (extra.tiles) flags.choice("tiles", options.tiles, {"yes", "no"});
  std::string grid;
  flags.text("grid", grid);
  flags.finish();

  options.grid = even_grid(ranks, extra.layers);
  if (!grid.empty()) {
    Grid& given = options.grid = {};
    int end = 0;
    if (extra.layers)
      std::sscanf(grid.c_str(), "%6dx%6dx%6d%n", &given.rows, &given.columns, &given.layers, &end);
    else
      std::sscanf(grid.c_str(), "%6dx%6d%n", &given.rows, &given.columns, &end);
    const bool read = static_cast<std::size_t>(end) == grid.size();
    if (!read || std::min({given.rows, given.columns, given.layers}) < 1 ||
        static_cast<std::int64_t>(given.rows) * given.columns * given.layers != ranks)
      throw taskgrain::InvalidSpec("grid", grid,
                                   (extra.layers ? "PxQxR whose product is the number of ranks, "
                                                 : "PxQ whose product is the number of ranks, ") +
                                       std::to_string(ranks));
  }
  return options;
}

}  // namespace apps
