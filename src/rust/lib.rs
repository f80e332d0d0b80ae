//! Drivers in Rust: `System` over the C interface of `taskgrain/driver.h`.

use std::cell::RefCell;
use std::collections::TryReserveError;
use std::ffi::{CStr, CString};
use std::fmt::Display;
use std::ops::Range;
use std::os::raw::{c_char, c_int, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// What driver.h and taskgrain.h declare.
mod ffi {
    use super::*;

    #[repr(C)]
    pub struct Run {
        _private: [u8; 0],
    }
    #[repr(C)]
    pub struct Interval {
        pub first: i64,
        pub last: i64,
    }
    #[repr(C)]
    pub struct System {
        pub this: *mut c_void,
        pub name: *const c_char,
        pub version: *const c_char,
        pub compiler: *const c_char,
        pub flags: *const c_char,
        pub cores: c_int,
        pub binding: extern "C" fn(*mut c_void, c_int, *mut c_int, c_int) -> c_int,
        pub prepare: extern "C" fn(*mut c_void, *mut Run) -> c_int,
        pub execute: extern "C" fn(*mut c_void, *mut Run) -> c_int,
    }

    extern "C" {
        pub fn tg_drive(argc: c_int, argv: *mut *mut c_char, system: *const System) -> c_int;
        pub fn tg_processors(processors: *mut c_int, capacity: c_int) -> c_int;
        pub fn tg_pin_this_thread(processor: c_int) -> c_int;
        pub fn tg_binding_of_this_thread(processors: *mut c_int, capacity: c_int) -> c_int;
        pub fn tg_error() -> *const c_char;
        pub fn tg_fail(code: c_int, why: *const c_char) -> c_int;
        pub fn tg_graphs(run: *const Run) -> i64;
        pub fn tg_steps(run: *const Run, g: i64) -> i64;
        pub fn tg_width(run: *const Run, g: i64) -> i64;
        pub fn tg_output_bytes(run: *const Run, g: i64) -> i64;
        pub fn tg_dependence_set(run: *const Run, g: i64, step: i64) -> i64;
        pub fn tg_fork_depth(run: *const Run, g: i64) -> i64;
        pub fn tg_points(run: *const Run, g: i64, step: i64) -> Interval;
        pub fn tg_deps(run: *const Run, g: i64, step: i64, point: i64, out: *mut i64, capacity: i64) -> i64;
        pub fn tg_reverse_deps(run: *const Run, g: i64, step: i64, point: i64, out: *mut i64, capacity: i64) -> i64;
        pub fn tg_execute_point(
            run: *mut Run,
            worker: i64,
            g: i64,
            step: i64,
            point: i64,
            output: *mut c_void,
            inputs: *const *const c_void,
            n_inputs: i64,
        ) -> c_int;
    }
}

/// As a code of taskgrain.h.
const BAD_INPUT: c_int = 1;

/// Why something failed: a code of taskgrain.h, and words.
#[derive(Debug)]
pub struct Error {
    code: c_int,
    why: String,
}
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The system, or this machine, cannot run it.
    pub fn unsupported(why: impl Display) -> Error {
        Error { code: 2, why: why.to_string() }
    }
    pub fn failed(why: impl Display) -> Error {
        Error { code: 3, why: why.to_string() }
    }
    /// Of the last call of the C interface in this thread.
    fn last(code: c_int) -> Error {
        // SAFETY: it is never null, and stays until the next call.
        Error { code, why: unsafe { CStr::from_ptr(ffi::tg_error()) }.to_string_lossy().into_owned() }
    }
    fn of(code: c_int) -> Result<()> {
        if code == 0 {
            Ok(())
        } else {
            Err(Error::last(code))
        }
    }
}

impl From<TryReserveError> for Error {
    fn from(_: TryReserveError) -> Error {
        Error::unsupported("not enough memory for these graphs")
    }
}

/// Memory for outputs.
pub fn zeroed(number: usize, bytes: usize) -> Result<Vec<u8>> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(number.saturating_mul(bytes))?;
    memory.resize(number * bytes, 0);
    Ok(memory)
}

/// The graphs of one run: valid until the next `prepare`.
#[derive(Clone, Copy)]
pub struct Run(*mut ffi::Run);

/// One of them; may be used from any thread.
#[derive(Clone, Copy)]
pub struct Graph {
    run: Run,
    index: i64,
}

// SAFETY: the C interface allows all that is done with them in any thread.
unsafe impl Send for Run {}
unsafe impl Sync for Run {}

impl Run {
    pub fn graphs(self) -> impl Iterator<Item = Graph> {
        // SAFETY: here and below, the run is valid.
        (0..unsafe { ffi::tg_graphs(self.0) }).map(move |index| Graph { run: self, index })
    }
}

thread_local! {
    static ADDRESSES: RefCell<Vec<*const c_void>> = RefCell::new(Vec::new());
}

impl Graph {
    pub fn steps(self) -> usize {
        unsafe { ffi::tg_steps(self.run.0, self.index) as usize }
    }
    pub fn width(self) -> usize {
        unsafe { ffi::tg_width(self.run.0, self.index) as usize }
    }
    pub fn output_bytes(self) -> usize {
        unsafe { ffi::tg_output_bytes(self.run.0, self.index) as usize }
    }
    /// Steps with the same set and the same points have the same dependences.
    pub fn dependence_set(self, step: usize) -> i64 {
        unsafe { ffi::tg_dependence_set(self.run.0, self.index, step as i64) }
    }
    /// How deep the calls nest of which each period is one, if it is: points of step t < depth fork those of step t + 1
    /// that depend on them, and join them at step 2·depth - t.
    pub fn fork_depth(self) -> Option<usize> {
        usize::try_from(unsafe { ffi::tg_fork_depth(self.run.0, self.index) }).ok()
    }
    /// The points that exist at a step.
    pub fn points(self, step: usize) -> Range<usize> {
        let points = unsafe { ffi::tg_points(self.run.0, self.index, step as i64) };
        points.first as usize..(points.last + 1) as usize
    }
    /// The points of the step before that a task depends on, in increasing order.
    pub fn deps(self, step: usize, point: usize, into: &mut Vec<usize>) {
        list(into, |out, capacity| unsafe {
            ffi::tg_deps(self.run.0, self.index, step as i64, point as i64, out as *mut i64, capacity as i64) as usize
        });
    }
    /// The points of the step after that depend on a task, in increasing order.
    pub fn reverse_deps(self, step: usize, point: usize, into: &mut Vec<usize>) {
        list(into, |out, capacity| unsafe {
            ffi::tg_reverse_deps(self.run.0, self.index, step as i64, point as i64, out as *mut i64, capacity as i64)
                as usize
        });
    }
    /// Executes a task. Each thread has a number of its own; `inputs` are in increasing order of points.
    pub fn execute_point<'a>(
        self,
        worker: usize,
        step: usize,
        point: usize,
        output: &mut [u8],
        inputs: impl Iterator<Item = &'a [u8]>,
    ) -> Result<()> {
        let bytes = self.output_bytes();
        assert!(output.len() >= bytes);
        ADDRESSES.with(|addresses| {
            let addresses = &mut *addresses.borrow_mut();
            addresses.clear();
            addresses.extend(inputs.map(|input| {
                assert!(input.len() >= bytes);
                input.as_ptr() as *const c_void
            }));
            // SAFETY: all have as many bytes as are read and written.
            Error::of(unsafe {
                ffi::tg_execute_point(
                    self.run.0,
                    worker as i64,
                    self.index,
                    step as i64,
                    point as i64,
                    output.as_mut_ptr() as *mut c_void,
                    addresses.as_ptr(),
                    addresses.len() as i64,
                )
            })
        })
    }
}

/// Lets `ask` write to a list, and again if there was not enough room.
fn list<T>(into: &mut Vec<T>, ask: impl Fn(*mut T, usize) -> usize) {
    into.clear();
    let count = ask(into.as_mut_ptr(), into.capacity());
    if count > into.capacity() {
        into.reserve(count);
        ask(into.as_mut_ptr(), count);
    }
    // SAFETY: so many were written.
    unsafe { into.set_len(count) };
}

fn processors(ask: unsafe extern "C" fn(*mut c_int, c_int) -> c_int) -> Result<Vec<c_int>> {
    let mut found = Vec::new();
    // SAFETY: `list` gives as much room as it says.
    let ask = |out, capacity| unsafe { ask(out, capacity as c_int) };
    let count = ask(std::ptr::null_mut(), 0);
    if count < 0 {
        return Err(Error::last(-count));
    }
    list(&mut found, |out, capacity| ask(out, capacity).max(0) as usize);
    Ok(found)
}

/// Binds the calling thread. Returns the processors that it may then run on, as it observes them.
pub fn pin_this_thread(processor: c_int) -> Result<Vec<c_int>> {
    Error::of(unsafe { ffi::tg_pin_this_thread(processor) })?;
    processors(ffi::tg_binding_of_this_thread)
}

/// A system under the ruler; `main!` makes a program of it.
pub trait System: Sized {
    const NAME: &'static str;
    /// Of the runtime.
    const VERSION: &'static str;

    /// Starts the runtime, with a thread for each of these processors.
    fn new(processors: Vec<c_int>) -> Result<Self>;
    /// For each worker, the processors that it may run on, as it observed them.
    fn binding(&self) -> &[Vec<c_int>];
    /// Prepares a run, once for all its repeats; not timed.
    fn prepare(&mut self, run: Run) -> Result<()>;
    /// Executes every task of every graph once; timed.
    fn execute(&mut self) -> Result<()>;
}

/// Nothing may unwind into C.
fn caught<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(Error::failed(format!("panic: {}", text.unwrap_or_default())))
    })
}

fn answer(body: impl FnOnce() -> Result<()>) -> c_int {
    match caught(body) {
        Ok(()) => 0,
        Err(error) => {
            let why = CString::new(error.why.replace('\0', " ")).unwrap();
            unsafe { ffi::tg_fail(error.code, why.as_ptr()) }
        }
    }
}

// SAFETY: of all three, `this` is the system of `drive`, which no other has.
extern "C" fn binding<S: System>(this: *mut c_void, worker: c_int, out: *mut c_int, capacity: c_int) -> c_int {
    match unsafe { &*(this as *const S) }.binding().get(worker as usize) {
        None => -1,
        Some(found) => {
            for (k, processor) in found.iter().take(capacity as usize).enumerate() {
                unsafe { *out.add(k) = *processor };
            }
            found.len() as c_int
        }
    }
}
extern "C" fn prepare<S: System>(this: *mut c_void, run: *mut ffi::Run) -> c_int {
    answer(|| unsafe { &mut *(this as *mut S) }.prepare(Run(run)))
}
extern "C" fn execute<S: System>(this: *mut c_void, _: *mut ffi::Run) -> c_int {
    answer(|| unsafe { &mut *(this as *mut S) }.execute())
}

/// Serves the harness, or runs what the flags say. Returns the exit code of the process.
///
/// # Safety
/// The arguments are those of C's main.
pub unsafe fn drive<S: System>(argc: c_int, argv: *mut *mut c_char) -> c_int {
    let made = caught(|| {
        let processors = processors(ffi::tg_processors)?;
        S::new(processors)
    });
    let mut system = match made {
        Ok(made) => made,
        Err(error) => {
            eprintln!("{}: {}", S::NAME, error.why);
            return if error.code == BAD_INPUT { 2 } else { 1 };
        }
    };
    let text = |text: &str| CString::new(text).unwrap();
    let (name, version) = (text(S::NAME), text(S::VERSION));
    let (compiler, flags) = (text(env!("TASKGRAIN_COMPILER")), text(env!("TASKGRAIN_FLAGS")));
    let face = ffi::System {
        this: &mut system as *mut S as *mut c_void,
        name: name.as_ptr(),
        version: version.as_ptr(),
        compiler: compiler.as_ptr(),
        flags: flags.as_ptr(),
        cores: system.binding().len() as c_int,
        binding: binding::<S>,
        prepare: prepare::<S>,
        execute: execute::<S>,
    };
    ffi::tg_drive(argc, argv, &face)
}

/// The program of a system, and of variants of it, each chosen by a variable of the environment.
#[macro_export]
macro_rules! main {
    ($system:ty $(, $variable:literal => $variant:ty)*) => {
        /// # Safety
        /// The C library calls it.
        #[no_mangle]
        pub unsafe extern "C" fn main(
            argc: std::os::raw::c_int,
            argv: *mut *mut std::os::raw::c_char,
        ) -> std::os::raw::c_int {
            $(if std::env::var_os($variable).is_some() {
                return $crate::drive::<$variant>(argc, argv);
            })*
            $crate::drive::<$system>(argc, argv)
        }
    };
}
