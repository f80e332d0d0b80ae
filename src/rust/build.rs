//! Tells the crate how it is compiled; the results record it.

use std::env::var;
use std::process::Command;

fn main() {
    let version = Command::new(var("RUSTC").unwrap()).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    let words: Vec<&str> = version.split_whitespace().take(2).collect();
    println!("cargo:rustc-env=TASKGRAIN_COMPILER={}", words.join(" "));
    let own = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\u{1f}', " ");
    println!("cargo:rustc-env=TASKGRAIN_FLAGS={}", format!("-C opt-level={} {own}", var("OPT_LEVEL").unwrap()).trim());
    println!("cargo:rerun-if-changed=build.rs");
}
