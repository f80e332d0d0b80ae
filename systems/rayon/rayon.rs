//! Data parallelism: in each step a parallel iterator over the points, which reads one buffer and writes another.

mod nested;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use taskgrain::{pin_this_thread, zeroed, Error, Graph, Result, Run, System};

/// A graph with its outputs of a step and of the step before.
struct Part {
    graph: Graph,
    /// Bytes from one output to the next: no two share a cache line.
    stride: usize,
    now: Vec<u8>,
    before: Vec<u8>,
}

impl Part {
    fn new(graph: Graph) -> Result<Part> {
        let stride = graph.output_bytes().saturating_add(63) / 64 * 64;
        let buffer = || zeroed(graph.width(), stride);
        Ok(Part { graph, stride, now: buffer()?, before: buffer()? })
    }

    fn execute_step(&mut self, step: usize) -> Result<()> {
        std::mem::swap(&mut self.now, &mut self.before);
        let Part { graph, stride, now, before } = self;
        let (points, bytes) = (graph.points(step), graph.output_bytes());
        now[points.start * *stride..points.end * *stride].par_chunks_exact_mut(*stride).zip(points).try_for_each_init(
            Vec::new,
            |deps, (output, point)| {
                graph.deps(step, point, deps);
                let inputs = deps.iter().map(|dep| &before[dep * *stride..][..bytes]);
                let worker = rayon::current_thread_index().unwrap();
                graph.execute_point(worker, step, point, output, inputs)
            },
        )
    }
}

struct Rayon {
    pool: ThreadPool,
    binding: Vec<Vec<i32>>,
    parts: Vec<Part>,
}

impl System for Rayon {
    const NAME: &'static str = "rayon";
    const VERSION: &'static str = concat!("Rayon ", env!("CARGO_PKG_VERSION"));

    fn new(processors: Vec<i32>) -> Result<Rayon> {
        let pool = ThreadPoolBuilder::new().num_threads(processors.len()).build().map_err(Error::failed)?;
        let bound = pool.broadcast(|worker| pin_this_thread(processors[worker.index()]));
        Ok(Rayon { pool, binding: bound.into_iter().collect::<Result<_>>()?, parts: Vec::new() })
    }

    fn binding(&self) -> &[Vec<i32>] {
        &self.binding
    }

    fn prepare(&mut self, run: Run) -> Result<()> {
        self.parts.clear();
        for graph in run.graphs() {
            self.parts.push(Part::new(graph)?);
        }
        Ok(())
    }

    fn execute(&mut self) -> Result<()> {
        let Rayon { pool, parts, .. } = self;
        let steps = parts.iter().map(|part| part.graph.steps()).max().unwrap_or(0);
        // A step of one graph does not depend on the others.
        pool.install(|| {
            (0..steps).try_for_each(|step| parts.par_iter_mut().try_for_each(|part| part.execute_step(step)))
        })
    }
}

taskgrain::main!(Rayon, "TASKGRAIN_RAYON_NESTED" => nested::Rayon);
