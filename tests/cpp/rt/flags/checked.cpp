#include "taskgrain/rt.hpp"

bool default_check();

bool default_check() { return taskgrain::rt::RuntimeOptions{.workers = 1}.check; }
