#include "tiling.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "entries.hpp"

namespace apps {

Tiling::Tiling(std::int64_t size, std::int64_t block) {
  for (std::int64_t begin = 0; begin < size; begin += block) begins_.push_back(begin);
  begins_.push_back(size);
}

Tiling::Tiling(std::int64_t size, std::int64_t block, double rho, std::uint64_t seed) : Tiling(size, block) {
  if (rho <= 1) return;
  const std::size_t number = begins_.size() - 1;
  std::vector<double> until(number + 1, 0.0);
  for (std::size_t k = 0; k < number; ++k)  // random_value is from -1 to 1
    until[k + 1] = until[k] + 1 + (rho - 1) * random_value(seed, k, 0);
  // Each block keeps one row at least, so that their number stays.
  for (std::size_t k = 1; k < number; ++k) {
    const auto wanted = static_cast<std::int64_t>(std::llround(until[k] / until[number] * static_cast<double>(size)));
    begins_[k] = std::clamp(wanted, begins_[k - 1] + 1, size - static_cast<std::int64_t>(number - k));
  }
}

void Blocks::hold(int i, int j) {
  constexpr std::size_t line = 64;
  const std::size_t bytes = (elements(i, j).size_bytes() + line - 1) / line * line;
  auto* const memory = static_cast<double*>(std::aligned_alloc(line, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, bytes);
  blocks_[at(i, j)].reset(memory);
}

}  // namespace apps
