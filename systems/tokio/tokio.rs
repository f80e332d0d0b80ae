//! An asynchronous task for each column of each graph. A task awaits its inputs from the channels of other columns, and
//! sends its output to those that read it.

use std::cell::Cell;
use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use taskgrain::{pin_this_thread, zeroed, Error, Graph, Result, Run, System};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{channel, Receiver, Sender};

/// All who read an output share it. Its column writes it anew once all have.
type Output = Arc<Vec<u8>>;

/// Outputs that a column may send before the first of them is taken.
const AHEAD: usize = 2;
/// Outputs that a column has: those that it has sent, one that is being read, and one that it writes.
const OUTPUTS: usize = AHEAD + 2;

thread_local! {
    static WORKER: Cell<usize> = Cell::new(0);
}

struct Column {
    graph: Graph,
    point: usize,
    inputs: Vec<(usize, Receiver<Output>)>, // in the order of their points
    readers: Vec<(usize, Sender<Output>)>,  // the same
    outputs: Vec<Output>,
}

/// None if another column has ended early.
type Ended = std::result::Result<Column, Option<Error>>;

impl Column {
    async fn run(mut self) -> Ended {
        let (mut deps, mut inputs) = (Vec::new(), Vec::new());
        for step in 0..self.graph.steps() {
            if !self.graph.points(step).contains(&self.point) {
                continue;
            }
            self.graph.deps(step, self.point, &mut deps);
            for dep in &deps {
                inputs.push(if *dep == self.point {
                    self.outputs[(step - 1) % OUTPUTS].clone()
                } else {
                    let from = self.inputs.binary_search_by_key(dep, |(point, _)| *point).unwrap();
                    self.inputs[from].1.recv().await.ok_or(None)?
                });
            }
            self.execute_point(step, &inputs)?;
            inputs.clear();
            self.graph.reverse_deps(step, self.point, &mut deps);
            for dep in deps.iter().filter(|dep| **dep != self.point) {
                let to = self.readers.binary_search_by_key(dep, |(point, _)| *point).unwrap();
                self.readers[to].1.send(self.outputs[step % OUTPUTS].clone()).await.map_err(|_| None)?;
            }
        }
        Ok(self)
    }

    fn execute_point(&mut self, step: usize, inputs: &[Output]) -> Result<()> {
        let output = &mut self.outputs[step % OUTPUTS];
        if Arc::get_mut(output).is_none() {
            *output = Arc::new(zeroed(1, self.graph.output_bytes())?); // a slow column still reads the old one
        }
        let output = Arc::get_mut(output).unwrap();
        let inputs = inputs.iter().map(|input| &input[..]);
        self.graph.execute_point(WORKER.with(Cell::get), step, self.point, output, inputs)
    }
}

/// The columns of a graph, with a channel between two of them if one reads the other at any step.
fn columns(graph: Graph) -> Result<Vec<Column>> {
    let mut columns = Vec::new();
    columns.try_reserve_exact(graph.width())?;
    for point in 0..graph.width() {
        let outputs = (0..OUTPUTS).map(|_| zeroed(1, graph.output_bytes()).map(Arc::new)).collect::<Result<_>>()?;
        columns.push(Column { graph, point, inputs: Vec::new(), readers: Vec::new(), outputs });
    }
    let (mut known, mut edges, mut deps) = (HashSet::new(), BTreeSet::new(), Vec::new());
    for step in 1..graph.steps() {
        if known.insert((graph.dependence_set(step), graph.points(step - 1), graph.points(step))) {
            for point in graph.points(step) {
                graph.deps(step, point, &mut deps);
                edges.extend(deps.iter().map(|dep| (*dep, point)));
            }
        }
    }
    for (from, to) in edges.into_iter().filter(|(from, to)| from != to) {
        let (sender, receiver) = channel(AHEAD);
        columns[from].readers.push((to, sender));
        columns[to].inputs.push((from, receiver));
    }
    Ok(columns)
}

struct Tokio {
    runtime: Runtime,
    binding: Vec<Vec<i32>>,
    columns: Vec<Column>,
}

impl System for Tokio {
    const NAME: &'static str = "tokio";
    const VERSION: &'static str = concat!("Tokio ", env!("CARGO_PKG_VERSION"));

    fn new(processors: Vec<i32>) -> Result<Tokio> {
        let (number, next) = (processors.len(), AtomicUsize::new(0));
        let (started, workers) = std::sync::mpsc::channel();
        let started = Mutex::new(started);
        let pin = move || {
            let worker = next.fetch_add(1, Ordering::Relaxed);
            WORKER.with(|own| own.set(worker));
            let _ = started.lock().unwrap().send((worker, pin_this_thread(processors[worker])));
        };
        let runtime = Builder::new_multi_thread().worker_threads(number).on_thread_start(pin).build();
        let mut binding = vec![Vec::new(); number];
        for (worker, bound) in workers.iter().take(number) {
            binding[worker] = bound?;
        }
        Ok(Tokio { runtime: runtime.map_err(Error::failed)?, binding, columns: Vec::new() })
    }

    fn binding(&self) -> &[Vec<i32>] {
        &self.binding
    }

    fn prepare(&mut self, run: Run) -> Result<()> {
        self.columns.clear();
        for graph in run.graphs() {
            self.columns.extend(columns(graph)?);
        }
        Ok(())
    }

    fn execute(&mut self) -> Result<()> {
        let Tokio { runtime, columns, .. } = self;
        runtime.block_on(async {
            let tasks: Vec<_> = columns.drain(..).map(|column| tokio::spawn(column.run())).collect();
            let mut failure = None;
            for task in tasks {
                match task.await {
                    Ok(Ok(column)) => columns.push(column),
                    Ok(Err(None)) => {}
                    Ok(Err(Some(error))) => failure = failure.or(Some(error)),
                    Err(panic) => failure = failure.or_else(|| Some(Error::failed(panic))),
                }
            }
            failure.map_or(Ok(()), Err)
        })
    }
}

taskgrain::main!(Tokio);
