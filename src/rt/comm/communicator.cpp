#include "taskgrain/rt/communicator.hpp"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "messenger.hpp"
#include "segment.hpp"
#include "shared_transport.hpp"
#include "taskgrain/rt/detail/worker.hpp"

namespace taskgrain::rt {

namespace {

/// Nothing if the text is no number.
std::optional<int> parsed(std::string_view text) {
  int number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && at == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// A number that taskgrain-run has put into the environment. \throws UsageError
std::optional<int> number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::optional<int> number = parsed(text);
  if (number.value_or(-1) < 0)
    throw UsageError(std::string(variable) + " is '" + text +
                     "', allowed are numbers from 0, as taskgrain-run sets it");
  return number;
}

/// Environment variables of other launchers. If the number of processes is above 1, or the number of this process above
/// 0, the launcher has started several processes. Shells in an allocation (salloc, sbatch) have none of these.
constexpr struct {
  const char* variable;
  int of_one;        // the largest value with which there may be only one process
  const char* with;  // the variable counts only if this one is set, too; null: always
} signs_of_ranks[] = {
    {"OMPI_COMM_WORLD_SIZE", 1, nullptr},         // mpirun of Open MPI, jsrun
    {"PMI_SIZE", 1, nullptr},                     // mpiexec of MPICH and its kin, srun --mpi=pmi2
    {"MV2_COMM_WORLD_SIZE", 1, nullptr},          // MVAPICH2
    {"PMIX_RANK", 0, "PMIX_NAMESPACE"},           // prterun, srun --mpi=pmix
    {"SLURM_STEP_NUM_TASKS", 1, "SLURM_PROCID"},  // srun
    {"FLUX_JOB_SIZE", 1, nullptr},                // flux run
    {"PALS_RANKID", 0, nullptr},                  // mpiexec and aprun of Cray
    {"JSM_NAMESPACE_SIZE", 1, nullptr},           // jsrun
};

/// \throws UsageError  another launcher has started several processes
void check_launcher() {
  for (const auto& [variable, of_one, with] : signs_of_ranks) {
    const char* const text = std::getenv(variable);
    if (text == nullptr || (with != nullptr && std::getenv(with) == nullptr)) continue;
    if (parsed(text).value_or(0) <= of_one) continue;
    throw UsageError("another launcher has started this program as several processes (" + std::string(variable) +
                     " is " + text +
                     "), each of which would be rank 0 of 1. A Communicator needs taskgrain-run; for "
                     "mpirun and srun there is MpiCommunicator. If each process is to be alone, set transport, or the "
                     "environment variable TASKGRAIN_TRANSPORT, to alone");
  }
}

std::unique_ptr<detail::Messages> join_launched(const CommunicatorOptions& options) {
  const std::string transport = detail::chosen_transport(options);
  if (transport == "mpi")
    throw UsageError("transport is mpi, which needs rt::MpiCommunicator; allowed here are auto, shared, alone");
  if (transport == "alone") return std::make_unique<detail::Messenger>(nullptr, options);
  if (std::getenv("TASKGRAIN_RANK") == nullptr) check_launcher();
  const auto rank = number_of("TASKGRAIN_RANK"), segment = number_of("TASKGRAIN_SEGMENT");
  if (rank.has_value() != segment.has_value())
    throw UsageError(std::string(rank ? "TASKGRAIN_RANK is set and TASKGRAIN_SEGMENT is not"
                                      : "TASKGRAIN_SEGMENT is set and TASKGRAIN_RANK is not") +
                     "; taskgrain-run sets both, and for a program alone there is neither");
  std::unique_ptr<detail::Transport> shared;
  if (rank && segment)
    shared = std::make_unique<detail::SharedTransport>(std::make_unique<detail::Segment>(*segment, *rank));
  if (shared != nullptr && shared->ranks() == 1) {
    shared->leave();
    shared = nullptr;
  }
  return std::make_unique<detail::Messenger>(std::move(shared), options);
}

}  // namespace

std::string detail::chosen_transport(const CommunicatorOptions& options) {
  const char* const variable = std::getenv("TASKGRAIN_TRANSPORT");
  const bool by_variable = options.transport == "auto" && variable != nullptr;
  const std::string transport = by_variable ? variable : options.transport;
  for (const char* const allowed : {"auto", "shared", "mpi", "alone"})
    if (transport == allowed) return transport;
  throw UsageError(std::string(by_variable ? "TASKGRAIN_TRANSPORT" : "transport") + " is '" + transport +
                   "', allowed are auto, shared, mpi, alone");
}

Communicator::Communicator(CommunicatorOptions options) : Communicator(join_launched(options)) {}

Communicator::Communicator(std::unique_ptr<detail::Messages> messages) : messages_(std::move(messages)) {
  detail::count_forks();
}

Communicator::Gathered Communicator::exchange(const char* call, const char* type, const int* root,
                                              std::span<const std::byte> bytes) {
  std::string named = call;
  if (root != nullptr) named += " with root " + std::to_string(*root);
  const bool exists = root == nullptr || (*root >= 0 && *root < ranks());
  const bool to_root =
      call == std::string_view("reduce");  // a reduction sends to its root alone; other calls send the same to all
  Gathered to_each(to_root ? static_cast<std::size_t>(ranks()) : 1);
  if (exists) to_each[to_root ? static_cast<std::size_t>(*root) : 0].assign(bytes.begin(), bytes.end());
  Gathered all = messages_->exchange(to_each, named + " of " + type);
  // After the exchange, so that all ranks see the same mistake.
  if (!exists) throw UsageError(named + ", allowed are 0 to " + std::to_string(ranks() - 1));
  return all;
}

Communicator::~Communicator() {
  const bool in_a_task = detail::Worker::current() != nullptr;  // as when it calls `exit`
  if (forks_ != detail::forks.load() || (in_a_task && messages_->in_use())) detail::leave_alive(std::move(messages_));
}

}  // namespace taskgrain::rt
