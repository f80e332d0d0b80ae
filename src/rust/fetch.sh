# Sourced by the `setup` of a system in Rust. `fetch_crates NAME "$@"` gets the crates that its Cargo.toml names and
# those that they need, so that the build needs no network.
rust=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
source "$rust/../../tools/build_once.sh"

fetch_crates() {
  local name=$1 version key file home=${CARGO_HOME:-${HOME:-}/.cargo}
  version=$(cargo --version | cut -d ' ' -f 2)  # each has an index of its own
  key=$(cat "$rust/Cargo.toml" "$rust/../../systems/$name/Cargo.toml" | sha256sum | head -c 12)
  begin "$name-crates" "$version-$key" "${@:2}"
  if ! printf '1.63\n%s\n' "$version" | sort --version-sort --check=quiet; then
    say "cargo $version is too old; allowed: 1.63 and newer"
    exit 1
  fi
  say "getting the crates"
  # Cargo writes beside the Cargo.toml.
  mkdir -p src "systems/$name"
  ln -s "$rust" src/rust
  ln -s "$rust/../../systems/$name"/{Cargo.toml,*.rs} "systems/$name"
  export CARGO_HOME=$work/stage$where
  mkdir -p "$CARGO_HOME"
  for file in "$home"/config{,.toml}; do
    if [[ -e $file ]]; then ln -s "$file" "$CARGO_HOME"; fi
  done
  logged cargo fetch --manifest-path "systems/$name/Cargo.toml" --target "$(rustc -vV | sed -n 's/^host: //p')"
  cp "systems/$name/Cargo.lock" "$CARGO_HOME"
  finish
}
