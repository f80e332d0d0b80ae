#pragma once

/// One producer: a thread makes many tasks that need nothing, and two threads run them. Each peer is a program of its
/// own, because two OpenMP libraries cannot be in one process.

namespace producer {

/// Starts two threads, and makes and runs `tasks` tasks on them that call `run_task(turns)`. Each peer has its own.
void start();
void produce(long tasks, long turns);
void stop();

/// Says that the calling thread is the one that makes the tasks.
void be_the_producer();
/// The work of a task, counted if the producer runs it.
void run_task(long turns);

}  // namespace producer
