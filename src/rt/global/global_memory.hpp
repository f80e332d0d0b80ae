#pragma once

/// The memory of all ranks over active messages.
///
/// `get` asks a rank of a host for its elements in a range, which lie together there, so one message brings them. `put`
/// takes elements home, and `stored` says that they are there. Any rank of a host answers for all of it.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/work.hpp"
#include "global/copies.hpp"
#include "global/fence_counter.hpp"
#include "global/layout.hpp"
#include "global/races.hpp"
#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/detail/global_memory.hpp"

namespace taskgrain::rt::detail {

/// While it lives, this thread waits for all ranks as the program outside of `fork_join` does.
/// \throws UsageError  it is in a task, which cannot do this call
CurrentWorkerScope as_program(const char* call);

class GlobalMemoryOfRanks final : public GlobalMemoryCore {
 public:
  /// \param comm   null: alone
  /// \param first  for each rank, the first one of its host
  /// \param number  among the memories of all ranks, for the name of its fences
  GlobalMemoryOfRanks(Communicator* comm, const GlobalMemoryOptions& options, const std::vector<int>& first,
                      int number);
  /// \param self  this, which the functions of messages keep: they exist as long as the communicator
  void make_messages(const std::shared_ptr<GlobalMemoryOfRanks>& self);

  int rank() const noexcept override { return comm_ == nullptr ? 0 : comm_->rank(); }
  int ranks() const noexcept override { return comm_ == nullptr ? 1 : comm_->ranks(); }
  GlobalStorage& add(std::string name, std::size_t size, std::size_t element_bytes, std::size_t block) override;
  GlobalStorage& add_own(std::string name, std::size_t size, std::size_t element_bytes) override;
  std::shared_ptr<GlobalStorage> find(const GlobalName& name, std::size_t element_bytes) override;
  void remove(GlobalStorage& storage) noexcept override;
  void fence() override;
  void close() noexcept override;
  void release() override;
  void acquire() noexcept override;
  void answer_now_and_then() override;
  void look_for_races(bool looks) noexcept override { races_.look(looks); }
  void fail() noexcept override;
  std::byte* check_out(const GlobalStorage& storage, std::size_t first, std::size_t count, Mode mode,
                       GlobalCopy*& copy) override;
  void check_in(GlobalCopy& copy, Mode mode) noexcept override;
  void prefetch(const GlobalStorage& storage, std::size_t first, std::size_t count) override;
  void note(const GlobalStorage& storage, std::size_t first, std::size_t count, Mode mode,
            const std::source_location& where) override {
    races_.note(storage, first, count, mode, where);
  }

 private:
  struct Array {
    GlobalStorage storage{};
    std::byte* shared = nullptr;  // allocated by this rank for all of its host
    ElementBytes own{};           // else, if this rank is a host of its own
    bool ended = true;            // until all ranks have it, and again when it was removed
  };
  struct Part {  // of an array, as messages name it
    std::uint64_t array;
    std::size_t first, count;
  };
  using Token = std::uint64_t;  // the address of a GlobalCopy on the rank that it comes back to

  static constexpr int all_ranks = -1, maker_at = 40;  // a number is below 2^40, or 1 + the rank of its maker there
  static int maker(std::uint64_t number) noexcept { return static_cast<int>(number >> maker_at) - 1; }
  std::uint64_t own_number(std::uint64_t k) const noexcept {
    return (static_cast<std::uint64_t>(rank()) + 1) << maker_at | k;
  }
  GlobalStorage of_one_rank(const GlobalName& name, std::string text, std::size_t element_bytes) const;
  std::shared_ptr<Array> find(std::uint64_t number) const;
  void allocate(Array& array);
  void free(const Array& array) noexcept;
  void free_ended() noexcept;
  void zero_own(const GlobalStorage& storage) const noexcept;
  /// The elements of this host in a range, which lie together.
  std::span<std::byte> here(const GlobalStorage& storage, std::size_t first, std::size_t count) const noexcept;
  std::span<std::byte> here(const Part& part);
  bool is_here(const GlobalStorage& storage, std::size_t first, std::size_t count) const noexcept;
  /// The other hosts that have elements in a range.
  std::vector<GlobalHome> homes(const GlobalStorage& storage, std::size_t first, std::size_t count) const;
  /// Elements of a host from where they lie together to their places in a copy, and back.
  void scatter(GlobalCopy& copy, int host, const std::byte* from) const noexcept;
  void gather(const GlobalCopy& copy, int host, std::byte* to) const noexcept;

  GlobalCopy& copy_for(const GlobalStorage& storage, std::size_t first, std::size_t count, Mode mode);
  std::unique_lock<std::mutex> lock_with_room(const GlobalStorage& storage, std::size_t first, std::size_t count);
  void fetch(GlobalCopy& copy);
  void unuse(GlobalCopy& copy) noexcept;
  void got(GlobalCopy& copy) noexcept;
  void stored(GlobalCopy& copy) noexcept;
  void wait_until(const std::function<bool()>& done);
  void wait_for_all();

  Communicator* const comm_;
  const GlobalMemoryOptions options_;
  const GlobalHosts hosts_;
  const std::string fence_call_;
  Races races_;
  std::optional<FenceCounter> counter_;  // if all ranks are of one host
  std::atomic<int> under_way_{0};        // copies that come or go
  std::mutex mutex_;                     // protects the members below
  std::map<std::uint64_t, std::shared_ptr<Array>> arrays_;
  std::uint64_t next_ = 1, own_next_ = 0;  // 0 is no array
  GlobalCopies copies_;
  std::list<GlobalCopy*> puts_;  // not stored at their homes yet, in their order
  std::uint64_t put_numbers_ = 0;

  std::optional<ActiveMessage<Part, int, Token>> get_;                   // from whom
  std::optional<ActiveMessage<Token, int, view<std::byte>>> got_;        // of which host
  std::optional<ActiveMessage<Part, int, Token, view<std::byte>>> put_;  // by whom
  std::optional<ActiveMessage<Token>> stored_;
};

}  // namespace taskgrain::rt::detail
