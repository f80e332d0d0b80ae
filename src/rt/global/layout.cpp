#include "global/layout.hpp"

namespace taskgrain::rt::detail {

std::size_t GlobalLayout::before(int rank, std::size_t index) const noexcept {
  const std::size_t turn = block * static_cast<std::size_t>(ranks), begin = place(rank) * block;
  const std::size_t rest = index % turn;
  return index / turn * block + (rest < begin ? 0 : std::min(rest - begin, block));
}

GlobalHosts::GlobalHosts(const std::vector<int>& first, int rank) : of_(first.size()) {
  for (std::size_t k = 0; k < first.size(); ++k) {
    if (first[k] == static_cast<int>(k)) ranks_.emplace_back();
    // A host's first rank has the lowest number of it, so its host is numbered already.
    of_[k] = first[k] == static_cast<int>(k) ? number() - 1 : of(first[k]);
    ranks_[static_cast<std::size_t>(of_[k])].push_back(static_cast<int>(k));
  }
  here_ = of(rank);
}

}  // namespace taskgrain::rt::detail
