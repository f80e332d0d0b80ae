// A goroutine for each column of each graph, and a channel for each pair of columns of which one reads the other: a
// goroutine receives its inputs, executes a task, and sends the output to those that read it.
package main

import (
	"sync"
	"sync/atomic"
	"taskgrain"
	"unsafe"
)

// Outputs that a column has: it waits until one of them has been read by all.
const outputs = 4

// message is an output on its way to its readers, of which the last gives it back to its column.
type message struct {
	output  taskgrain.Memory
	readers atomic.Int32
	unused  chan<- *message
}

func (m *message) release() {
	if m.readers.Add(-1) == 0 {
		m.unused <- m
	}
}

// plan is what the steps of a shape have in common.
type plan struct {
	shape   taskgrain.Shape
	inputs  [][]chan *message // by point; nil is the point's own output
	readers [][]chan *message // of the outputs of the step before, by point
}

type part struct {
	graph   taskgrain.Graph
	plans   []*plan // by step
	columns []column
	memory  []taskgrain.Memory // to be freed
}

type column struct {
	*part
	point  int
	unused chan *message
	inputs []taskgrain.Memory
}

type goroutines struct {
	parts   []*part
	workers chan int // those that execute no task
	failure atomic.Pointer[error]
}

func (p *part) prepare() error {
	const line, pointer = 64, int(unsafe.Sizeof(uintptr(0))) // no two outputs share a cache line
	width, stride := p.graph.Width(), (p.graph.OutputBytes()+line-1)/line*line
	output, err := p.allocate(width*outputs, stride)
	if err != nil {
		return err
	}
	most := p.compile()
	inputs, err := p.allocate(width*most, pointer)
	if err != nil {
		return err
	}
	p.columns = make([]column, width)
	for point := range p.columns {
		unused := make(chan *message, outputs)
		for k := 0; k < outputs; k++ {
			unused <- &message{output: unsafe.Add(output, (point*outputs+k)*stride), unused: unused}
		}
		own := (*taskgrain.Memory)(unsafe.Add(inputs, point*most*pointer))
		p.columns[point] = column{p, point, unused, unsafe.Slice(own, most)}
	}
	return nil
}

func (p *part) allocate(number, bytes int) (taskgrain.Memory, error) {
	memory, err := taskgrain.Allocate(number, bytes)
	p.memory = append(p.memory, memory)
	return memory, err
}

func (p *part) free() {
	for _, memory := range p.memory {
		taskgrain.Free(memory)
	}
}

// compile makes the plans and returns the most inputs of a task.
func (p *part) compile() (most int) {
	width, channels, plans := p.graph.Width(), map[[2]int]chan *message{}, map[taskgrain.Shape]*plan{}
	for step := 0; step < p.graph.Steps(); step++ {
		shape := p.graph.Shape(step)
		if plans[shape] == nil {
			made := &plan{shape, make([][]chan *message, width), make([][]chan *message, width)}
			for point := shape.First; point <= shape.Last; point++ {
				for _, dep := range p.graph.Deps(step, point) {
					edge := [2]int{dep, point}
					if channels[edge] == nil && dep != point {
						channels[edge] = make(chan *message, outputs)
					}
					made.inputs[point] = append(made.inputs[point], channels[edge])
					made.readers[dep] = append(made.readers[dep], channels[edge])
				}
				if inputs := len(made.inputs[point]); inputs > most {
					most = inputs
				}
			}
			plans[shape] = made
		}
		p.plans = append(p.plans, plans[shape])
	}
	return most
}

func (c *column) run(s *goroutines) {
	var own *message
	var held []*message
	for step, now := range c.plans {
		if c.point < now.shape.First || now.shape.Last < c.point {
			continue
		}
		held, c.inputs = held[:0], c.inputs[:0]
		for _, from := range now.inputs[c.point] {
			input := own
			if from != nil {
				input = <-from
			}
			held = append(held, input)
			c.inputs = append(c.inputs, input.output)
		}
		own = <-c.unused
		s.execute(c, step, own)
		for _, input := range held {
			input.release()
		}
		var readers []chan *message
		if step+1 < len(c.plans) {
			readers = c.plans[step+1].readers[c.point]
		}
		own.readers.Store(int32(len(readers)) + 1) // and this column
		for _, to := range readers {
			if to != nil {
				to <- own
			}
		}
		own.release()
	}
}

// execute executes a task, or none if one has failed: its readers get the message all the same, so that all end.
func (s *goroutines) execute(c *column, step int, output *message) {
	if s.failure.Load() != nil {
		return
	}
	// What runs in C counts for Go as waiting: it would let another goroutine run meanwhile, also if no core is free.
	worker := <-s.workers
	err := c.graph.ExecutePoint(worker, step, c.point, output.output, c.inputs)
	s.workers <- worker
	if err != nil {
		s.failure.Store(&err)
	}
}

func (s *goroutines) Name() string { return "goroutines" }

func (s *goroutines) Prepare(graphs []taskgrain.Graph) error {
	for _, p := range s.parts {
		p.free()
	}
	s.parts = nil
	for _, graph := range graphs {
		p := &part{graph: graph}
		s.parts = append(s.parts, p)
		if err := p.prepare(); err != nil {
			return err
		}
	}
	return nil
}

func (s *goroutines) Execute() error {
	var running sync.WaitGroup
	s.failure.Store(nil)
	for _, p := range s.parts {
		running.Add(len(p.columns))
		for k := range p.columns {
			go func(c *column) {
				defer running.Done()
				c.run(s)
			}(&p.columns[k])
		}
	}
	running.Wait()
	if failure := s.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}

func init() {
	taskgrain.Init(func(processors int) taskgrain.System {
		s := &goroutines{workers: make(chan int, processors)}
		for worker := 0; worker < processors; worker++ {
			s.workers <- worker
		}
		return s
	})
}

func main() {} // a library has none: src/go/start is the program
