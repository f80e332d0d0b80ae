// Package taskgrain is for drivers in Go: System over the C interface of taskgrain/driver.h.
package taskgrain

/*
#cgo CFLAGS: -I${SRCDIR}/../../include
#cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
#include <stdlib.h>
#include <string.h>
#include "taskgrain/driver.h"

int taskgrain_go_binding(void*, int, int*, int);
int taskgrain_go_prepare(void*, tg_run*);
int taskgrain_go_execute(void*, tg_run*);

// With its words: the next call of the goroutine may run in another thread, which has errors of its own.
typedef struct failure {
	int code;
	char* why;
} failure;

static inline failure of(int code) {
	const failure found = {code, code == 0 ? NULL : strdup(tg_error())};
	return found;
}
static inline failure execute_point(tg_run* run, int64_t worker, int64_t g, int64_t step, int64_t point, void* output,
                                    void** inputs, int64_t n_inputs) {
	return of(tg_execute_point(run, worker, g, step, point, output, (const void* const*)inputs, n_inputs));
}
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"unsafe"
)

// ErrMemory is what Prepare returns for graphs that do not fit.
var ErrMemory = errors.New("not enough memory for these graphs")

// System is a system under the ruler. Init gives it to the program.
type System interface {
	Name() string
	// Prepare prepares a run, once for all its repeats; not timed.
	Prepare(graphs []Graph) error
	// Execute executes every task of every graph once; timed.
	Execute() error
}

// Memory is C's, which outputs must be: C must not be given Go's pointers to memory of Go.
type Memory = unsafe.Pointer

// Allocate returns zeroed memory, which stays until Free.
func Allocate(number, bytes int) (Memory, error) {
	memory := C.calloc(C.size_t(number), C.size_t(bytes))
	if memory == nil {
		return nil, ErrMemory
	}
	return memory, nil
}

// Free gives memory back.
func Free(memory Memory) { C.free(memory) }

// Graph is a graph of a run; any goroutine may use it, until the next Prepare.
type Graph struct {
	run   *C.tg_run
	index C.int64_t
}

func (g Graph) Steps() int       { return int(C.tg_steps(g.run, g.index)) }
func (g Graph) Width() int       { return int(C.tg_width(g.run, g.index)) }
func (g Graph) OutputBytes() int { return int(C.tg_output_bytes(g.run, g.index)) }

// Shape tells steps apart: those of the same shape have the same points and dependences.
type Shape struct {
	First, Last    int // points
	before, beyond int
	set            int
}

// Shape of a step.
func (g Graph) Shape(step int) Shape {
	now, before := C.tg_points(g.run, g.index, C.int64_t(step)), C.tg_points(g.run, g.index, C.int64_t(step-1))
	set := C.tg_dependence_set(g.run, g.index, C.int64_t(step))
	return Shape{int(now.first), int(now.last), int(before.first), int(before.last), int(set)}
}

// Deps are the points of the step before that a task depends on, in increasing order.
func (g Graph) Deps(step, point int) []int {
	deps := make([]C.int64_t, 64)
	ask := func() int {
		return int(C.tg_deps(g.run, g.index, C.int64_t(step), C.int64_t(point), &deps[0], C.int64_t(len(deps))))
	}
	count := ask()
	if count > len(deps) {
		deps = make([]C.int64_t, count)
		ask()
	}
	points := make([]int, count)
	for k := range points {
		points[k] = int(deps[k])
	}
	return points
}

// ExecutePoint executes a task. No two at a time may have the same worker, a small number. The inputs are in increasing
// order of points. If the list of them is C's memory, too, the call need not look for pointers of Go in it.
func (g Graph) ExecutePoint(worker, step, point int, output Memory, inputs []Memory) error {
	var first *Memory
	if len(inputs) > 0 {
		first = &inputs[0]
	}
	done := C.execute_point(g.run, C.int64_t(worker), g.index, C.int64_t(step), C.int64_t(point), output,
		first, C.int64_t(len(inputs)))
	return failed(done)
}

func failed(done C.failure) error {
	if done.code == 0 {
		return nil
	}
	defer C.free(unsafe.Pointer(done.why))
	return errors.New(C.GoString(done.why))
}

var (
	start  func(processors int) System
	system System
)

// Init says how to start the system, on a number of processors. The process keeps to these; no thread of Go has one of
// its own.
func Init(begin func(processors int) System) { start = begin }

//export taskgrain_go_drive
func taskgrain_go_drive(argc C.int, argv **C.char) C.int {
	processors := int(C.tg_processors(nil, 0))
	runtime.GOMAXPROCS(processors)
	system = start(processors)
	return C.tg_drive(argc, argv, &C.tg_system{
		name:     C.CString(system.Name()),
		version:  C.CString("Go " + strings.TrimPrefix(runtime.Version(), "go")),
		compiler: C.CString("Go " + strings.TrimPrefix(runtime.Version(), "go")),
		flags:    C.CString(flags()),
		cores:    C.int(runtime.GOMAXPROCS(0)),
		binding:  (*[0]byte)(C.taskgrain_go_binding),
		prepare:  (*[0]byte)(C.taskgrain_go_prepare),
		execute:  (*[0]byte)(C.taskgrain_go_execute),
	})
}

// flags are those of `go build`, and what it was told of the processor.
func flags() string {
	var words []string
	if built, known := debug.ReadBuildInfo(); known {
		for _, one := range built.Settings {
			if strings.HasPrefix(one.Key, "-") || strings.HasPrefix(one.Key, "GOA") {
				words = append(words, one.Key+"="+one.Value)
			}
		}
	}
	return strings.Join(words, " ")
}

//export taskgrain_go_binding
func taskgrain_go_binding(_ unsafe.Pointer, worker C.int, out *C.int, capacity C.int) (count C.int) {
	if int(worker) >= runtime.GOMAXPROCS(0) {
		return -1
	}
	var observed sync.WaitGroup
	observed.Add(1)
	go func() {
		defer observed.Done()
		count = C.tg_binding_of_this_thread(out, capacity)
	}()
	observed.Wait()
	return count
}

//export taskgrain_go_prepare
func taskgrain_go_prepare(_ unsafe.Pointer, run *C.tg_run) C.int {
	return answer(func() error {
		graphs := make([]Graph, C.tg_graphs(run))
		for index := range graphs {
			graphs[index] = Graph{run, C.int64_t(index)}
		}
		return system.Prepare(graphs)
	})
}

//export taskgrain_go_execute
func taskgrain_go_execute(unsafe.Pointer, *C.tg_run) C.int { return answer(system.Execute) }

// answer makes a code of what a function returns. No panic may go on into C.
func answer(body func() error) (code C.int) {
	defer func() {
		if panicked := recover(); panicked != nil {
			code = fail(fmt.Errorf("panic: %v", panicked))
		}
	}()
	if err := body(); err != nil {
		return fail(err)
	}
	return 0
}

func fail(err error) C.int {
	why := C.CString(err.Error())
	defer C.free(unsafe.Pointer(why))
	if errors.Is(err, ErrMemory) {
		return C.tg_fail(2, why)
	}
	return C.tg_fail(3, why)
}
