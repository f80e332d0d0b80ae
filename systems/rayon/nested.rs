//! Nested forks: a call joins its children half by half. Which call calls which is worked out ahead.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Range;
use taskgrain::{pin_this_thread, zeroed, Error, Graph, Result, Run, System};

/// A graph of nested forks. Calls are counted level by level, the root first.
struct Calls {
    graph: Graph,
    depth: usize,
    /// The number of the first call of each level, and at last of all.
    levels: Vec<usize>,
    /// The number of the first child of each call: they follow one another.
    children: Vec<usize>,
    parents: Vec<usize>,
    stride: usize,
    /// Of each call an output, which is written before those calls begin, or after those end, that read it.
    outputs: *mut u8,
    _memory: Vec<u8>,
}

// SAFETY: only what `outputs` points to changes, as said there.
unsafe impl Send for Calls {}
unsafe impl Sync for Calls {}

impl Calls {
    fn new(graph: Graph) -> Result<Calls> {
        let patterns = "nested forks alone, which are in fork_join, fork_tree, random_fork_tree of width 2 or more";
        let depth = graph.fork_depth().ok_or_else(|| Error::unsupported(patterns))?;
        let (mut levels, mut children, mut parents) = (vec![0], vec![1], vec![0]);
        let mut below = Vec::new();
        for level in 0..depth.min(graph.steps() - 1) + 1 {
            let calls = graph.points(level);
            for point in calls.clone() {
                if level < depth {
                    graph.reverse_deps(level, point, &mut below);
                }
                parents.extend(below.iter().map(|_| levels[level] + point));
                children.push(parents.len());
                below.clear();
            }
            levels.push(levels[level] + calls.len());
        }
        let stride = graph.output_bytes().saturating_add(63) / 64 * 64;
        let mut memory = zeroed(parents.len() + 1, stride)?;
        memory.fill(0xff); // no task's output: what runs early is caught
        let first = memory.as_ptr().align_offset(64);
        let outputs = memory[first..].as_mut_ptr();
        Ok(Calls { graph, depth, levels, children, parents, stride, outputs, _memory: memory })
    }

    /// Calls the root of each period, one after the other.
    fn execute(&self) -> Result<()> {
        (0..self.graph.steps()).step_by(2 * self.depth).try_for_each(|root| self.call(root, 0, 0))
    }

    fn call(&self, root: usize, level: usize, number: usize) -> Result<()> {
        let children = self.children[number]..self.children[number + 1];
        let before = match level {
            0 if root == 0 => 0..0,
            0 => children.clone(), // of the period before
            _ => self.parents[number]..self.parents[number] + 1,
        };
        self.task(root + level, level, number, before)?;
        if root + level + 1 < self.graph.steps() {
            self.fork(root, level + 1, children.clone())?;
        }
        let end = root + 2 * self.depth - level;
        if level == 0 || level == self.depth || end >= self.graph.steps() {
            return Ok(());
        }
        self.task(end, level, number, children)
    }

    fn fork(&self, root: usize, level: usize, calls: Range<usize>) -> Result<()> {
        match calls.len() {
            0 => Ok(()),
            1 => self.call(root, level, calls.start),
            n => {
                let middle = calls.start + n / 2;
                let (one, other) = rayon::join(
                    || self.fork(root, level, calls.start..middle),
                    || self.fork(root, level, middle..calls.end),
                );
                one.and(other)
            }
        }
    }

    fn task(&self, step: usize, level: usize, number: usize, inputs: Range<usize>) -> Result<()> {
        let bytes = self.graph.output_bytes();
        // SAFETY, here and below: calls have such numbers.
        let output = |number: usize| unsafe { self.outputs.add(number * self.stride) };
        let worker = rayon::current_thread_index().unwrap();
        // SAFETY: nobody else reads or writes this output now, nor writes those of its parent and its children.
        let own = unsafe { std::slice::from_raw_parts_mut(output(number), bytes) };
        let inputs = inputs.map(|input| unsafe { std::slice::from_raw_parts(output(input) as *const u8, bytes) });
        self.graph.execute_point(worker, step, number - self.levels[level], own, inputs)
    }
}

pub struct Rayon {
    pool: ThreadPool,
    binding: Vec<Vec<i32>>,
    graphs: Vec<Calls>,
}

impl System for Rayon {
    const NAME: &'static str = "rayon";
    const VERSION: &'static str = concat!("Rayon ", env!("CARGO_PKG_VERSION"));

    fn new(processors: Vec<i32>) -> Result<Rayon> {
        let pool = ThreadPoolBuilder::new().num_threads(processors.len()).build().map_err(Error::failed)?;
        let bound = pool.broadcast(|worker| pin_this_thread(processors[worker.index()]));
        Ok(Rayon { pool, binding: bound.into_iter().collect::<Result<_>>()?, graphs: Vec::new() })
    }

    fn binding(&self) -> &[Vec<i32>] {
        &self.binding
    }

    fn prepare(&mut self, run: Run) -> Result<()> {
        self.graphs.clear();
        for graph in run.graphs() {
            self.graphs.push(Calls::new(graph)?);
        }
        Ok(())
    }

    fn execute(&mut self) -> Result<()> {
        let Rayon { pool, graphs, .. } = self;
        pool.install(|| graphs.par_iter().try_for_each(Calls::execute))
    }
}
