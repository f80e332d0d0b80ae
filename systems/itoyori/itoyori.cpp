/// Fork-join over the points of each step, by whichever rank takes the work. All outputs lie in a global address space.
///
/// A task checks out what it reads and writes. Only fork and join are fences, so each step ends in a join. Two steps of
/// outputs suffice. The root task can carry no pointers from rank to rank: each finds what tasks need in `here`.

#include <sys/mman.h>
#include <sys/personality.h>

#include <new>
#include <string>
#include <vector>

#include "shared_memory.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/outputs.hpp"
#include "taskgrain/process_system.hpp"
#include "taskgrain/step_tasks.hpp"

namespace {

using namespace taskgrain;
using Bytes = ityr::ori::global_ptr<std::byte>;

/// A graph whose outputs of even and odd steps lie in global memory.
struct Part {
  const Graph& graph;
  std::size_t stride, offset;
  Bytes memory{};

  std::size_t bytes() const { return 2 * static_cast<std::size_t>(graph.width()) * stride; }
  Bytes at(std::int64_t step, std::int64_t point) const {
    return memory + static_cast<std::ptrdiff_t>(stride) * ((step & 1) * graph.width() + point);
  }
};

/// What the tasks of this rank need.
struct {
  Execution* run;
  ThreadContext* context;
  std::vector<Part> parts;
  std::vector<ityr::checkout_span<std::byte, ityr::checkout_mode::read_t>> read;  // space
  std::vector<const std::byte*> inputs;                                           // space
} here;

void execute_task(std::size_t g, std::int64_t step, std::int64_t point) {
  const Part& part = here.parts[g];
  const std::size_t bytes = part.graph.output_bytes();
  // All at once, so that what comes from other nodes comes together.
  for (const Interval deps : part.graph.deps(step, point)) {
    const std::size_t size = static_cast<std::size_t>(deps.size() - 1) * part.stride + bytes;
    here.read.emplace_back().checkout_nb(part.at(step - 1, deps.first), size, ityr::checkout_mode::read);
  }
  ityr::checkout_span<std::byte, ityr::checkout_mode::write_t> output;
  output.checkout_nb(part.at(step, point), bytes, ityr::checkout_mode::write);
  ityr::ori::checkout_complete();
  for (const auto& span : here.read)
    for (std::size_t at = 0; at < span.size(); at += part.stride) here.inputs.push_back(span.data() + at);
  try {
    here.run->execute_point(*here.context, g, step, point, output.data(), here.inputs);
  } catch (...) {
    here.run->book_failure(*here.context, std::current_exception());
  }
  here.inputs.clear();
  here.read.clear();
}

class Itoyori final : public ProcessSystem {
 public:
  Itoyori() : ProcessSystem(MPI_THREAD_SINGLE) {
    pin_this_thread(own_processors()[0]);
    if ((personality(0xffffffff) & ADDR_NO_RANDOMIZE) == 0)
      throw std::runtime_error("the stacks of tasks move from rank to rank: start it with setarch --addr-no-randomize");
    long job = getpid();
    MPI_Bcast(&job, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    shared_memory::job = std::to_string(job);
    ityr::init();
    forget_names();
  }
  ~Itoyori() override {
    release();
    ityr::fini();
  }

  std::string name() const override { return "itoyori"; }
  std::string version() const override { return ITOYORI_VERSION ", " + ProcessSystem::version(); }
  int cores() const override { return ranks(); }
  std::vector<std::vector<int>> binding() override { return gather_binding({binding_of_this_thread()}); }

  void prepare(Execution& run) override {
    release();
    if (ranks() > 1) run.distribute();
    here.run = &run;
    here.context = &run.context(0);
    std::size_t bytes = 0;
    for (const Graph& graph : run.graphs()) {
      const Part& part = here.parts.emplace_back(graph, Outputs::stride_of(graph, 0), bytes);
      if (part.stride > SIZE_MAX / 8 / static_cast<std::size_t>(graph.width()) - bytes) throw std::bad_alloc();
      bytes += part.bytes();
    }
    together([&] { check_memory(bytes); });
    memory_ = ityr::ori::malloc_coll<std::byte>(bytes);
    forget_names();
    for (Part& part : here.parts) part.memory = memory_ + static_cast<std::ptrdiff_t>(part.offset);
    ityr::root_exec([memory = memory_, bytes] {
      ityr::fill(ityr::execution::parallel_policy(65536), memory, memory + static_cast<std::ptrdiff_t>(bytes),
                 std::byte{0xff});
    });
  }

  void execute(Execution& run) override {
    ityr::root_exec([steps = run.most_steps()] {
      for (std::int64_t step = 0; step < steps; ++step) {
        const StepTasks tasks(here.run->graphs(), step);
        ityr::for_each(ityr::execution::par, ityr::count_iterator(std::int64_t{0}), ityr::count_iterator(tasks.size()),
                       [step](std::int64_t number) {
                         const auto [graph, point] = StepTasks(here.run->graphs(), step)[number];
                         execute_task(graph, step, point);
                       });
      }
    });
  }

 private:
  /// Itoyori ends the process where there is no memory.
  static void check_memory(std::size_t bytes) {
    if (bytes > shared_memory::free_bytes())
      throw Unsupported("itoyori: outputs of " + std::to_string(bytes) + " bytes, more memory than /dev/shm has");
    // It maps the memory twice.
    void* space = mmap(nullptr, 3 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) throw std::bad_alloc();
    munmap(space, 3 * bytes);
  }
  void forget_names() {
    barrier();
    shared_memory::forget_names();
  }
  void release() {
    here.parts.clear();
    if (memory_) ityr::ori::free_coll(memory_);
    memory_ = nullptr;
  }

  Bytes memory_;
};

}  // namespace

int main(int argc, char** argv) { return taskgrain::drive<Itoyori>(argc, argv); }
