#include "global/races.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace taskgrain::rt {

template <>
struct Serializer<detail::Races::Use> {
  using Use = detail::Races::Use;

  static void write(const Use& use, Writer& to) {
    const Numbers numbers{use.array, use.line, use.first, use.count, use.strand, use.writes};
    Serializer<Numbers>::write(numbers, to);
    Serializer<std::string>::write(use.name, to);
    Serializer<std::string>::write(use.file, to);
  }
  static Use read(Reader& from) {
    const auto numbers = Serializer<Numbers>::read(from);
    std::string name = Serializer<std::string>::read(from);
    return {numbers.array,  numbers.line,   numbers.first,   numbers.count,
            numbers.strand, numbers.writes, std::move(name), Serializer<std::string>::read(from)};
  }

 private:
  struct Numbers {
    std::uint64_t array;
    std::uint32_t line;
    std::size_t first, count;
    std::uint64_t strand;
    bool writes;
  };
};

}  // namespace taskgrain::rt

namespace taskgrain::rt::detail {

void Races::note(const GlobalStorage& storage, std::size_t first, std::size_t count, Mode mode,
                 const std::source_location& where) {
  if (count == 0 || !looks_.load(std::memory_order_relaxed)) return;
  Use use{storage.number, where.line(),       first,        count,
          global_strand,  mode != Mode::read, storage.name, where.file_name()};
  const std::lock_guard lock(mutex_);
  uses_.push_back(std::move(use));
}

std::string Races::look(Communicator* comm) {
  std::vector<Use> mine;
  {
    const std::lock_guard lock(mutex_);
    mine.swap(uses_);
  }
  std::vector<std::vector<Use>> by_rank(1, std::move(mine));
  if (comm != nullptr) by_rank = comm->all_gather(by_rank.front());
  struct Found {
    const Use* use;
    std::size_t rank;
  };
  std::vector<Found> all;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    for (const Use& use : by_rank[rank]) all.push_back({&use, rank});
  std::ranges::stable_sort(all, {}, [](const Found& one) { return std::pair(one.use->array, one.use->first); });
  // Those that may still overlap what comes, by their ends. An array of many uses of all elements takes long.
  std::vector<Found> open;
  for (const Found& now : all) {
    std::erase_if(open, [&](const Found& one) {
      return one.use->array != now.use->array || one.use->first + one.use->count <= now.use->first;
    });
    for (const Found& other : open) {
      if (!(other.use->writes || now.use->writes)) continue;
      // The program of a rank (strand 0) does not run beside its loops.
      if (other.rank == now.rank &&
          (other.use->strand == now.use->strand || other.use->strand == 0 || now.use->strand == 0))
        continue;
      return "a race: " + other.use->text(other.rank) + ", and " + now.use->text(now.rank) +
             ", with no fence between them";
    }
    open.push_back(now);
  }
  return {};
}

std::string Races::Use::text(std::size_t rank) const {
  return "rank " + std::to_string(rank) + (writes ? " writes " : " reads ") + name + " [" + std::to_string(first) +
         ", " + std::to_string(first + count) + ") at " + file + ":" + std::to_string(line);
}

}  // namespace taskgrain::rt::detail
