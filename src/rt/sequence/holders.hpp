#pragma once

/// The ranks that have the newest bytes of memory, for a sequence of several ranks. Each rank follows all tasks, so all
/// agree about what is sent without talking.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "taskgrain/rt/sequence.hpp"

namespace taskgrain::rt::detail {

/// Bytes that go from one rank to the same memory of another.
struct Transfer {
  int from, to;
  std::vector<Region> regions{};
  std::vector<std::uint32_t> data{};  // of each region

  /// \param stride  from the bytes added before to these, if they are in the next row
  void add(std::uintptr_t begin, std::size_t bytes, std::size_t stride, std::uint32_t of);
  std::size_t bytes() const noexcept;
  /// The bytes in their place if they are one piece; otherwise nothing.
  std::span<const std::byte> in_place() const noexcept;
  void pack(std::byte* into) const noexcept;
  void unpack(const std::byte* bytes) const noexcept;
};

/// The first transfer between two ranks in a list; a new one where there is none.
Transfer& transfer_of(std::vector<Transfer>& transfers, int from, int to);

class Holders {
 public:
  /// Bytes, and who has them. Its splitting differs between ranks, as addresses do, and the rest does not.
  struct Piece {
    std::uintptr_t end;
    std::vector<int> ranks{};  // first the one that wrote it; none: all have what was there at first
    bool initial = true;       // no task has written it
    unsigned body = 0;         // in which it was written
  };

  /// A rank reads the region, and receives the bytes that it lacks. \param transfers  gets these, too
  /// \param first  null, or regions to which is added what was not written in this body
  void read(const Region& region, int rank, std::uint32_t data, std::vector<Transfer>& transfers,
            Transfer* first = nullptr);
  /// A rank writes all bytes of the region.
  void write(const Region& region, int rank);
  bool has(const Region& region, int rank);
  void begin_body() noexcept { ++body_; }

  /// Calls `each(begin, piece)` for pieces that cover the region and nothing else, row by row.
  template <typename Each>
  void each_piece(const Region& region, const Each& each) {
    for (std::size_t row = 0; row < region.rows; ++row) {
      const std::uintptr_t begin = region.begin + row * region.stride, end = begin + region.row_bytes;
      if (const auto exact = pieces_.find(begin); exact != pieces_.end() && exact->second.end == end)  // most often
        each(begin, exact->second);
      else
        for (auto it = cover(begin, end); it != pieces_.end() && it->first < end; ++it) each(it->first, it->second);
    }
  }

 private:
  using Pieces = std::map<std::uintptr_t, Piece>;

  void split(std::uintptr_t at);
  /// \returns the first of the pieces that cover an interval
  Pieces::iterator cover(std::uintptr_t begin, std::uintptr_t end);

  Pieces pieces_;
  unsigned body_ = 0;
};

}  // namespace taskgrain::rt::detail
