/// Messages of MPI between two ranks against their size: latency and rate.
///
///     mpirun -n 2 taskgrain-messages-mpi        one line of JSON for each size on stdout

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <vector>

#include "measure.hpp"

namespace {

using namespace taskgrain::bench;

class Pair {
 public:
  explicit Pair(int rank) : rank_(rank), out_(most_bytes, std::byte{1}), in_(window * most_bytes, std::byte{2}) {}

  int rank() const { return rank_; }
  const char* name() const { return "mpi"; }
  void barrier() const { MPI_Barrier(MPI_COMM_WORLD); }

  /// A message there and one back.
  void ping_pong(std::size_t bytes) {
    if (rank_ == 0) send(bytes);
    MPI_Recv(in_.data(), static_cast<int>(bytes), MPI_BYTE, other(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank_ == 1) send(bytes);
  }
  /// Many from rank 0 to rank 1, and one back when they are there.
  void stream(std::size_t bytes) {
    std::array<MPI_Request, window> requests;
    for (std::size_t k = 0; k < window; ++k)
      if (rank_ == 0)
        MPI_Isend(out_.data(), static_cast<int>(bytes), MPI_BYTE, other(), 0, MPI_COMM_WORLD, &requests[k]);
      else
        MPI_Irecv(in_.data() + k * bytes, static_cast<int>(bytes), MPI_BYTE, other(), 0, MPI_COMM_WORLD, &requests[k]);
    MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
    if (rank_ == 0)
      MPI_Recv(in_.data(), 4, MPI_BYTE, other(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(out_.data(), 4, MPI_BYTE, other(), 1, MPI_COMM_WORLD);
  }

 private:
  int other() const { return 1 - rank_; }
  void send(std::size_t bytes) { MPI_Send(out_.data(), static_cast<int>(bytes), MPI_BYTE, other(), 0, MPI_COMM_WORLD); }

  const int rank_;
  std::vector<std::byte> out_, in_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 1 || ranks != 2) {
    if (rank == 0) std::fprintf(stderr, "usage: mpirun -n 2 taskgrain-messages-mpi; ranks: %d\n", ranks);
    MPI_Finalize();
    return 2;
  }
  Pair pair(rank);
  for (const std::string_view what : {"latency", "rate"})
    for (std::size_t bytes = 0; bytes <= most_bytes; bytes = next_size(bytes)) measure(pair, what, bytes);
  MPI_Finalize();
}
