/// Runs an MPI driver, as it is, on the nodes of a cluster that SimGrid simulates. Each rank is an actor in this one
/// process. What the platform's file says takes simulated time, and nothing else does, so that a run repeats to the
/// digit: messages, a core's work, and what the driver itself costs for each task and each byte of its output.

#include <smpi/smpi.h>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "taskgrain/simulation.hpp"

/// The driver's `main`, by the name that it is compiled with.
int driver(int argc, char** argv);

namespace {

namespace s4u = simgrid::s4u;

double flops = 0, task_seconds = 0, byte_seconds = 0;

double property(const s4u::Host& host, const char* name) {
  const char* const text = host.get_property(name);
  if (text == nullptr) throw std::invalid_argument(std::string("the platform's nodes have no property ") + name);
  return std::stod(text);
}

constexpr taskgrain::Simulation in_simgrid{
    .now = s4u::Engine::get_clock, .execute = [](double work, std::size_t output_bytes) {
      s4u::this_actor::sleep_for(work / flops + task_seconds + byte_seconds * static_cast<double>(output_bytes));
    }};

/// One rank on each of `cores` of each of `nodes`, those of a node after each other.
std::vector<s4u::Host*> hosts_of(const s4u::Engine& engine, std::size_t nodes, std::size_t cores) {
  if (nodes > engine.get_host_count())
    throw std::invalid_argument(std::to_string(nodes) + " nodes are asked for; the platform has " +
                                std::to_string(engine.get_host_count()));
  std::vector<s4u::Host*> hosts;
  for (std::size_t rank = 0; rank < nodes * cores; ++rank)
    hosts.push_back(engine.host_by_name("node-" + std::to_string(rank / cores)));
  return hosts;
}

int simulate(int argc, char** argv) {
  // The host's own time does not count, and messages take what links say, not what a fit of another network adds. The
  // barrier is Open MPI's for ranks in any number: a message from each rank in each of log2(ranks) rounds. SMPI's own
  // lets one rank hear all others in turn, which takes twice as long with 128 ranks; the barrier is most of what
  // mpi_bulk takes. What is left of a time counts as nothing below SimGrid's precision, which is 1 ns unless it is set:
  // tasks take 17 ns. 8192 stacks of the usual 8 MiB are 64 GiB.
  std::vector<std::string> options{argv[0],
                                   "--log=root.thresh:warning",
                                   "--cfg=smpi/simulate-computation:no",
                                   "--cfg=smpi/barrier:ompi_bruck",
                                   "--cfg=network/model:CM02",
                                   "--cfg=network/crosstraffic:no",
                                   "--cfg=surf/precision:1e-13",
                                   "--cfg=contexts/stack-size:512"};
  std::vector<char*> words;
  for (std::string& option : options) words.push_back(option.data());
  auto count = static_cast<int>(words.size());
  smpi_init_options();  // so that the engine knows those of MPI
  s4u::Engine engine(&count, words.data());
  SMPI_init();
  engine.load_platform(argv[1]);
  const std::vector<s4u::Host*> hosts = hosts_of(engine, std::stoul(argv[2]), std::stoul(argv[3]));
  flops = hosts[0]->get_speed();
  task_seconds = property(*hosts[0], "task_seconds");
  byte_seconds = property(*hosts[0], "byte_seconds");
  taskgrain::simulation = &in_simgrid;

  std::vector<char*> own{argv[0]};
  own.insert(own.end(), argv + 4, argv + argc + 1);  // and the null at the end
  int code = 0;
  SMPI_app_instance_register("driver", nullptr, static_cast<int>(hosts.size()));
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const s4u::ActorPtr actor = s4u::Actor::init("driver", hosts[rank]);
    actor->set_property("instance_id", "driver");
    actor->set_property("rank", std::to_string(rank));
    actor->start([&] { code = std::max(code, driver(argc - 3, own.data())); });
  }
  engine.run();
  SMPI_finalize();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s PLATFORM NODES CORES [flags of the driver]\n", argv[0]);
    return 2;
  }
  try {
    return simulate(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}
