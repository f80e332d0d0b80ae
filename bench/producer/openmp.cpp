/// The tasks of one `single`, as every tutorial has it.

#include <omp.h>

#include "producer.hpp"

namespace producer {

void start() { omp_set_num_threads(2); }
void stop() {}

void produce(long tasks, long turns) {
#pragma omp parallel
#pragma omp single
  {
    be_the_producer();
    for (long k = 0; k < tasks; ++k)
#pragma omp task firstprivate(turns)
      run_task(turns);
  }
}

}  // namespace producer
