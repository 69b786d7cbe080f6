# shellcheck shell=bash
# Set-up shared by ./run and ./test: `set_up run` or `set_up test` returns with everything in place.
# To be sourced by bash, with `root` set to the clone. Says nothing when there is nothing to do.
#
# What is kept in .venv besides the environment itself:
#   ready.run, ready.test   written last; an environment without its stamp is built anew
#   wheels-<lock hash>      what was downloaded, so that an interrupted set-up goes on where it was
#   set-up.log              what pip said

readonly venv="${root:?}/.venv"
readonly log="$venv/set-up.log"

say() { printf 'posthouse: %s\n' "$*" >&2; }
give_up() {
  say "$@"
  exit 1
}

# --- the system's packages ------------------------------------------------------------------

# Prints the command of a Python that is new enough and has the modules named; fails when there is none.
find_python() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$candidate" -I -c "import sys, $1; sys.exit(sys.version_info < (3, 11))" 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# Prints the Debian packages of the commands that a level calls and does not find, one per line.
missing_commands() {
  command -v tmux >/dev/null || echo tmux
  [ "$1" = run ] || command -v ps >/dev/null || echo procps
}

# Prints all Debian packages that a level still needs, one per line.
missing_packages() {
  local python
  missing_commands "$1"
  if find_python venv,ensurepip >/dev/null; then
    return
  elif python=$(find_python sys); then
    "$python" -I -c 'import sys; print(f"python3.{sys.version_info[1]}-venv")'
  elif command -v python3 >/dev/null; then
    echo python3.11-venv # the system's own is too old, but the release may carry a newer one beside it
  else
    echo python3-venv
  fi
}

# Installs the packages named, when this user may; otherwise says what to type and ends.
install_packages() {
  local -a as_root=()
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null ||
      give_up "missing: $*. Install with:  sudo apt-get update && sudo apt-get install $*"
    as_root=(sudo -n)
  fi
  command -v apt-get >/dev/null ||
    give_up "missing: $* (Debian's names), and no apt-get here to install them: please use your system's own installer"
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  say "installing system packages: $*"
  "${as_root[@]}" apt-get update -qq </dev/null >&2 || say "apt-get update failed; trying with the lists that are here"
  "${as_root[@]}" apt-get install -qq --yes --no-install-recommends "$@" </dev/null >&2 ||
    give_up "could not install $*; try by hand:  apt-get update && apt-get install $*"
}

# A second round is needed where the system's Python, once installed, turns out to be too old.
ensure_packages() {
  local level=$1 round missing
  for round in 1 2 3; do
    mapfile -t missing < <(missing_packages "$level")
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$round" = 3 ] || install_packages "${missing[@]}"
  done
  give_up "still missing after the installation: ${missing[*]}. Posthouse needs tmux and Python 3.11 or newer with venv"
}

# --- the virtual environment ----------------------------------------------------------------

# Prints what the environment for a level depends on: where it is, its interpreter, what goes in.
fingerprint() {
  local level=$1
  {
    printf '%s\n' "$venv"
    readlink -f "$venv/bin/python" || true
    cat "$root/pyproject.toml" "$root/requirements/run.lock" "$root/requirements/$level.lock"
  } | sha256sum
}

is_ready() {
  local stamp="$venv/ready.$1"
  [ -x "$venv/bin/python" ] && [ -f "$stamp" ] && [ "$(<"$stamp")" = "$(fingerprint "$1")" ]
}

# pip, unmoved by what a person's settings would make of an install; their index and proxy stay.
venv_pip() {
  local -a cache=()
  [ -n "${HOME:-}" ] && [ -w "$HOME" ] || cache=(PIP_NO_CACHE_DIR=1)
  env -u PIP_TARGET -u PIP_PREFIX -u PIP_REQUIRE_VIRTUALENV PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    "${cache[@]}" "$venv/bin/python" -I -m pip "$@"
}

fail_with_log() {
  tail -n 15 "$log" >&2
  give_up "could not $1; the whole log is in $log"
}

# Runs a step with its output in the log; on failure shows the end of it.
logged() {
  local what=$1
  shift
  "$@" >>"$log" 2>&1 || fail_with_log "$what"
}

# Shows on a terminal how many packages pip has got to; passes on what it says.
count_packages() {
  local total=$1 line count=0
  while IFS= read -r line; do
    printf '%s\n' "$line"
    case $line in Collecting\ *)
      count=$((count + 1))
      [ ! -t 2 ] || printf '\r  %d of %d \033[K' "$count" "$total" >&2
      ;;
    esac
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
}

fetch_wheels() {
  local lock=$1 wheels=$2 total
  total=$(grep -c '^[a-z]' "$lock")
  say "fetching $total packages"
  venv_pip download --no-deps --only-binary :all: --require-hashes --progress-bar off --dest "$wheels" --requirement "$lock" \
    2>>"$log" | count_packages "$total" >>"$log"
}

create_environment() {
  local keep=$1 python
  python=$(find_python venv,ensurepip)
  say "making a virtual environment in $venv with $("$python" -I --version)"
  mkdir -p "$venv" 2>/dev/null || give_up "cannot write to $root; Posthouse keeps its environment and state there"
  find "$venv" -mindepth 1 -maxdepth 1 ! -path "$keep" -exec rm -rf {} + ||
    give_up "cannot write to $venv; is it another user's? Remove it and try again"
  logged "make a virtual environment" "$python" -I -m venv "$venv"
}

install_level() {
  local level=$1 wheels=$2 lock="$root/requirements/$1.lock"
  fetch_wheels "$lock" "$wheels" || fail_with_log "fetch the packages"
  say "installing them"
  logged "install the packages" venv_pip install --no-deps --require-hashes --no-index --find-links "$wheels" \
    --requirement "$lock"
  logged "install Posthouse itself" venv_pip install --no-deps --no-build-isolation --no-index --editable "$root"
}

# The wheels of a level, by the content of its lock: those of an older lock are dropped with its environment.
wheels_of() {
  local hash
  hash=$(sha256sum <"$root/requirements/$1.lock")
  echo "$venv/wheels-${hash:0:12}"
}

stamp() {
  fingerprint "$1" >"$venv/ready.$1.new"
  mv "$venv/ready.$1.new" "$venv/ready.$1"
}

build_environment() {
  local level=$1 wheels
  wheels=$(wheels_of "$level")
  # What ./run installed is a part of what ./test needs: added to, so that a running demo keeps its files.
  is_ready run || create_environment "$wheels"
  install_level "$level" "$wheels"
  stamp run
  [ "$level" = run ] || stamp "$level"
}

# --- the whole ------------------------------------------------------------------------------

set_up() {
  local level=$1 started=$SECONDS
  # Neither another Python's folders, nor starts that compile everything again.
  unset PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE
  if [ -z "$(missing_commands "$level")" ] && is_ready "$level"; then return; fi
  # The folder itself is the lock: it needs no file, and is free again as soon as its holders are gone.
  exec {set_up_lock}<"$root"
  if ! flock --nonblock "$set_up_lock"; then
    say "another set-up is at work in this folder; waiting for it"
    flock "$set_up_lock"
  fi
  ensure_packages "$level"
  if ! is_ready "$level"; then
    trap 'say "set-up was interrupted; the next start takes it up again"; exit 130' INT TERM
    build_environment "$level"
    trap - INT TERM
    say "set up in $((SECONDS - started)) s"
  fi
  exec {set_up_lock}<&-
}
