#include "taskgrain/rt/communicator.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "messenger.hpp"
#include "segment.hpp"
#include "shared_transport.hpp"

namespace taskgrain::rt {

namespace {

/// A number that taskgrain-run has put into the environment. \throws UsageError
std::optional<int> number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  int number = 0;
  const char* const end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, number);
  if (error != std::errc() || at != end || number < 0)
    throw UsageError(std::string(variable) + " is '" + text +
                     "', allowed are numbers from 0, as taskgrain-run sets it");
  return number;
}

std::unique_ptr<detail::Messages> join_launched(const CommunicatorOptions& options) {
  const std::string transport = detail::chosen_transport(options);
  if (transport == "mpi")
    throw UsageError("transport is mpi, which needs rt::MpiCommunicator; allowed here are auto, shared");
  for (const char* const variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* const ranks = std::getenv(variable);
        ranks != nullptr && std::string_view(ranks) != "1" && std::getenv("TASKGRAIN_RANK") == nullptr)
      throw UsageError("this program was started by mpirun, as " + std::string(ranks) +
                       " ranks; a Communicator needs taskgrain-run, and for mpirun there is MpiCommunicator");
  const auto rank = number_of("TASKGRAIN_RANK"), segment = number_of("TASKGRAIN_SEGMENT");
  if (rank.has_value() != segment.has_value())
    throw UsageError(std::string(rank ? "TASKGRAIN_RANK is set and TASKGRAIN_SEGMENT is not"
                                      : "TASKGRAIN_SEGMENT is set and TASKGRAIN_RANK is not") +
                     "; taskgrain-run sets both, and for a program alone there is neither");
  std::unique_ptr<detail::Transport> shared;
  if (rank && segment)
    shared = std::make_unique<detail::SharedTransport>(std::make_unique<detail::Segment>(*segment, *rank));
  if (shared != nullptr && shared->ranks() == 1) shared = nullptr;
  return std::make_unique<detail::Messenger>(std::move(shared), options);
}

}  // namespace

std::string detail::chosen_transport(const CommunicatorOptions& options) {
  const char* const variable = std::getenv("TASKGRAIN_TRANSPORT");
  const bool by_variable = options.transport == "auto" && variable != nullptr;
  const std::string transport = by_variable ? variable : options.transport;
  for (const char* const allowed : {"auto", "shared", "mpi"})
    if (transport == allowed) return transport;
  throw UsageError(std::string(by_variable ? "TASKGRAIN_TRANSPORT" : "transport") + " is '" + transport +
                   "', allowed are auto, shared, mpi");
}

Communicator::Communicator(CommunicatorOptions options) : Communicator(join_launched(options)) {}

Communicator::Communicator(std::unique_ptr<detail::Messages> messages) : messages_(std::move(messages)) {
  detail::count_forks();
}

Communicator::~Communicator() {
  if (forks_ != detail::forks.load()) detail::leave_to_parent(messages_);
}

}  // namespace taskgrain::rt
