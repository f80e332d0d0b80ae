#include "sequence/holders.hpp"

#include <algorithm>
#include <cstring>

namespace taskgrain::rt::detail {

namespace {

std::byte* at(std::uintptr_t address) noexcept { return reinterpret_cast<std::byte*>(address); }

bool is_in(const std::vector<int>& ranks, int rank) noexcept {
  return ranks.empty() || std::ranges::find(ranks, rank) != ranks.end();
}

}  // namespace

void Transfer::add(std::uintptr_t begin, std::size_t bytes, std::size_t stride, std::uint32_t of) {
  if (!regions.empty() && data.back() == of) {
    Region& last = regions.back();
    if (last.rows == 1 && last.begin + last.row_bytes == begin) {
      last.row_bytes += bytes;
      return;
    }
    // The next row of a column. Bytes travel region by region, so only the last region may grow.
    if (last.row_bytes == bytes && stride >= bytes && begin == last.begin + last.rows * stride &&
        (last.rows == 1 || last.stride == stride)) {
      ++last.rows;
      last.stride = stride;
      return;
    }
  }
  regions.push_back({begin, bytes, 1, 0});
  data.push_back(of);
}

std::size_t Transfer::bytes() const noexcept {
  std::size_t sum = 0;
  for (const Region& region : regions) sum += region.rows * region.row_bytes;
  return sum;
}

std::span<const std::byte> Transfer::in_place() const noexcept {
  if (regions.size() != 1 || regions.front().rows != 1) return {};
  return {at(regions.front().begin), regions.front().row_bytes};
}

void Transfer::pack(std::byte* into) const noexcept {
  for (const Region& region : regions)
    for (std::size_t row = 0; row < region.rows; ++row, into += region.row_bytes)
      std::memcpy(into, at(region.begin + row * region.stride), region.row_bytes);
}

void Transfer::unpack(const std::byte* bytes) const noexcept {
  for (const Region& region : regions)
    for (std::size_t row = 0; row < region.rows; ++row, bytes += region.row_bytes)
      std::memcpy(at(region.begin + row * region.stride), bytes, region.row_bytes);
}

Transfer& transfer_of(std::vector<Transfer>& transfers, int from, int to) {
  const auto found =
      std::ranges::find_if(transfers, [&](const Transfer& one) { return one.from == from && one.to == to; });
  return found != transfers.end() ? *found : transfers.emplace_back(Transfer{from, to});
}

void Holders::split(std::uintptr_t at) {
  auto it = pieces_.upper_bound(at);
  if (it == pieces_.begin()) return;
  --it;
  if (it->first == at || it->second.end <= at) return;
  pieces_.emplace(at, it->second);
  it->second.end = at;
}

Holders::Pieces::iterator Holders::cover(std::uintptr_t begin, std::uintptr_t end) {
  split(begin);
  split(end);
  auto it = pieces_.lower_bound(begin);
  for (std::uintptr_t at = begin; at < end; at = it->second.end, ++it)
    if (it == pieces_.end() || it->first > at)  // of which nobody has said anything
      it = pieces_.emplace_hint(it, at, Piece{it == pieces_.end() ? end : std::min(end, it->first)});
  return pieces_.find(begin);
}

void Holders::read(const Region& region, int rank, std::uint32_t data, std::vector<Transfer>& transfers,
                   Transfer* first) {
  each_piece(region, [&](std::uintptr_t begin, Piece& piece) {
    if (first != nullptr && piece.body != body_) first->add(begin, piece.end - begin, region.stride, data);
    if (is_in(piece.ranks, rank)) return;
    transfer_of(transfers, piece.ranks.front(), rank).add(begin, piece.end - begin, region.stride, data);
    piece.ranks.push_back(rank);
  });
}

void Holders::write(const Region& region, int rank) {
  for (std::size_t row = 0; row < region.rows; ++row) {
    const std::uintptr_t begin = region.begin + row * region.stride, end = begin + region.row_bytes;
    auto first = pieces_.find(begin);
    if (first == pieces_.end() || first->second.end != end) {
      first = cover(begin, end);
      auto last = std::next(first);
      while (last != pieces_.end() && last->first < end) last = pieces_.erase(last);
    }
    Piece& piece = first->second;
    piece.end = end, piece.initial = false, piece.body = body_;
    piece.ranks.assign(1, rank);
  }
}

bool Holders::has(const Region& region, int rank) {
  bool all = true;
  each_piece(region, [&](std::uintptr_t, const Piece& piece) { all = all && is_in(piece.ranks, rank); });
  return all;
}

}  // namespace taskgrain::rt::detail
