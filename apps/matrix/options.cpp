#include "options.hpp"

#include <algorithm>

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

}  // namespace apps
