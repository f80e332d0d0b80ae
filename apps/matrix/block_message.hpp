#pragma once

/// Blocks of matrices that travel from rank to rank to the place where the receiver keeps them.

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "taskgrain/rt/communicator.hpp"

namespace apps {

/// A block is named by its key. All ranks make their messages in the same order.
template <typename... Key>
class BlockMessage {
 public:
  /// \param large    whether blocks travel without a copy, where that can be
  /// \param place    the memory of a block on this rank, to send it or to receive it
  /// \param arrived  called on the receiver when the block is there
  BlockMessage(taskgrain::rt::Communicator& communicator, bool large, std::function<std::span<double>(Key...)> place,
               std::function<void(Key...)> arrived, const std::string& name)
      : rank_(communicator.rank()), place_(std::move(place)), arrived_(std::move(arrived)) {
    using taskgrain::rt::view;
    if (large)
      large_ = communicator.large_active_message([this](Key... key, std::size_t) { return place_(key...).data(); },
                                                 [this](Key... key) { arrived_(key...); }, [](Key...) {}, name);
    else
      small_ = communicator.active_message(
          [this](view<double> block, Key... key) {
            std::ranges::copy(block, place_(key...).data());
            arrived_(key...);
          },
          name);
  }
  BlockMessage(const BlockMessage&) = delete;
  BlockMessage& operator=(const BlockMessage&) = delete;

  /// The block must stay as it is until all ranks have waited.
  void send(int rank, Key... key) const {
    if (rank == rank_)
      arrived_(key...);
    else if (large_)
      large_->send(rank, std::span<const double>(place_(key...)), key...);
    else
      small_->send(rank, place_(key...), key...);
  }

 private:
  const int rank_;
  const std::function<std::span<double>(Key...)> place_;
  const std::function<void(Key...)> arrived_;
  std::optional<taskgrain::rt::ActiveMessage<taskgrain::rt::view<double>, Key...>> small_;
  std::optional<taskgrain::rt::LargeActiveMessage<double, Key...>> large_;
};

}  // namespace apps
