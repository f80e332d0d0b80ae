#pragma once

/// What every system of several MPI processes needs beside its own way to execute tasks: the sharing of requests and
/// the adding up of what all ranks did. Header only, so that the core stays free of MPI.

#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include "taskgrain/driver.hpp"
#include "taskgrain/error.hpp"

namespace taskgrain {

class ProcessSystem : public System {
 public:
  /// \param thread_level  MPI_THREAD_SINGLE …; rank 0 answers
  explicit ProcessSystem(int thread_level) {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, thread_level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank_on_node_);
    MPI_Comm_size(node, &ranks_on_node_);
    int first_on_node = rank_on_node_ == 0 ? 1 : 0;
    MPI_Comm_free(&node);
    MPI_Allreduce(&first_on_node, &nodes_, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  /// A rank that fails while it starts just leaves. What started the ranks then ends the others, which may wait for it.
  ~ProcessSystem() override {
    if (std::uncaught_exceptions() == 0) MPI_Finalize();
  }
  ProcessSystem(const ProcessSystem&) = delete;
  ProcessSystem& operator=(const ProcessSystem&) = delete;

  std::string version() const override { return library(); }
  std::string library() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string whole(text, static_cast<std::size_t>(length));
    return whole.substr(0, whole.find_first_of(",\n"));
  }

  int nodes() const override { return nodes_; }
  bool answers() const override { return rank_ == 0; }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

  void share(std::string& request) override {
    if (ranks_ == 1) return;  // SMPI's MPI_Ibcast never completes where one rank is alone
    auto bytes = static_cast<int>(request.size());
    wait_idly([&](MPI_Request* done) { MPI_Ibcast(&bytes, 1, MPI_INT, 0, MPI_COMM_WORLD, done); });
    request.resize(static_cast<std::size_t>(bytes));
    MPI_Bcast(request.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
  }

  void share_failure(const std::exception_ptr& failure) const override {
    const int mine = failure ? rank_ : ranks_;
    int first = 0;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == ranks_) return;
    std::string message = "rank " + std::to_string(first) + ": ";
    if (first == rank_) message += text(failure);
    auto length = static_cast<int>(message.size());
    MPI_Bcast(&length, 1, MPI_INT, first, MPI_COMM_WORLD);
    message.resize(static_cast<std::size_t>(length));
    MPI_Bcast(message.data(), length, MPI_CHAR, first, MPI_COMM_WORLD);
    if (failure) std::rethrow_exception(failure);
    throw std::runtime_error(message);
  }

  std::optional<Violation> gather(const Execution& run, Accounts& accounts) override {
    if (run.disturbed()) return System::gather(run, accounts);  // the books are those of all ranks already
    share_failure(run.failure());
    const Accounts own = run.accounts();
    MPI_Allreduce(&own.executed, &accounts.executed, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&own.flops, &accounts.flops, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (auto violation = first_violation(run)) return violation;
    if (run.validation() == Validation::off) return run.verify_number(accounts.executed);
    for (std::size_t g = 0; g < run.graphs().size(); ++g) {
      const std::vector<std::uint32_t> counts = sum(run.ledger(g).counts());
      std::optional<Violation> wrong;
      if (rank_ == 0) wrong = run.ledger(g).compare(run.graphs()[g], counts);
      if (share_violation(wrong, 0)) return wrong;
    }
    return std::nullopt;
  }

  double total(double own) override {
    double all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
  }

  std::int64_t peak_rss_bytes() override {
    const std::int64_t own = System::peak_rss_bytes();
    std::int64_t most = 0;
    MPI_Allreduce(&own, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    return most;
  }

 protected:
  int rank() const noexcept { return rank_; }
  int ranks() const noexcept override { return ranks_; }
  int rank_on_node() const noexcept { return rank_on_node_; }
  /// The processors of this rank: an equal share of its node's, or one that other ranks have, too.
  std::vector<int> own_processors() const {
    const std::vector<int> all = taskgrain::cores();
    const auto number = static_cast<int>(all.size()), share = std::max(1, number / ranks_on_node_);
    const auto first = all.begin() + rank_on_node() * share % number;
    return {first, first + share};
  }

  /// The columns of a rank: blocks whose sizes differ by one at most.
  Interval columns(const Graph& graph, int rank) const noexcept {
    const std::int64_t width = graph.width(), share = width / ranks_, rest = width % ranks_;
    const auto first = [&](std::int64_t r) { return share * r + std::min(r, rest); };
    return {first(rank), first(rank + 1) - 1};
  }

  /// All ranks' bindings, on every rank.
  std::vector<std::vector<int>> gather_binding(const std::vector<std::vector<int>>& own) const {
    std::string text;
    for (const auto& worker : own) {
      for (const int processor : worker) text += std::to_string(processor) + ",";
      text += ";";
    }
    const auto length = static_cast<int>(text.size());
    std::vector<int> lengths(static_cast<std::size_t>(ranks_)), starts(lengths.size() + 1, 0);
    MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (std::size_t r = 0; r < lengths.size(); ++r) starts[r + 1] = starts[r] + lengths[r];
    std::string all(static_cast<std::size_t>(starts.back()), ' ');
    MPI_Allgatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, MPI_COMM_WORLD);
    std::vector<std::vector<int>> binding;
    for (std::size_t at = 0; at < all.size(); ++at) {
      auto& worker = binding.emplace_back();
      for (; all[at] != ';'; ++at) {
        const std::size_t comma = all.find(',', at);
        worker.push_back(std::stoi(all.substr(at, comma - at)));
        at = comma;
      }
    }
    return binding;
  }

 private:
  static std::string text(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      return error.what();
    } catch (...) {
      return "an exception that is no std::exception";
    }
  }

  /// Between runs a rank must not take a core from whatever else is measured: it looks now and then.
  template <typename Start>
  void wait_idly(Start start) const {
    MPI_Request request = MPI_REQUEST_NULL;
    start(&request);
    for (int done = 0;;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done != 0) return;
      const timespec nap{0, 200'000};
      nanosleep(&nap, nullptr);
    }
  }

  std::optional<Violation> first_violation(const Execution& run) const {
    auto violation = run.violation();
    const std::int64_t own = violation ? violation->step : std::numeric_limits<std::int64_t>::max();
    std::int64_t step = 0;
    MPI_Allreduce(&own, &step, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    const int mine = violation && own == step ? rank_ : ranks_;
    int first = 0;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first < ranks_) share_violation(violation, first);
    return first < ranks_ ? violation : std::nullopt;
  }

  /// Gives all ranks what `root` has found. \returns whether there is a violation
  bool share_violation(std::optional<Violation>& violation, int root) const {
    static_assert(std::is_trivially_copyable_v<Violation>);
    int found = violation.has_value() ? 1 : 0;
    MPI_Bcast(&found, 1, MPI_INT, root, MPI_COMM_WORLD);
    if (found == 0) return false;
    if (!violation) violation.emplace();
    MPI_Bcast(&*violation, sizeof(Violation), MPI_BYTE, root, MPI_COMM_WORLD);
    return true;
  }

  /// Element-wise over all ranks, on rank 0.
  static std::vector<std::uint32_t> sum(std::vector<std::uint32_t> counts) {
    std::vector<std::uint32_t> total(counts.size());
    constexpr std::size_t piece = std::size_t{1} << 24;  // counts of MPI are ints
    for (std::size_t at = 0; at < counts.size(); at += piece)
      MPI_Reduce(counts.data() + at, total.data() + at, static_cast<int>(std::min(piece, counts.size() - at)),
                 MPI_UINT32_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return total;
  }

  int rank_ = 0, ranks_ = 1, rank_on_node_ = 0, ranks_on_node_ = 1, nodes_ = 1;
};

}  // namespace taskgrain
