#include "sequence/submission.hpp"

#include <algorithm>

namespace taskgrain::rt::detail {

namespace {

const char* word_for(Mode mode) noexcept {
  constexpr const char* names[] = {"read", "write", "read_write", "commutative", "reduce"};
  return names[static_cast<std::size_t>(mode)];
}

}  // namespace

// -- the steps of a task

std::string Submission::described(const TaskOptions& options) const {
  return name_ + " " + (options.name.empty() ? "task " + std::to_string(window_.submitted() + 1) : options.name);
}

void Submission::check_rank(const std::string& what, int rank) const {
  const int ranks = ranks_ ? ranks_->ranks() : 1;
  if (rank < -1 || rank >= ranks)
    throw_usage(
        {name_, " ", what, ": rank is ", std::to_string(rank), ", allowed are 0 to ", std::to_string(ranks - 1)});
}

void Submission::check(std::span<const Access> accesses, const Access* also, const TaskOptions& options) {
  if (options.worker < -1 || options.worker >= workers_)
    throw_usage({described(options), ": worker is ", std::to_string(options.worker), ", allowed are 0 to ",
                 std::to_string(workers_ - 1)});
  if (options.rank != -1) check_rank(options.name, options.rank);
  accesses_.assign(accesses.begin(), accesses.end());
  if (also != nullptr) accesses_.push_back(*also);
  if (marks_.size() < registry_.size()) marks_.resize(registry_.size());
  Mark* const marks = marks_.data();
  const std::uint64_t check = ++checks_;
  std::size_t number = 0;  // without what is named again
  for (const Access& access : accesses_) {
    if (!registry_.has(access))
      throw_usage({described(options), ": one of its data is of another sequence, or of nothing"});
    if (access.mode == Mode::reduce && (also == nullptr || &access != &accesses_.back()))
      throw_usage({described(options), ": uses data as reduce; call Sequence::reduce"});
    Mark& mark = marks[access.index];
    if (mark.check != check) [[likely]] {
      mark = {check, number};
      accesses_[number++] = access;
      continue;
    }
    Access& other = accesses_[mark.at];
    if (other.mode == access.mode) continue;
    if (std::max(other.mode, access.mode) > Mode::read_write)
      throw_usage({described(options), ": ", name_of(access.index), " is used as ", word_for(other.mode), " and as ",
                   word_for(access.mode), "; a task uses it in one of these ways"});
    other.mode = Mode::read_write;
  }
  if (number != accesses_.size()) accesses_.resize(number);
  if (also == nullptr || also->mode != Mode::reduce) return;
  for (const std::uint32_t other : registry_[also->index].overlaps)
    if (std::ranges::any_of(accesses_, [&](const Access& one) { return one.index == other; }))
      throw_usage({described(options), ": reduces ", name_of(also->index), " and uses ", name_of(other),
                   ", which is a part of it, or it of that"});
}

int Submission::rank_of(const Access* also, int rank) {
  if (also != nullptr && also->mode == Mode::reduce) accesses_.back() = reductions_.last_part(also->index);
  const auto rank_of = [&](const Access& access) { return registry_[access.index].rank; };
  for (const bool written : {true, false})
    for (const Access& access : accesses_)
      if (rank < 0 && (access.mode != Mode::read) == written) rank = rank_of(access);
  if (rank < 0 && also != nullptr) rank = rank_of(*also);
  rank = std::max(rank, 0);
  if (also != nullptr) registry_[accesses_.back().index].rank = rank;
  ranks_->note(registry_, accesses_, rank);
  return rank;
}

int Submission::home_of_written() const noexcept {
  const auto written = std::ranges::find_if(accesses_, [](const Access& one) { return one.mode != Mode::read; });
  return registry_[(written == accesses_.end() ? accesses_.begin() : written)->index].home;
}

WindowTask& Submission::begin_launch(const std::vector<Access>& accesses, const std::string& name,
                                     const std::vector<Transfer>& transfers,
                                     const std::vector<std::shared_ptr<void>>& owners) {
  give(transfers, accesses, owners);
  check(accesses, nullptr, {.name = name});
  if (prepares_) window_.note_order(accesses_);
  next_ = &window_.begin(home_of_written(), {.name = name});
  next_->kind = WindowTask::Kind::launches;
  next_->more = true;  // the name of what fails in it is added to its own
  return *next_;
}

// -- across ranks

bool Submission::prepare(int rank, const std::string& name) {
  if (ranks_) give(ranks_->enter(registry_, accesses_, {rank, name}), accesses_, owners());
  next_ = nullptr;
  if (ranks_ && rank != ranks_->rank()) return false;
  window_.note_order(accesses_);
  return true;
}

std::vector<std::shared_ptr<void>> Submission::owners() const {
  std::vector<std::shared_ptr<void>> owners;
  for (const Access& access : accesses_)
    if (auto owner = registry_[access.index].owner.lock()) owners.push_back(std::move(owner));
  return owners;
}

void Submission::share(const Access& data) {
  if (!ranks_) return;
  accesses_ = {data};
  ranks_->note(registry_, accesses_, 0), ranks_->compare();
  for (int rank = 0; rank < ranks_->ranks(); ++rank)
    give(ranks_->enter(registry_, accesses_, {rank, "that waits"}), accesses_, owners());
}

void Submission::give(const std::vector<Transfer>& transfers, std::span<const Access> of_next,
                      const std::vector<std::shared_ptr<void>>& owners) {
  if (transfers.empty()) return;
  if (!gives_body) reclaim(of_next);
  for (const Transfer& transfer : transfers) {
    const bool sends = transfer.from == ranks_->rank();
    if (!sends && transfer.to != ranks_->rank()) continue;
    const std::string name = "data from rank " + std::to_string(transfer.from) + " to " + std::to_string(transfer.to);
    const int home = registry_[transfer.data.front()].home;
    const std::uint32_t index = registry_.add(transfer.regions, name, home);
    const Access bytes{registry_[index].id, index, sends ? Mode::read : Mode::write};
    window_.note_order({&bytes, 1});
    WindowTask& node = window_.begin(home, {.name = name});
    if (!sends) node.kind = WindowTask::Kind::launches;
    node.function.emplace(ranks_->function(transfer, owners, [this, &node] { window_.queue_end(node); }));
    window_.end(node, {&bytes, 1});
    registry_.release(index);
  }
}

void Submission::reclaim(std::span<const Access> of_next) {
  registry_.reclaim([&](std::uint32_t index) {
    if (reductions_.contains(index) || std::ranges::find(of_next, index, &Access::index) != of_next.end() ||
        window_.uses(index))
      return true;
    window_.forget(index);
    return false;
  });
}

}  // namespace taskgrain::rt::detail
