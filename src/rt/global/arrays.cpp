/// The arrays of the memory of all ranks: what makes, finds and frees them.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <tuple>
#include <utility>

#include "global/global_memory.hpp"

namespace taskgrain::rt::detail {

namespace {

/// The same on all ranks.
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  const std::string what_;
};

std::string said(const GlobalStorage& storage, const std::exception& error) {
  return storage.name + " of " + std::to_string(storage.layout.size) + " elements of " +
         std::to_string(storage.element_bytes) + " bytes: " + error.what();
}

}  // namespace

GlobalStorage& GlobalMemoryOfRanks::add(std::string name, std::size_t size, std::size_t element_bytes,
                                        std::size_t block) {
  const CurrentWorkerScope outside = as_program("make a GlobalArray");
  const std::uint64_t number = next_++;  // the same on all ranks, whatever fails on one
  const auto all = static_cast<std::size_t>(ranks());
  if (block == 0) block = std::max<std::size_t>(1, (size + all - 1) / all);
  auto made = std::make_shared<Array>();
  Array& array = *made;
  array.storage = {number, std::move(name), {size, block, ranks()}, element_bytes};
  GlobalStorage& storage = array.storage;
  storage.all_here = hosts_.number() == 1;
  storage.checks = options_.check;
  std::string none, unlike;  // no memory, and other arguments on another rank
  try {
    if (size > SIZE_MAX / element_bytes / 2 || block > SIZE_MAX / all / 2) throw std::bad_array_new_length();
    if (rank() == hosts_.ranks(hosts_.here()).front()) allocate(array);
  } catch (const std::exception& error) {
    none = said(storage, error);
  }
  {
    const std::lock_guard lock(mutex_);
    arrays_.emplace(number, std::move(made));
  }
  if (comm_ != nullptr) {
    const auto offset = array.shared != nullptr ? comm_->messages().shared_memory()->offset(array.shared) : 0;
    const auto told = comm_->all_gather(
        std::tuple(std::array<std::size_t, 4>{size, element_bytes, block, offset}, storage.name, none));
    for (int other = ranks(); other-- > 0;) {
      const auto& [numbers, named, text] = told[static_cast<std::size_t>(other)];
      if (!text.empty()) none = "rank " + std::to_string(other) + ": " + text;
      const auto& [first, first_named, ok] = told.front();
      if (named != first_named)
        unlike = "rank " + std::to_string(other) + " makes " + named + " and rank 0 " + first_named;
      for (std::size_t k = 0; k < 3; ++k)
        if (numbers[k] != first[k])
          unlike = storage.name + ": rank " + std::to_string(other) + " gives " + std::to_string(numbers[k]) +
                   " and rank 0 " + std::to_string(first[k]) + " as the " +
                   std::array{"number of elements", "bytes of an element", "elements of a block"}[k];
    }
    const int home = hosts_.ranks(hosts_.here()).front();
    if (none.empty() && unlike.empty() && rank() != home)
      storage.elements =
          comm_->messages().shared_memory()->at(home, std::get<0>(told[static_cast<std::size_t>(home)])[3]);
  }
  if (!unlike.empty()) throw UsageError(unlike);
  if (!none.empty()) throw NoMemory(none);
  zero_own(storage);
  release();
  wait_for_all();
  array.ended = false;
  return storage;
}

void GlobalMemoryOfRanks::allocate(Array& array) {
  GlobalStorage& storage = array.storage;
  const std::size_t bytes = hosts_.before(storage.layout, hosts_.here(), storage.layout.size) * storage.element_bytes;
  SharedMemory* const shared = comm_ == nullptr || !options_.in_place ? nullptr : comm_->messages().shared_memory();
  if (shared != nullptr)
    storage.elements = array.shared = shared->allocate(std::max<std::size_t>(1, bytes)),
    storage.offset = shared->offset(array.shared);
  else
    array.own = element_bytes(bytes), storage.elements = array.own.get();
}

/// Zeroes the elements of this rank. Each rank does so for its own, which then lie near its cores.
void GlobalMemoryOfRanks::zero_own(const GlobalStorage& storage) const noexcept {
  const GlobalLayout& layout = storage.layout;
  for (std::size_t k = 0, end = layout.before(rank(), layout.size); k < end; k += layout.block) {
    const std::size_t index = layout.index(rank(), k), count = std::min(layout.block, end - k);
    const std::size_t at = hosts_.before(layout, hosts_.here(), index);
    std::memset(storage.elements + at * storage.element_bytes, 0, count * storage.element_bytes);
  }
}

/// An array whose elements are all of the rank that makes it.
GlobalStorage GlobalMemoryOfRanks::of_one_rank(const GlobalName& name, std::string text,
                                               std::size_t element_bytes) const {
  GlobalStorage storage{name.number,
                        std::move(text),
                        {name.size, std::max<std::size_t>(1, name.size), ranks(), maker(name.number)},
                        element_bytes};
  storage.all_here = hosts_.number() == 1;
  storage.checks = options_.check;
  storage.offset = name.offset;
  return storage;
}

GlobalStorage& GlobalMemoryOfRanks::add_own(std::string name, std::size_t size, std::size_t element_bytes) {
  const auto made = std::make_shared<Array>();
  made->storage = of_one_rank({own_number(0), size, 0}, std::move(name), element_bytes);  // its number comes last
  made->ended = false;
  try {
    if (size > SIZE_MAX / element_bytes / 2 / static_cast<std::size_t>(ranks())) throw std::bad_array_new_length();
    allocate(*made);
  } catch (const std::exception& error) {
    throw NoMemory(said(made->storage, error));
  }
  zero_own(made->storage);
  try {
    const std::lock_guard lock(mutex_);
    made->storage.number = own_number(own_next_++);
    arrays_.emplace(made->storage.number, made);
  } catch (...) {
    free(*made);
    throw;
  }
  return made->storage;
}

std::shared_ptr<GlobalStorage> GlobalMemoryOfRanks::find(const GlobalName& name, std::size_t element_bytes) {
  const int by = maker(name.number);
  if (name.number == 0 || by >= ranks()) throw UsageError("a GlobalReference that was not taken from an array");
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Array> array;
  if (by == all_ranks || by == rank() || arrays_.contains(name.number)) {
    array = find(name.number);
  } else {
    array = std::make_shared<Array>();  // which the next fence forgets
    array->storage = of_one_rank(name, "an array of rank " + std::to_string(by), element_bytes);
    if (hosts_.of(by) == hosts_.here())
      array->storage.elements = comm_->messages().shared_memory()->at(by, name.offset);
    arrays_.emplace(name.number, array);
  }
  if (array->storage.element_bytes != element_bytes)
    throw UsageError(array->storage.name + ": a reference to elements of " + std::to_string(element_bytes) +
                     " bytes, which have " + std::to_string(array->storage.element_bytes));
  return {array, &array->storage};
}

std::shared_ptr<GlobalMemoryOfRanks::Array> GlobalMemoryOfRanks::find(std::uint64_t number) const {
  const auto found = arrays_.find(number);
  if (found == arrays_.end()) throw UsageError("an array is used that has ended");
  return found->second;
}

void GlobalMemoryOfRanks::remove(GlobalStorage& storage) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = arrays_.find(storage.number);
  found->second->ended = true;
  if (maker(storage.number) == all_ranks) return;
  free(*found->second);
  arrays_.erase(found);
}

void GlobalMemoryOfRanks::free(const Array& array) noexcept {
  if (array.shared != nullptr) comm_->messages().shared_memory()->release(array.shared);
}

void GlobalMemoryOfRanks::free_ended() noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(arrays_, [&](const auto& array) {
    if (array.second->ended) free(*array.second);
    return array.second->ended;
  });
}

}  // namespace taskgrain::rt::detail
