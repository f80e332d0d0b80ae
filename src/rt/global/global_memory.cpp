#include "global/global_memory.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <tuple>
#include <utility>

#include "taskgrain/rt/detail/failures.hpp"
#include "taskgrain/rt/fork_join.hpp"

namespace taskgrain::rt::detail {

namespace {

/// The time that a rank waits for others at a fence before they all exchange.
constexpr auto before_exchange = std::chrono::milliseconds(200);
std::atomic<int> memories{0};  // that this process has made

std::string elements(const GlobalStorage& storage, std::size_t first, std::size_t count) {
  return storage.name + " [" + std::to_string(first) + ", " + std::to_string(first + count) + ")";
}

}  // namespace

CurrentWorkerScope as_program(const char* call) {
  if (Worker::current() != nullptr && !in_program)
    throw UsageError(std::string("a task cannot wait for all ranks: ") + call + " in the program");
  return CurrentWorkerScope(nullptr);
}

std::shared_ptr<GlobalMemoryCore> GlobalMemoryCore::make(Communicator* comm, GlobalMemoryOptions options) {
  std::vector<int> first(1, 0);
  int number = ++memories;
  if (comm != nullptr) {
    int of_host = comm->rank();
    if (const SharedMemory* const shared = comm->messages().shared_memory(); options.in_place && shared != nullptr)
      for (of_host = 0; !shared->shared_with(of_host);) ++of_host;
    const auto all = comm->all_gather(std::array<int, 4>{of_host, options.check, options.in_place, number});
    number = all.front()[3];  // a rank may have made others without these
    first.clear();
    for (const auto& [host, check, in_place, own] : all) {
      first.push_back(host);
      if (check != all.front()[1] || in_place != all.front()[2])
        throw UsageError("GlobalMemoryOptions: all ranks set the same check, and the same in_place");
    }
  }
  auto made = std::make_shared<GlobalMemoryOfRanks>(comm, options, first, number);
  if (comm != nullptr) made->make_messages(made);
  return made;
}

GlobalMemoryOfRanks::GlobalMemoryOfRanks(Communicator* comm, const GlobalMemoryOptions& options,
                                         const std::vector<int>& first, int number)
    : comm_(comm), options_(options), hosts_(first, comm == nullptr ? 0 : comm->rank()),
      fence_call_("fence of global memory " + std::to_string(number)), copies_(options.cache_bytes) {
  if (ranks() == 1 || hosts_.number() > 1) return;
  SharedMemory& shared = *comm->messages().shared_memory();
  std::size_t offset = 0;
  if (rank() == 0)
    offset = shared.offset(reinterpret_cast<std::byte*>(new (shared.allocate(apart)) std::atomic<std::uint64_t>(0)));
  comm->broadcast(offset);
  counter_.emplace(*reinterpret_cast<std::atomic<std::uint64_t>*>(shared.at(0, offset)), ranks());
}

void GlobalMemoryOfRanks::make_messages(const std::shared_ptr<GlobalMemoryOfRanks>& self) {
  // The lock shows a checker of races that what has made the copy came before, which it cannot see in other processes.
  const auto copy = [self](Token token) -> GlobalCopy& {
    const std::lock_guard lock(self->mutex_);
    return *reinterpret_cast<GlobalCopy*>(token);
  };
  get_ = comm_->active_message(
      [self](Part part, int from, Token token) {
        self->got_->send(from, token, self->hosts_.here(), self->here(part));
      },
      "get of global memory");
  got_ = comm_->active_message(
      [self, copy](Token token, int host, view<std::byte> elements) {
        self->scatter(copy(token), host, elements.data());
        self->got(copy(token));
      },
      "elements of global memory");
  put_ = comm_->active_message(
      [self](Part part, int from, Token token, view<std::byte> elements) {
        std::ranges::copy(elements, self->here(part).data());
        self->stored_->send(from, token);
      },
      "put to global memory");
  stored_ = comm_->active_message([self, copy](Token token) { self->stored(copy(token)); }, "stored in global memory");
}

// -- fences

void GlobalMemoryOfRanks::fence() {
  const CurrentWorkerScope outside = as_program("call fence");
  if (comm_ != nullptr) comm_->progress();  // throws if a rank has failed, which must not come to the fence
  wait_until([&] { return under_way_.load(std::memory_order_acquire) == 0; });
  {
    const std::lock_guard lock(mutex_);
    if (const GlobalCopy* const held = copies_.used())
      throw UsageError("a fence while " + elements(*held->storage, held->first, held->count) + " are checked out");
  }
  const std::string race = options_.check ? races_.look(comm_) : (wait_for_all(), std::string());
  acquire();
  free_ended();
  if (!race.empty()) throw UsageError(race);
}

void GlobalMemoryOfRanks::answer_now_and_then() {
  using Clock = std::chrono::steady_clock;
  constexpr auto often = std::chrono::microseconds(5);
  thread_local Clock::time_point last;
  if (hosts_.number() == 1) return;
  if (const auto now = Clock::now(); now - last > often) {
    last = now;
    comm_->progress();
  }
}

/// Waits for the elements that were put before it is called, and not for those that other threads put meanwhile.
void GlobalMemoryOfRanks::release() {
  if (hosts_.number() == 1) return;
  std::uint64_t last = 0;
  {
    const std::lock_guard lock(mutex_);
    last = put_numbers_;
  }
  wait_until([this, last] {
    const std::lock_guard lock(mutex_);
    return puts_.empty() || puts_.front()->put_number > last;
  });
}

void GlobalMemoryOfRanks::acquire() noexcept {
  if (hosts_.number() == 1) return;
  const std::lock_guard lock(mutex_);
  copies_.unlist_all();
}

void GlobalMemoryOfRanks::wait_for_all() {
  if (ranks() == 1) return;
  if (!counter_) return static_cast<void>(comm_->messages().exchange({{}}, fence_call_));
  using State = FenceCounter::State;
  counter_->arrive();
  State state = counter_->state();
  for (int spins = 0; state == State::waiting && spins < 2000; ++spins) {
    if (spins % 16 == 15) comm_->progress();
    pause();
    state = counter_->state();
  }
  if (state == State::waiting) {
    const auto begin = std::chrono::steady_clock::now();
    wait_until([&] {
      if (std::chrono::steady_clock::now() - begin > before_exchange) counter_->make_slow();
      return (state = counter_->state()) != State::waiting;
    });
  }
  if (state == State::slow) comm_->messages().exchange({{}}, fence_call_);
}

void GlobalMemoryOfRanks::close() noexcept {
  if (std::uncaught_exceptions() > 0) return;  // then the others fail, as this communicator ends
  try {
    fence();
  } catch (const RankFailed&) {            // each wait of each rank says so
  } catch (const std::exception& error) {  // a race since the last fence, or what is checked out
    Failures::print(message_of(error));
  }
}

void GlobalMemoryOfRanks::fail() noexcept {
  if (ranks() > 1) comm_->messages().fail_for(rank(), message_of_current());
}

void GlobalMemoryOfRanks::wait_until(const std::function<bool()>& done) {
  if (!done()) comm_->messages().wait_until(done);
}

// -- where elements are

std::span<std::byte> GlobalMemoryOfRanks::here(const GlobalStorage& storage, std::size_t first,
                                               std::size_t count) const noexcept {
  const std::size_t begin = hosts_.before(storage.layout, hosts_.here(), first),
                    end = hosts_.before(storage.layout, hosts_.here(), first + count);
  return {storage.elements + begin * storage.element_bytes, (end - begin) * storage.element_bytes};
}

std::span<std::byte> GlobalMemoryOfRanks::here(const Part& part) {
  const std::lock_guard lock(mutex_);
  return here(find(part.array)->storage, part.first, part.count);
}

bool GlobalMemoryOfRanks::is_here(const GlobalStorage& storage, std::size_t first, std::size_t count) const noexcept {
  bool here = true;
  hosts_.each_run(storage.layout, first, count,
                  [&](int host, std::size_t, std::size_t) { here &= host == hosts_.here(); });
  return here;
}

std::vector<GlobalHome> GlobalMemoryOfRanks::homes(const GlobalStorage& storage, std::size_t first,
                                                   std::size_t count) const {
  std::vector<GlobalHome> homes;
  std::vector<bool> seen(static_cast<std::size_t>(hosts_.number()));
  seen[static_cast<std::size_t>(hosts_.here())] = true;
  hosts_.each_run(storage.layout, first, count, [&](int host, std::size_t begin, std::size_t) {
    if (seen[static_cast<std::size_t>(host)]) return;
    seen[static_cast<std::size_t>(host)] = true;
    homes.push_back({host, storage.layout.owner(begin)});
  });
  return homes;
}

void GlobalMemoryOfRanks::scatter(GlobalCopy& copy, int of, const std::byte* from) const noexcept {
  hosts_.each_run(copy.storage->layout, copy.first, copy.count, [&](int host, std::size_t first, std::size_t count) {
    if (host != of) return;
    std::memcpy(copy.at(first), from, count * copy.storage->element_bytes);
    from += count * copy.storage->element_bytes;
  });
}

void GlobalMemoryOfRanks::gather(const GlobalCopy& copy, int of, std::byte* to) const noexcept {
  hosts_.each_run(copy.storage->layout, copy.first, copy.count, [&](int host, std::size_t first, std::size_t count) {
    if (host != of) return;
    std::memcpy(to, copy.at(first), count * copy.storage->element_bytes);
    to += count * copy.storage->element_bytes;
  });
}

// -- checkouts

std::byte* GlobalMemoryOfRanks::check_out(const GlobalStorage& storage, std::size_t first, std::size_t count, Mode mode,
                                          GlobalCopy*& copy) {
  if (is_here(storage, first, count)) {
    if (mode != Mode::read) {  // copies that reach to other hosts hold these elements, too
      const std::lock_guard lock(mutex_);
      copies_.unlist(storage, first, count);
    }
    return here(storage, first, count).data();
  }
  copy = &copy_for(storage, first, count, mode);
  try {
    if (mode != Mode::write) {
      wait_until([&] { return copy->missing.load(std::memory_order_acquire) == 0; });
      if (copy->lost) throw std::bad_alloc();  // as another thread, which has asked for it
    }
  } catch (...) {
    unuse(*copy);
    throw;
  }
  return copy->at(first);
}

void GlobalMemoryOfRanks::prefetch(const GlobalStorage& storage, std::size_t first, std::size_t count) {
  {
    const std::lock_guard lock(mutex_);
    if (is_here(storage, first, count) || !copies_.make_room(count * storage.element_bytes)) return;
  }
  try {
    unuse(copy_for(storage, first, count, Mode::read));
  } catch (const UsageError&) {  // meanwhile another thread has taken the room
  }
}

/// Waits until so many elements have room and none of them is on its way home, where an answer could overtake it.
/// \returns the lock
std::unique_lock<std::mutex> GlobalMemoryOfRanks::lock_with_room(const GlobalStorage& storage, std::size_t first,
                                                                 std::size_t count) {
  std::unique_lock lock(mutex_);
  const auto is_clear = [&] {
    return std::ranges::none_of(puts_, [&](const GlobalCopy* put) { return put->overlaps(storage, first, count); }) &&
           copies_.make_room(count * storage.element_bytes);
  };
  while (!is_clear()) {
    if (under_way_.load() == 0 || count * storage.element_bytes > copies_.most())
      throw UsageError(elements(storage, first, count) + " are " + std::to_string(count * storage.element_bytes) +
                       " bytes, and " + std::to_string(copies_.bytes()) + " of cache_bytes = " +
                       std::to_string(copies_.most()) + " are in use: check out less at a time, or give more");
    const int before = under_way_.load();
    lock.unlock();
    wait_until([&] { return under_way_.load() != before; });
    lock.lock();
  }
  return lock;
}

/// A copy for a checkout, whose elements have come or will; one for reading is shared with others that read it.
GlobalCopy& GlobalMemoryOfRanks::copy_for(const GlobalStorage& storage, std::size_t first, std::size_t count,
                                          Mode mode) {
  if (mode == Mode::read) {
    const std::lock_guard lock(mutex_);
    if (GlobalCopy* const copy = copies_.find(storage, first, count)) {
      ++copy->uses;
      return *copy;
    }
  }
  std::vector<GlobalHome> on = homes(storage, first, count);
  auto lock = lock_with_room(storage, first, count);
  GlobalCopy& copy = copies_.add(storage, first, count, std::move(on));
  if (mode == Mode::write) return copy;
  copy.missing = copy.parts();
  ++copy.uses;
  under_way_.fetch_add(1);  // now, so that who finds no room waits for it
  if (mode == Mode::read) copies_.list(copy);
  lock.unlock();
  try {
    fetch(copy);
  } catch (...) {
    unuse(copy);
    throw;
  }
  return copy;
}

void GlobalMemoryOfRanks::unuse(GlobalCopy& copy) noexcept {
  const std::lock_guard lock(mutex_);
  copies_.release(copy);
}

/// \pre it is used, missing and under way
void GlobalMemoryOfRanks::fetch(GlobalCopy& copy) {
  const GlobalStorage& storage = *copy.storage;
  std::size_t asked = 0;
  try {
    for (; asked < copy.homes.size(); ++asked)
      get_->send(copy.homes[asked].rank, {storage.number, copy.first, copy.count}, rank(),
                 reinterpret_cast<Token>(&copy));
  } catch (...) {  // it is for nobody, and ends when the parts have come that were asked for
    copy.lost = true;
    {
      const std::lock_guard lock(mutex_);
      if (copy.listed()) copies_.unlist(copy);
    }
    for (; asked <= copy.homes.size(); ++asked) got(copy);
    throw;
  }
  scatter(copy, hosts_.here(), here(storage, copy.first, copy.count).data());
  got(copy);
}

void GlobalMemoryOfRanks::got(GlobalCopy& copy) noexcept {
  if (copy.missing.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  unuse(copy);
  under_way_.fetch_sub(1, std::memory_order_release);
}

void GlobalMemoryOfRanks::check_in(GlobalCopy& copy, Mode mode) noexcept {
  const GlobalStorage& storage = *copy.storage;
  if (mode == Mode::read) return unuse(copy);
  under_way_.fetch_add(1);
  {
    const std::lock_guard lock(mutex_);
    copies_.unlist(storage, copy.first, copy.count);
    copies_.list(copy);
    copy.put_number = ++put_numbers_;
    puts_.splice(puts_.end(), copy.put);
  }
  gather(copy, hosts_.here(), here(storage, copy.first, copy.count).data());
  try {
    for (const auto& [host, to] : copy.homes) {
      std::size_t count = 0, runs = 0, from = 0;
      hosts_.each_run(storage.layout, copy.first, copy.count, [&](int of, std::size_t first, std::size_t number) {
        if (of == host) count += number, from = runs++ == 0 ? first : from;
      });
      ElementBytes gathered;
      std::byte* elements = copy.at(from);
      if (runs > 1) {
        gathered = element_bytes(count * storage.element_bytes);
        gather(copy, host, elements = gathered.get());
      }
      put_->send(to, {storage.number, copy.first, copy.count}, rank(), reinterpret_cast<Token>(&copy),
                 {elements, count * storage.element_bytes});
    }
  } catch (const std::exception& error) {  // nobody else can say it: a rank is lost, or there is no memory
    comm_->messages().fail_for(rank(), message_of(error));
  }
  stored(copy);
}

void GlobalMemoryOfRanks::stored(GlobalCopy& copy) noexcept {
  if (copy.unheard.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  {
    const std::lock_guard lock(mutex_);
    copy.put.splice(copy.put.end(), puts_, std::ranges::find(puts_, &copy));
    copies_.release(copy);
  }
  under_way_.fetch_sub(1, std::memory_order_release);
}

}  // namespace taskgrain::rt::detail
